"""The paper's algorithm to the letter."""

from fractions import Fraction

from suffice.errors import InvalidArgument, quoted
from suffice.learning.settings import Learning
from suffice.menu.menu import Menu
from suffice.numbers import positive_int
from suffice.promise.rules import Rule
from suffice.selector.selector import Selector


def paper(menu: Menu, target: float | Fraction, horizon: int, step: float | None = None) -> Selector:
    """The algorithm of the paper to the letter (its sections "Boundary-Rule Stabilized Primal-Dual ACI" and after).

    The first round plays each interior option once; the promise, and so the certificate, begins after it. Then the price
    starts at 0 and moves by `step`, 1/sqrt(horizon) unless given; widths are sqrt(2 ln(nT)/plays), nothing is clipped.

    >>> selector = paper(Menu.top_k([5, 10], classes=100, skip=True), target=0.8, horizon=1000)
    >>> [selector.ask().option for _ in range(3)]  # the first round, then skips: the price is 0
    [5, 10, 0]
    """
    if not isinstance(menu, Menu):
        raise InvalidArgument(f"menu must be a Menu, got {quoted(menu)}")
    if not menu.has_skip:
        raise InvalidArgument("menu must have a skip option: the paper's algorithm plays it at a price of 0 or less")
    if horizon is None:
        raise InvalidArgument("horizon must be given: the paper's algorithm knows how many steps there will be")
    moves = step if step is not None else 1.0 / float(positive_int("horizon", horizon)) ** 0.5
    learning = Learning(bounds="paper", chooser="optimist")
    selector = Selector(menu, target, rule=Rule("cheap", step=moves, horizon=horizon), learning=learning)
    selector.begin_first_round()
    return selector
