"""What every rival offers: the ask and tell of a selector, and what feedback it was given. No promise.

Some are shown more than a bit, and say so: a loop of one's own needs two lines for them, as `simulate` has,
`if method.hears(success): method.hear(latent)`, and then `tell`.
"""

import copy
import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar, Final

import numpy as np

from suffice.errors import AlreadyTold, InvalidArgument, UnknownDecision, quoted
from suffice.menu.menu import Menu
from suffice.numbers import ONE_SUCCESS, as_fraction, as_number, cost_told, positive_int, success_units
from suffice.promise.rules import Promise
from suffice.selector.identity import Identity
from suffice.selector.records import Decision

Target = float | Fraction  # the success rate to hold, as a user writes it

# What a method is shown of each step, from the least to the most.
SUCCESS: Final = "success"
SUCCESS_AND_COST: Final = "success + cost"
CONTEXT: Final = "context, success + cost"  # the context before the arm is chosen, the rest after it
LABEL_WHEN_COVERED: Final = "label when covered"
LABEL: Final = "label"
FEEDBACK: Final = (SUCCESS, SUCCESS_AND_COST, CONTEXT, LABEL_WHEN_COVERED, LABEL)
# Yardsticks are no learners: one sees nothing, the others know the world beforehand.
NONE: Final = "none"
TRUTH: Final = "truth"

# How far the source was read.
PRIMARY: Final = "the source itself, or its code"
SUMMARY: Final = "a detailed summary of the source, not its text"
COMMON: Final = "common knowledge of the method, not checked against the text"

SALT: Final = 0x52495641  # keeps a method's own randomness apart from that of a stream with the same seed


class Rival(ABC):
    """Another method in the same frame. Subclasses choose an arm and take in its outcome.

    A method whose `feedback` is a label is shown it by `hear`, just before the `tell` of the same step. One that is
    `contextual` looks at a context before it chooses: `ask(context=...)`.
    """

    name: ClassVar[str]
    source: ClassVar[str]
    read: ClassVar[str]  # how far the source was read
    feedback: ClassVar[str]  # what it is shown of each step
    guarantee: ClassVar[str]
    contextual: ClassVar[bool] = False

    def __init__(self, menu: Menu, target: Any) -> None:
        if not isinstance(menu, Menu):
            raise InvalidArgument(f"menu must be a Menu, got {quoted(menu)}")
        # Serves to check the target and for its cap; nothing that a rival plays depends on a promise.
        self._promise = Promise.make(target, safe_cost=menu.safe_cost, safe_success=menu.safe_success)
        self._owed_share = Fraction(self._promise.target, ONE_SUCCESS)  # the target
        self._failure_share = float(1 - self._owed_share)  # the share of failures that it allows
        self._identity = Identity()
        # What is outstanding: its arm, whether it counts, its note and its context.
        self._waiting: dict[int, tuple[int, bool, Any, Any]] = {}
        self._issued = 0
        self.outcomes = 0
        self._units = 0  # successes, in billionths
        self.menu = menu
        self.cost = 0.0
        self._note: Any = None  # what `_choose` leaves for the `_learn` of the same decision
        self._context: Any = None  # what the decision was asked with, in `_choose` and again in `_learn`
        self._heard: Any = None  # the label of the step, as a float, where it is shown

    @abstractmethod
    def _choose(self) -> int:
        """The arm to play now. What `_note` is set to is there again when the outcome is learned, however late."""

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        """Take in an outcome; `counted` is False for those of a first round."""

    @property
    def price(self) -> float:
        """The price of a success, for methods that have one."""
        return 0.0

    def ask(self, context: Any = None) -> Decision:
        """What to do now, given what is known beforehand; a method that does not look at a context leaves it aside."""
        if context is None and self.contextual:
            raise InvalidArgument(
                f"context must be given to {self.name!r}, which looks at it before it chooses, got None"
            )
        counted = self._counted()
        self._note, self._context = None, context if self.contextual else None
        arm = self._choose()
        identity = self._issued
        # A caller may fill the same row of a context again.
        self._waiting[identity] = arm, counted, self._note, copy.copy(self._context)
        self._issued += 1
        return Decision(identity, arm, self.menu.option(arm), self.menu.kind_of(arm), self.price, self._identity.key)

    def _counted(self) -> bool:
        """Whether the decision to come counts towards the target; those of a first round do not."""
        return True

    def hears(self, success: float) -> bool:
        """Whether the method is to be shown the label of a step with this outcome."""
        return self.feedback == LABEL or (self.feedback == LABEL_WHEN_COVERED and success > 0.0)

    def hear(self, latent: Any) -> None:
        """The label of the step that is told next, on the scale of the options: the least that would have succeeded.

        Only where `hears` says so: a label that the method's class of feedback does not show is not used.
        """
        if self.feedback not in (LABEL, LABEL_WHEN_COVERED):
            raise InvalidArgument(f"latent must not be shown to {self.name!r}, which sees {self.feedback}")
        try:
            label = float(latent)
        except (TypeError, ValueError):
            label = math.nan
        if not math.isfinite(label):
            raise InvalidArgument(f"latent must be a finite number on the scale of the options, got {quoted(latent)}")
        self._heard = label

    def tell(self, decision: Decision | int, success: float, cost: float | None = None) -> None:
        """How it went."""
        units = success_units(success)
        identity = self._find(decision)
        arm, counted, note, context = self._waiting[identity]
        spent = self.menu.known_cost(arm) if cost is None else cost_told(cost)
        if spent is None:
            raise InvalidArgument(f"cost must be told for option {self.menu.option(arm)!r}")
        hears = self.hears(units / ONE_SUCCESS)
        if hears and self._heard is None:
            raise InvalidArgument(
                f"latent must be heard before it is told: {self.name!r} sees {self.feedback}; call hear(latent) first"
            )
        del self._waiting[identity]
        if counted:
            self.outcomes += 1
            self._units += units
        self.cost += spent
        self._note, self._context = note, context
        self._heard = self._heard if hears else None
        self._learn(arm, units / ONE_SUCCESS, min(spent, self.menu.safe_cost), counted=counted)
        self._heard = None

    def _find(self, decision: Decision | int) -> int:
        """The id of a decision that waits for its outcome."""
        identity = self._identity.id_of(decision)
        if identity in self._waiting:
            return identity
        if 0 <= identity < self._issued:
            raise AlreadyTold(f"decision {identity} was settled before; telling it again changes nothing")
        raise UnknownDecision(f"decision {quoted(identity)} was never asked of this method")

    @property
    def target(self) -> float:
        return self._promise.rate

    @property
    def debt(self) -> float:
        """Successes owed: target·told − successes."""
        return (self._promise.target * self.outcomes - self._units) / ONE_SUCCESS

    @property
    def successes(self) -> float:
        return as_number(self._units)

    @property
    def pending(self) -> int:
        return len(self._waiting)


def own_rng(seed: Any) -> np.random.Generator:
    """A method's own randomness: not that of a stream, though both may be given the same seed.

    >>> own_rng(0).random() == np.random.default_rng(0).random()
    False
    """
    return np.random.default_rng([SALT, positive_int("seed", seed, 0)])


def above_zero(name: str, value: Any) -> float:
    """A number above 0 that a user gave."""
    number = float(as_fraction(name, value))
    if number <= 0.0:
        raise InvalidArgument(f"{name} must be above 0, got {quoted(value)}")
    return number


def step_of(step: Any, horizon: int) -> float:
    """A step as given, or 1/sqrt(horizon)."""
    return 1.0 / float(horizon) ** 0.5 if step is None else above_zero("step", step)
