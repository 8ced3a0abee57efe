"""The optimistic linear programme: in every step the cheapest mix of arms that could succeed often enough."""

from suffice.best_mix import optimum
from suffice.lab.rivals.base import COMMON, Target, own_rng
from suffice.lab.rivals.estimates import Estimating
from suffice.lab.rivals.weights import Floats, draw
from suffice.menu.menu import Menu


class OptimisticLP(Estimating):
    """min Σ x·lower cost subject to Σ x·upper success >= target in every step; the arm is drawn from x.

    In the manner of Agrawal & Devanur, with our KL bounds in the place of theirs. At most two arms have a weight. The
    debt is not looked at: what was missed is never made up for.

    Args:
        menu: any menu.
        target: the success rate to hold.
        horizon: how many steps the bounds are to hold for.
        seed: of the method's own randomness.

    >>> rival = OptimisticLP(Menu({"small": 0.1}, safe="all", skip="none"), 0.9, horizon=100)
    >>> rival.mix().tolist()  # what is not known yet could be as good as the safe option
    [0.09999999999999998, 0.9, 0.0]
    """

    name = "optimistic LP"
    source = "in the manner of Agrawal & Devanur 2014"
    read = COMMON
    guarantee = "stochastic; none on a path"

    def __init__(self, menu: Menu, target: Target, horizon: int, *, seed: int = 0) -> None:
        super().__init__(menu, target, horizon)
        self._rng = own_rng(seed)

    def mix(self) -> Floats:
        """The weights that the arm of the next step is drawn from."""
        return optimum(self._estimates.upper, self._estimates.cost, self._owed_share).weights

    def _choose(self) -> int:
        return draw(self._rng, self.mix())
