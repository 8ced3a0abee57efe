"""Conservative exploration: the tempting arm only where what was certainly achieved pays for it, else the safe option."""

import numpy as np

from suffice.lab.rivals.base import PRIMARY
from suffice.lab.rivals.estimates import Estimating


class ConservativeUCB(Estimating):
    """Plays the optimistic arm J iff Σ plays·lower success + lower success of J >= target·step, else the safe option.

    Wu, Shariff, Lattimore & Szepesvári 2016, with the safe option as the baseline arm. There the optimistic arm is the one of
    the greatest reward; here it is the one whose mix with the safe option, just enough of it to reach the target, could be
    the cheapest. Our KL bounds. Decisions that are pending count as failed.

    Args:
        menu: any menu.
        target: the success rate to hold.
        horizon: how many steps the bounds are to hold for.

    >>> from suffice import Menu
    >>> rival = ConservativeUCB(Menu({"small": 0.1}, safe="all", skip="none"), 0.75, horizon=100)
    >>> options = []
    >>> for _ in range(8):
    ...     decision = rival.ask()
    ...     options.append(decision.option)
    ...     rival.tell(decision, success=decision.is_safe)
    >>> options
    ['all', 'all', 'all', 'small', 'all', 'all', 'all', 'small']
    """

    name = "conservative UCB"
    source = "Wu, Shariff, Lattimore & Szepesvári 2016"
    read = PRIMARY
    guarantee = "expected successes of every prefix, with high probability on independent steps"

    def tempting(self) -> int:
        """The optimistic arm: the cheapest when mixed with the safe option."""
        failure_share = 1.0 - self.target
        share = failure_share / np.maximum(
            1.0 - self._estimates.upper, failure_share
        )  # of the steps; the rest are safe
        return int((share * (self.menu.safe_cost - self._estimates.cost)).argmax())

    def _safe(self, arm: int) -> bool:
        certain = float(self._estimates.tally.plays @ self._estimates.lower) + float(self._estimates.lower[arm])
        return certain >= self.target * (self.outcomes + self.pending + 1)

    def _choose(self) -> int:
        arm = self.tempting()
        return arm if self._safe(arm) else self.menu.n_arms - 1
