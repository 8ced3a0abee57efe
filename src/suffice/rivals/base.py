"""What every rival offers: the ask and tell of a selector, and what feedback it was given. No promise."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from suffice.book import TOLD
from suffice.checks import WHOLE, as_number, cost_told, exact, success_units
from suffice.errors import InvalidArgument, shown
from suffice.ledger import Ledger
from suffice.menu import Menu
from suffice.promise import PRICE, Promise
from suffice.records import Decision


class Rival(ABC):
    """Another method in the same frame. Subclasses choose an arm and take in its outcome."""

    name: ClassVar[str]
    source: ClassVar[str]
    feedback: ClassVar[str]  # what it is shown of each step
    guarantee: ClassVar[str]

    def __init__(self, menu: Menu, target: Any) -> None:
        if not isinstance(menu, Menu):
            raise InvalidArgument(f"menu must be a Menu, got {shown(menu)}")
        # The promise serves to count only; nothing that a rival plays depends on it.
        self._promise = Promise.make(target, max_cost=menu.max_cost, everything_success=menu.everything_success)
        self._ledger = Ledger(self._promise)
        self.menu = menu
        self.cost = 0.0

    @abstractmethod
    def _choose(self) -> int:
        """The arm to play now."""

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        """Take in an outcome; `counted` is False for those of a first round."""

    @property
    def dual(self) -> float:
        """The price of a success, for methods that have one."""
        return 0.0

    def ask(self) -> Decision:
        """What to do now."""
        counted = self._counted()
        arm = self._choose()
        identity = self._ledger.issue(arm, PRICE, 0.0, counted=counted)
        return Decision(identity, arm, self.menu.option(arm), self.menu.kind_of(arm), self.dual, self._ledger.key)

    def _counted(self) -> bool:
        """Whether the decision to come counts towards the target; those of a first round do not."""
        return True

    def tell(self, decision: Decision | int, success: float, cost: float | None = None) -> None:
        """How it went."""
        units = success_units(success)
        identity = self._ledger.identify(decision)
        arm, _, _, counted = self._ledger.entry(identity)
        spent = self.menu.known_cost(arm) if cost is None else cost_told(cost)
        if spent is None:
            raise InvalidArgument(f"cost must be told for option {self.menu.option(arm)!r}")
        self._ledger.settle(identity, units)
        self.cost += spent
        self._learn(arm, units / WHOLE, min(spent, self.menu.max_cost), counted=counted)

    @property
    def target(self) -> float:
        return float(self._promise.target)

    @property
    def debt(self) -> float:
        """Successes owed: target·told − successes."""
        return float(self._promise.debt(self._ledger.counts))

    @property
    def told(self) -> int:
        return int(self._ledger.book[TOLD])

    @property
    def successes(self) -> float:
        return as_number(self._ledger.counts.successes)

    @property
    def pending(self) -> int:
        return self._ledger.outstanding()


def step_of(step: Any, horizon: int) -> float:
    """A step as given, or 1/sqrt(horizon)."""
    value = 1.0 / float(horizon) ** 0.5 if step is None else float(exact("step", step))
    if value <= 0.0:
        raise InvalidArgument(f"step must be above 0, got {shown(step)}")
    return value
