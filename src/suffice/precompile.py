"""Compiling ahead of time, for images and servers."""

from typing import Any

import numpy as np

from suffice.kernels.compiler import available
from suffice.kernels.rows import Floats
from suffice.menu.menu import Menu
from suffice.simulator import Windows

OPTIONS = 70  # so many that the tree over their lines is compiled, too


class _TopK:
    """A stream to compile with: an option succeeds where a number is below it."""

    def __init__(self) -> None:
        self.menu = Menu.top_k(range(1, OPTIONS), classes=100)
        low = np.zeros(self.menu.n_arms)
        high = np.array([-1.0, *range(1, OPTIONS), 100.0])  # skipping never succeeds
        self._windows = Windows(low, high, np.clip(high / 100.0, 0.0, 1.0))

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Floats:
        """A number from 0 to 100 per step."""
        return rng.random(count) * 100.0

    def windows(self) -> Windows:
        """One window and one cost per arm."""
        return self._windows

    def judge(self, latent: Any, arm: int, price: float) -> tuple[float, float]:
        """The success and the cost of an arm."""
        low, high, costs = self._windows
        return float(low[arm] <= latent <= high[arm]), float(costs[arm])


def warmup() -> bool:
    """Compile everything that suffice may compile, or load it from the cache. False if there is no compiler.

    Takes some seconds the first time and a fraction of one afterwards. From then on small menus use compiled code, too.
    """
    if not available():
        return False
    from suffice.fleet import Fleet
    from suffice.selector.selector import Selector
    from suffice.simulator import simulate

    stream = _TopK()
    simulate(Selector(stream.menu, 0.9), stream, 10)
    for menu in (stream.menu, Menu(range(70), safe="all")):
        selector = Selector(menu, 0.9)
        decision = selector.ask()
        selector.tell(decision, True)
        decision = selector.ask()
        selector.expire(decision)
        selector.tell(decision, True, 0.1)
    looking = Selector(Menu(["a", "b"], safe="all", skip="none"), 0.9, model="auto")
    for _ in range(4):
        looking.tell(looking.ask(context={"x": 0.5}), True, 0.1)
    fleet = Fleet(Menu(["a"], safe="all", skip="none"), 0.9, 2)
    fleet.ask()
    fleet.tell(None, np.ones(2))
    return True
