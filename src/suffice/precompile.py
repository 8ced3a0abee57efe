"""Compiling ahead of time, for images and servers."""

import numpy as np

from suffice.kernels.compiler import available
from suffice.menu.menu import Menu

OPTIONS = 70  # so many that the tree over their lines is compiled, too


def warmup() -> bool:
    """Compile all code for selectors and fleets, or load it from the cache. False if there is no compiler.

    Takes some seconds the first time and a fraction of one afterwards. From then on small menus use compiled code, too.
    """
    if not available():
        return False
    from suffice.fleet import Fleet
    from suffice.selector.selector import Selector

    for menu in (
        Menu.top_k(range(1, OPTIONS), classes=100, skip=True),
        Menu(range(OPTIONS), safe="all", safe_cost=1.0),
    ):
        selector = Selector(menu, 0.9)
        decision = selector.ask()
        selector.tell(decision, True, 0.1)
        decision = selector.ask()
        selector.expire(decision)
        selector.tell(decision, True, 0.1)
    contextual = Selector(Menu(["a", "b"], safe="all", skip="none", safe_cost=1.0), 0.9, model="auto")
    for _ in range(4):
        contextual.tell(contextual.ask(context={"x": 0.5}), True, 0.1)
    fleet = Fleet(Menu(["a"], safe="all", skip="none", safe_cost=1.0), 0.9, 2)
    fleet.ask()
    fleet.tell(None, np.ones(2), np.full(2, 0.1))
    return True
