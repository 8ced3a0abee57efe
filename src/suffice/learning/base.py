"""A learner: takes in outcomes, and proposes an arm at a price."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

from suffice.kernels.rows import Floats, Mask
from suffice.learning.arm_table import likely_units
from suffice.learning.bounds import Bounds
from suffice.learning.choosers import Chooser, Thompson
from suffice.learning.memory import Memory
from suffice.learning.records import Lesson, Pricing, TableHead
from suffice.menu.menu import Menu
from suffice.numbers import ONE_SUCCESS
from suffice.promise.record import Account
from suffice.state_files import State


class Proposal(NamedTuple):
    """An arm, and what its outcome will need."""

    arm: int
    unbiased: bool = True  # False where a context, or a chooser of the user's own, influenced the choice
    note: object = None  # of a model; see `context.learner`


class Columns(NamedTuple):
    """Per arm: plays, successes, plays with a reported cost, the sum of those costs, upper success, lower cost."""

    plays: Floats
    successes: Floats
    priced: Floats
    costs: Floats
    upper: Floats
    lower: Floats


class Learner(ABC):
    """Takes in outcomes and proposes arms. Errors here cost money: the promise does not rest on it."""

    menu: Menu
    bounds: Bounds
    chooser: Chooser | Thompson
    memory: Memory
    contextual: ClassVar[bool] = False  # whether it is a `context.learner.ContextLearner`

    @property
    @abstractmethod
    def head(self) -> TableHead:
        """What is known of the arms as a whole."""

    @abstractmethod
    def propose(self, price: float, allowed: Mask | None, seen: object = None) -> Proposal:
        """An arm to play at this price, among those allowed, in a context that was read, if there is one."""

    @abstractmethod
    def optimistic(self, price: float, allowed: Mask | None) -> int:
        """The arm that the optimist would play at this price."""

    @property
    def unbiased_if_failed(self) -> bool:
        """Whether a play in the place of a proposal that failed is a fair sample."""
        return True

    @abstractmethod
    def learn(
        self, main: Pricing, pricing: Pricing, account: Account, lesson: Lesson, *, grouped: bool, note: object = None,
        lost: bool = False,
    ) -> None:  # fmt: skip
        """Take in an outcome that the account has counted; `lost` if the decision expired without one."""

    def expected_debt(self, arm: int, target: int) -> int:
        """What a play of this arm is expected to add to the debt, in billionths, by the record of all its plays."""
        if arm == self.head.arms - 1:
            return target - int(self.menu.safe_success * ONE_SUCCESS)
        plays, successes, *_ = self.columns()
        return target - likely_units(float(plays[arm]), float(successes[arm]), target)

    def mean_cost(self, arm: int) -> float | None:
        """The mean cost of an arm as far as it was learned; None if it was not."""
        columns = self.columns()
        return float(columns.costs[arm] / columns.priced[arm]) if columns.priced[arm] > 0.0 else None

    @abstractmethod
    def set_steps(self, steps: int) -> None:
        """Set the number of outcomes, where another object counts them."""

    @abstractmethod
    def columns(self) -> Columns:
        """The tally and the bounds of all arms."""

    @abstractmethod
    def state(self) -> State:
        """All that was learned, in JSON's terms."""

    @abstractmethod
    def restore(self, state: State, price: float) -> None:
        """Restore what `state` returned."""

    def reseed(self, seed: int) -> None:
        """Restart the learner's own randomness, if it has any."""

    def note_state(self, note: Any) -> object:
        """A model's note on a decision, in JSON's terms."""
        return None

    def note_from(self, written: Any) -> object:
        """The note that `note_state` wrote down."""
        return None

    def compile(self) -> None:
        """Use compiled code from now on, if this learner has any."""

    def decompile(self) -> None:
        """Use no compiled code from now on."""
