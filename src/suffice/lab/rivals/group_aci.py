"""Group-conditional adaptive conformal inference: one threshold that is a sum over the groups a step belongs to."""

from collections.abc import Callable, Sequence

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.lab.rivals.base import SUCCESS, SUMMARY, Target, above_zero
from suffice.lab.rivals.threshold_rival import Chained
from suffice.lab.rivals.weights import Floats
from suffice.menu.menu import Menu


def everyone(step: int) -> Sequence[float]:
    """One group that every step belongs to."""
    return (1.0,)


class GroupACI(Chained):
    """threshold = start + ⟨θ, groups⟩, and θ ← θ + step·(target − success)·groups, never clipped.

    In the manner of Ramalingam, Kiyani & Roth 2025 (GCACI): a miss adds step·target to the part of every group that the
    step belongs to, a success takes step·(1 − target) away. Each part is step times the debt of its group, exactly, in
    groups of weight 0 or 1. Their step is 1 on their scores, and they start at 0; ours are in widths of the range and
    from the highest option, as for the other methods on thresholds.

    Args:
        menu: a chain, such as top_k or thresholds.
        target: the success rate to hold in every group.
        groups: from the number of a step, the first being 0, to how far it belongs to each group, numbers from 0 to 1;
            it stands in for the context, which is known before the step. One group of all steps if left out.
        step: how far one outcome moves a part, in widths of the range.
        start: where the threshold starts; the highest option if left out.

    >>> rival = GroupACI(Menu.thresholds(0, 10, step=1), 0.75, groups=lambda step: (1, step % 2), step=0.2)
    >>> for success in (True, False, True):
    ...     rival.tell(rival.ask(), success, cost=1)
    >>> rival.parts.tolist()
    [0.5, 1.5]
    """

    name = "group ACI"
    source = "in the manner of Ramalingam, Kiyani & Roth 2025"
    read = SUMMARY
    feedback = SUCCESS
    guarantee = "|debt| of every group of the order √t at most on every path, where low fails, high succeeds"

    def __init__(
        self,
        menu: Menu,
        target: Target,
        *,
        groups: Callable[[int], Sequence[float]] = everyone,
        step: float = 0.05,
        start: float | None = None,
    ) -> None:
        super().__init__(menu, target)
        if not callable(groups):
            raise InvalidArgument(f"groups must be a function of the step's number, got {quoted(groups)}")
        self._groups = groups
        self._step = above_zero("step", step) * self.width
        self._first = self._start(start)
        self._asked = 0
        self.parts = np.zeros(self._belongs(0).size)

    def _belongs(self, step: int) -> Floats:
        shares = np.atleast_1d(np.asarray(self._groups(step), dtype=np.float64))
        if shares.ndim != 1 or not ((shares >= 0.0) & (shares <= 1.0)).all():
            raise InvalidArgument(f"groups must give numbers from 0 to 1, one per group, got {quoted(shares.tolist())}")
        if hasattr(self, "parts") and shares.size != self.parts.size:
            raise InvalidArgument(f"groups must give {self.parts.size} numbers in every step, got {shares.size}")
        return shares

    def _choose(self) -> int:
        self._note = self._belongs(self._asked)
        self._asked += 1
        return self._arm_at(self._first + float(self.parts @ self._note))

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        self.parts += self._step * (self.target - success) * self._note
