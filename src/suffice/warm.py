"""Compiling ahead of time, for images and servers."""

import numpy as np

from suffice.kernels.compiler import available


def warmup() -> bool:
    """Compile everything that suffice may compile, or load it from the cache. False if there is no compiler.

    Takes some seconds the first time and a fraction of one afterwards. From then on small menus use compiled code, too.
    """
    if not available():
        return False
    from suffice.fleet import Fleet
    from suffice.menu import Menu
    from suffice.selector.selector import Selector
    from suffice.simulate import simulate
    from suffice.streams import LabelRanks

    stream = LabelRanks.cifar100(tuple(range(1, 70)))
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
