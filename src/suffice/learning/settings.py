"""How a selector learns and chooses: the settings that researchers turn. The promise holds whatever is set here."""

from dataclasses import dataclass
from typing import Final

from suffice.errors import InvalidArgument, quoted
from suffice.learning.bounds import Bounds, resolve_bounds
from suffice.learning.choosers import Chooser, resolve_chooser
from suffice.learning.guard import KAPPA
from suffice.learning.memory import resolve_memory
from suffice.numbers import positive_float
from suffice.promise.rules import Promise

AUTO: Final = "auto"
PRICES: Final = (AUTO, "curve", "straight")


@dataclass(frozen=True, slots=True)
class Learning:
    """How a selector estimates its options and chooses among them. The defaults suit every menu.

    Args:
        bounds: the confidence bounds of each option: "interval-closure", "ordered", "half-log", "kl", "hoeffding", "paper", or
            an object of your own. "auto" is the best kind that is proven for the menu.
        chooser: the part that proposes an option: "thompson", "optimist", or an object of your own. "auto" is "thompson" for
            chains, intervals and subsets; for other menus, and where bounds are named, it is "optimist".
        guard: how much more than the optimist a chooser may cost before the optimist plays in its place: κ in
            docs/choosers.md. None: any amount.
        memory: how much of the past counts when options are estimated: "reset" (all of it until it contradicts itself, then
            none of it), "full", "window 2000" or "discount 2000" (or any other number of outcomes). "auto" is "reset", and
            "full" where bounds are named. The promise counts everything, whatever is set here.
        prices: how the price of a success follows the debt: "curve" (around a hint of the right price) or "straight" (as in
            the paper). "auto" is the curve, unless a `Rule` has a step or a start of its own.

    >>> Learning(bounds="kl", memory="window 2000")
    Learning(bounds='kl', chooser='auto', guard=1.0, memory='window 2000', prices='auto')
    """

    bounds: str | Bounds = AUTO
    chooser: str | Chooser = AUTO
    guard: float | None = KAPPA
    memory: str = AUTO
    prices: str = AUTO

    def __post_init__(self) -> None:
        resolve_bounds(self.bounds)
        if not (isinstance(self.chooser, str) and self.chooser == AUTO):
            resolve_chooser(self.chooser)
        if self.guard is not None:
            positive_float("guard", self.guard)
        resolve_memory(self.memory)
        if not isinstance(self.prices, str) or self.prices not in PRICES:
            raise InvalidArgument(f'prices must be "auto", "curve" or "straight", got {quoted(self.prices)}')


DEFAULT: Final = Learning()


def as_learning(learning: object) -> Learning:
    """The settings that are passed; the defaults where there are none."""
    if learning is None:
        return DEFAULT
    if not isinstance(learning, Learning):
        raise InvalidArgument(f"learning must be a suffice.Learning, got {quoted(learning)}")
    return learning


def resolve_prices(prices: str, promise: Promise) -> str:
    """What `prices` becomes under these rules: the curve needs a safe start and no step."""
    may_curve = promise.start is None or (promise.step is None and promise.start == promise.cap)
    if prices == "curve" and not may_curve:
        raise InvalidArgument('prices must be "straight" where a rule has a step, or a start that is not "safe"')
    return ("curve" if may_curve else "straight") if prices == AUTO else prices
