"""EXP3.P on the arms of a menu: adversarial bandits with one loss for misses and sizes."""

import math
from typing import Any

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.lab.rivals.base import SUCCESS, SUMMARY, Rival, Target, own_rng
from suffice.lab.rivals.weights import Floats, draw, mixed
from suffice.menu.menu import Menu
from suffice.numbers import between, positive_int


class Exp3P(Rival):
    """Draws an arm by exponential weights of its estimated gains, mixed with the uniform distribution.

    In the manner of Yang, Kim & Park 2026 ("OCP-Bandit"). With α = 1 − target the loss of a success is α + α(1−α), of
    a failure 1 − α(1−α), and `penalty`·size is added; a gain is 1 − loss. Gains are estimated by (gain·1{played} +
    bonus)/probability, with the probability of when it was asked. For K arms and T steps the bonus is sqrt(ln K/(KT)),
    the rate 0.95·sqrt(ln K/(KT)), the mixing 1.05·sqrt(K ln K/T). Loss and tuning are the source's, by a detailed
    summary of it. Their penalty on sizes is of the order 1/o(T); its formula was not read, and ours is the size over √T.
    Weights are kept as logarithms.

    It drifts to the safe option, by its design and not by an error in it. A failure costs (1−α)(1−2α) more than a success,
    and the safe option never fails; so on every path

        (1−α)(1−2α)·(share of failures)  <=  regret/T + penalty,

    and where the right side vanishes, so do failures: their share goes to 0, and not to α. The source's promise, a share
    of at most α + regret/T + o(1), is kept with all of α to spare; what failures there are come from the mixing, which
    plays every arm, and from weights that have not settled. A penalty that does not vanish is a fixed price of
    (1−α)(1−2α)/penalty for a success, in units of safe_cost, under which a single arm is best: the target is held if that
    price happens to be the right one. From a target of ½ down a failure costs no more than a success, and there is no
    reason to succeed at all.

    Args:
        menu: any menu whose costs are known, or a chain: the size of an option is its cost, or its place.
        target: the success rate to hold.
        horizon: how many steps there will be.
        penalty: the loss of the largest size; 1/√horizon if left out.
        seed: of the method's own randomness.

    >>> rival = Exp3P(Menu({"small": 0.1}, safe="all", skip="none"), 0.9, horizon=1000)
    >>> rival.probabilities().round(3).tolist()
    [0.333, 0.333, 0.333]
    """

    name = "EXP3.P"
    source = "in the manner of Yang, Kim & Park 2026"
    read = SUMMARY
    feedback = SUCCESS
    guarantee = "fails at most 1 − target of the time in the long run, w.h.p.; drifts to the safe option"

    def __init__(
        self, menu: Menu, target: Target, horizon: int, *, penalty: float | None = None, seed: int = 0
    ) -> None:
        super().__init__(menu, target)
        horizon = positive_int("horizon", horizon)
        self._penalties = penalty_of(penalty, horizon) * sizes(menu)
        self._logs = np.zeros(menu.n_arms)
        self._rng = own_rng(seed)
        self._tune(menu.n_arms, horizon)

    def _tune(self, arms: int, horizon: int) -> None:
        spread = math.sqrt(math.log(arms) / (arms * horizon))
        self._bonus, self._rate = spread, 0.95 * spread
        self._mixing = min(1.0, 1.05 * arms * spread)

    def probabilities(self) -> Floats:
        """What the arm of the next step is drawn from."""
        return mixed(self._logs, self._mixing)

    def _choose(self) -> int:
        self._note = self.probabilities()
        return draw(self._rng, self._note)

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        gains = np.full(self.menu.n_arms, self._bonus)
        gains[arm] += 1.0 - (loss(success, 1.0 - self.target) + self._penalties[arm])
        self._logs += self._rate * gains / self._note
        self._logs -= self._logs.max()


def loss(success: Any, failure_share: float) -> Any:
    """Of a success α + α(1−α), of a failure 1 − α(1−α), α being the failure_share; in proportion between."""
    twice = failure_share * (1.0 - failure_share)
    return success * (failure_share + twice) + (1.0 - success) * (1.0 - twice)


def penalty_of(penalty: Any, horizon: int) -> float:
    """The loss of the largest size, as given or 1/√horizon."""
    return 1.0 / float(horizon) ** 0.5 if penalty is None else between("penalty", penalty, 0.0, 1.0)


def sizes(menu: Menu) -> Floats:
    """How large each option is, from 0 to 1: what it is known to cost, or its place in a chain."""
    if menu.costs is not None:
        return np.array([menu.known_cost(arm) for arm in range(menu.n_arms)], dtype=np.float64) / menu.safe_cost
    if menu.order == "chain":
        return np.linspace(0.0, 1.0, menu.n_arms)
    raise InvalidArgument(f"menu must know its costs or be a chain, for options to have sizes, got {quoted(menu)}")
