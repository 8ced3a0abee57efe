"""A learner: takes in outcomes, and proposes an arm at a price."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from suffice.kernels.rows import Floats, Mask
from suffice.learning.memory import Memory
from suffice.learning.records import Lesson, Pricing, TableHead
from suffice.menu.menu import Menu


class Proposal(NamedTuple):
    """An arm, and what its outcome will have to know."""

    arm: int
    fair: bool = True  # False where a context, or a chooser of the user's own, had a part in it
    note: Any = None  # of a model; see `context.learner`


class Columns(NamedTuple):
    """Per arm: plays, successes, plays whose cost was told, their costs, upper success, lower cost."""

    plays: Floats
    successes: Floats
    priced: Floats
    costs: Floats
    upper: Floats
    lower: Floats


class Learner(ABC):
    """Takes in outcomes and proposes arms. Whatever goes wrong here costs money: the promise is kept elsewhere."""

    menu: Menu
    bounds: Any
    chooser: Any
    memory: Memory

    @property
    @abstractmethod
    def head(self) -> TableHead:
        """What is known of the arms as a whole."""

    @abstractmethod
    def propose(self, price: float, allowed: Mask | None, seen: Any = None) -> Proposal:
        """An arm to play at this price, of those allowed, in a context that was read, if there is one."""

    @abstractmethod
    def optimistic(self, price: float, allowed: Mask | None) -> int:
        """The arm that the optimist would play at this price."""

    @property
    def fair_if_failed(self) -> bool:
        """Whether a play in the place of a proposal that failed is a fair sample."""
        return True

    @abstractmethod
    def learn(
        self, main: Pricing, pricing: Pricing, lesson: Lesson, *, grouped: bool, note: Any = None, lost: bool = False
    ) -> None:
        """Take in an outcome; `lost` if nobody told it."""

    @abstractmethod
    def set_steps(self, steps: int) -> None:
        """Say how many outcomes were counted, where somebody else counts them."""

    @abstractmethod
    def columns(self) -> Columns:
        """The tally and the bounds of all arms."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """All that was learned, in JSON's terms."""

    @abstractmethod
    def restore(self, state: dict[str, Any], price: float) -> None:
        """Take over what `state` wrote down."""

    def reseed(self, seed: int) -> None:
        """Begin the learner's own randomness anew, if it has any."""

    def note_state(self, note: Any) -> Any:
        """What a model keeps of a decision, in JSON's terms."""
        return None

    def note_from(self, written: Any) -> Any:
        """What `note_state` wrote down."""
        return None

    def compile(self) -> None:
        """Use compiled code from now on, where there is any for this learner."""

    def decompile(self) -> None:
        """Use none from now on."""
