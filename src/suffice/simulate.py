"""The simulator: the loop of ask and tell with a stream for the world, and the trace it leaves."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from suffice.checks import whole
from suffice.errors import InvalidArgument
from suffice.records import Decision
from suffice.streams.base import Stream

Floats = NDArray[np.float64]


class Method(Protocol):
    """What can be simulated: a selector or a rival."""

    @property
    def target(self) -> float: ...

    def ask(self) -> Decision: ...

    def tell(self, decision: Decision, success: float, cost: float | None = None) -> None: ...


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What happened, step by step; and the method as it was at the end."""

    target: float
    arms: NDArray[np.int64]
    successes: Floats
    costs: Floats
    duals: Floats  # the price when each decision was asked
    method: Any = field(repr=False, compare=False)

    @property
    def rate(self) -> float:
        """The share of successes."""
        return float(self.successes.mean())

    @property
    def mean_cost(self) -> float:
        """The cost per step."""
        return float(self.costs.mean())

    @property
    def debts(self) -> Floats:
        """Successes owed after each step, the first round of a method included."""
        steps = np.arange(1, self.successes.size + 1, dtype=np.float64)
        return self.target * steps - np.cumsum(self.successes)

    @property
    def debt(self) -> float:
        """Successes owed at the end."""
        return float(self.debts[-1])

    @property
    def largest_debt(self) -> float:
        """The most successes ever owed."""
        return float(self.debts.max())

    def worst_window(self, length: int = 500) -> float:
        """The least share of successes in any window of so many steps."""
        length = min(whole("length", length), self.successes.size)
        sums = np.cumsum(np.concatenate([[0.0], self.successes]))
        return float((sums[length:] - sums[:-length]).min() / length)


def simulate(
    method: Method, stream: Stream, horizon: int, seed: int = 0, *, progress: Callable[[int], None] | None = None
) -> Trace:
    """Run a method on a stream. The method is copied first; the same seed gives the same world to every method.

    Args:
        method: a fresh selector or rival with the stream's menu.
        stream: the world.
        horizon: how many steps.
        seed: which world.
        progress: called now and then with the number of steps done.

    >>> import suffice
    >>> from suffice.streams import LabelRanks
    >>> stream = LabelRanks.cifar100()
    >>> trace = simulate(suffice.Selector(stream.menu, target=0.9), stream, horizon=1000)
    >>> bool(trace.largest_debt <= 0.9)
    True
    """
    horizon = whole("horizon", horizon)
    if getattr(method, "told", 0) or getattr(method, "pending", 0):
        raise InvalidArgument("method must be a fresh one, which has been asked nothing yet")
    menu = getattr(method, "menu", None)
    if menu is not None and menu is not stream.menu and menu.recipe() != stream.menu.recipe():
        raise InvalidArgument("method must have the stream's menu: build it with stream.menu")
    method = copy.deepcopy(method)
    latents = stream.draw(np.random.default_rng(seed), horizon)
    arms = np.zeros(horizon, dtype=np.int64)
    successes, costs, duals = np.zeros(horizon), np.zeros(horizon), np.zeros(horizon)
    for step in range(horizon):
        decision = method.ask()
        success, cost = stream.judge(latents[step], decision.arm, decision.dual)
        method.tell(decision, success, cost)
        arms[step], successes[step], costs[step], duals[step] = decision.arm, success, cost, decision.dual
        if progress is not None and step % 256 == 255:
            progress(step + 1)
    if progress is not None:
        progress(horizon)
    return Trace(method.target, arms, successes, costs, duals, method)
