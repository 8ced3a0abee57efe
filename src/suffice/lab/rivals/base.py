"""The interface of every rival: the `ask` and `tell` of a selector, and which feedback it needs. It makes no promise."""

import copy
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar, Final, NamedTuple

from suffice.errors import AlreadyTold, InvalidArgument, UnknownDecision, quoted
from suffice.menu.menu import Menu
from suffice.numbers import ONE_SUCCESS, as_fraction, as_number, cost_told, positive_int, success_units
from suffice.promise.rules import Promise
from suffice.selector.identity import Identity
from suffice.selector.records import Decision

Target = float | Fraction  # the success rate to hold, as a user writes it

# What a method is shown of each step, from the least to the most.
NONE: Final = "none"
SUCCESS: Final = "success"
SUCCESS_AND_COST: Final = "success + cost"
CONTEXT: Final = "context, success + cost"  # the context before the arm is chosen, the rest after it
FEEDBACK: Final = (NONE, SUCCESS, SUCCESS_AND_COST, CONTEXT)

# How far the source was read.
PRIMARY: Final = "the source itself, or its code"
COMMON: Final = "common knowledge of the method, not checked against the text"


class Outstanding(NamedTuple):
    """A decision whose outcome has not been told."""

    arm: int
    counted: bool  # whether it counts towards the target
    note: Any  # what `_choose` left in `_note`
    context: object


class Rival(ABC):
    """Another method with the interface of a selector. Subclasses choose an arm and learn from its outcome.

    A subclass with `contextual = True` needs a context before it chooses: `ask(context=...)`.
    """

    name: ClassVar[str]
    source: ClassVar[str]
    read: ClassVar[str]  # how far the source was read
    feedback: ClassVar[str]  # what it is shown of each step
    guarantee: ClassVar[str]
    contextual: ClassVar[bool] = False

    def __init__(self, menu: Menu, target: Target) -> None:
        if not isinstance(menu, Menu):
            raise InvalidArgument(f"menu must be a Menu, got {quoted(menu)}")
        # Checks the target and computes the cap of a price; no choice of a rival depends on a promise.
        self._promise = Promise.make(target, safe_cost=menu.safe_cost, safe_success=menu.safe_success)
        self._identity = Identity()
        self._outstanding: dict[int, Outstanding] = {}
        self._issued = 0
        self.outcomes = 0
        self._units = 0  # successes, in billionths
        self.menu = menu
        self.cost = 0.0
        self._note: Any = None  # what `_choose` leaves for the `_learn` of the same decision
        self._context: object = None  # the context of the decision, in `_choose` and again in `_learn`

    @abstractmethod
    def _choose(self) -> int:
        """The arm to play now. The value of `_note` is restored for the `_learn` of this decision, however late."""

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        """Learn from an outcome; `counted` is False for those of a first round."""

    @property
    def price(self) -> float:
        """The price of a success, for methods that have one."""
        return 0.0

    def ask(self, context: object = None) -> Decision:
        """What to do now. Methods that are not contextual ignore the context."""
        if context is None and self.contextual:
            raise InvalidArgument(f"context must be given to {self.name!r}, which needs it to choose, got None")
        counted = self._counts_next()
        self._note, self._context = None, context if self.contextual else None
        arm = self._choose()
        identity = self._issued
        # A copy of the context, because the caller may reuse its array for the next one.
        self._outstanding[identity] = Outstanding(arm, counted, self._note, copy.copy(self._context))
        self._issued += 1
        return Decision(identity, arm, self.menu.option(arm), self.menu.kind_of(arm), self.price, self._identity.key)

    def _counts_next(self) -> bool:
        """Whether the next decision counts towards the target; those of a first round do not."""
        return True

    def tell(self, decision: Decision | int, success: float, cost: float | None = None) -> None:
        """Report the outcome of a decision."""
        units = success_units(success)
        identity = self._id_of(decision)
        asked = self._outstanding[identity]
        spent = self.menu.known_cost(asked.arm) if cost is None else cost_told(cost)
        if spent is None:
            raise InvalidArgument(f"cost must be told for option {self.menu.option(asked.arm)!r}")
        del self._outstanding[identity]
        if asked.counted:
            self.outcomes += 1
            self._units += units
        self.cost += spent
        self._note, self._context = asked.note, asked.context
        self._learn(asked.arm, units / ONE_SUCCESS, min(spent, self.menu.safe_cost), counted=asked.counted)

    def _id_of(self, decision: Decision | int) -> int:
        """The id of a decision that is outstanding."""
        identity = self._identity.id_of(decision)
        if identity in self._outstanding:
            return identity
        if 0 <= identity < self._issued:
            raise AlreadyTold(f"decision {identity} was settled before; telling it again changes nothing")
        raise UnknownDecision(f"decision {quoted(identity)} was never asked of this method")

    @property
    def target(self) -> float:
        return self._promise.rate

    @property
    def debt(self) -> float:
        """Successes owed: target·outcomes − successes."""
        return (self._promise.target * self.outcomes - self._units) / ONE_SUCCESS

    @property
    def successes(self) -> float:
        return as_number(self._units)

    @property
    def pending(self) -> int:
        return len(self._outstanding)


def above_zero(name: str, value: float) -> float:
    """A number above 0 that a user gave."""
    number = float(as_fraction(name, value))
    if number <= 0.0:
        raise InvalidArgument(f"{name} must be above 0, got {quoted(value)}")
    return number


def default_step(horizon: int) -> float:
    """The step 1/sqrt(horizon), by which the price of a rival moves unless another is given."""
    root: float = float(positive_int("horizon", horizon)) ** 0.5
    return 1.0 / root
