"""Conservative exploration by what was achieved, not by what was certain: never behind on any path."""

from fractions import Fraction

from suffice.lab.rivals.conservative import ConservativeUCB
from suffice.numbers import ONE_SUCCESS


class ConservativePath(ConservativeUCB):
    """Plays the optimistic arm iff past successes >= target·step, else the safe option.

    Even if the arm fails nothing is owed then, so where the safe option succeeds the debt is never above 0. It is compared
    exactly. The arguments and the optimistic arm are those of `ConservativeUCB`.

    >>> from suffice import Menu
    >>> rival = ConservativePath(Menu({"small": 0.1}, safe="all", skip="none"), 0.5, horizon=100)
    >>> debts = []
    >>> for _ in range(4):
    ...     decision = rival.ask()
    ...     rival.tell(decision, success=decision.is_safe)
    ...     debts.append(rival.debt)
    >>> debts
    [-0.5, 0.0, -0.5, 0.0]
    """

    name = "conservative UCB on the path"
    source = "sample-path variant of Wu, Shariff, Lattimore & Szepesvári 2016"
    guarantee = "debt at most 0 on every path where the safe option succeeds"

    def _safe(self, arm: int) -> bool:
        return Fraction(self._units, ONE_SUCCESS) >= self._owed_share * (self.outcomes + self.pending + 1)
