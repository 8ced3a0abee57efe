"""Scale-free online gradient descent: adaptive conformal inference whose steps tune themselves."""

import math

from suffice.lab.rivals.base import PRIMARY, SUCCESS, Target, above_zero
from suffice.lab.rivals.threshold_rival import Chained
from suffice.menu.menu import Menu


class ScaleFreeOGD(Chained):
    """threshold ← threshold + range/√3·(target − success)/√Σ(target − success)², the sum over all outcomes so far.

    Bhatnagar, Wang, Xiong & Bai 2023, after Orabona & Pál 2016: what their SAOCP makes its experts of, and a method of
    its own that needs the bit alone. Of the source its code was read, which keeps the threshold at 0 or above; here the
    state is never clipped.

    The bound on the debt is ours. Steps never grow, and none moves the state by more than scale·range/√3; so it spans at
    most R = range·(1 + 2·scale/√3), and summing by parts |debt| <= R/(the last step), which is
    (2 + √3/scale)·√Σ(target − success)².

    Args:
        menu: a chain, such as top_k or thresholds.
        target: the success rate to hold.
        scale: how large scores are thought to be, in widths of the range.
        start: where the threshold starts; the highest option if left out.

    >>> rival = ScaleFreeOGD(Menu.thresholds(0, 10, step=1), 0.75)
    >>> for success in (True, False):
    ...     rival.tell(rival.ask(), success, cost=1)
    >>> round(rival.threshold, 3)  # 10 − 10/√3 + 10/√3·0.75/√0.625
    9.704
    """

    name = "scale-free OGD"
    source = "Bhatnagar, Wang, Xiong & Bai 2023"
    read = PRIMARY
    feedback = SUCCESS
    guarantee = "|debt| at most (2 + √3/scale)·√t on every path, where low fails and high succeeds"

    def __init__(self, menu: Menu, target: Target, *, scale: float = 1.0, start: float | None = None) -> None:
        super().__init__(menu, target)
        self._step = above_zero("scale", scale) * self.width / math.sqrt(3.0)
        self._squares = 0.0
        self.threshold = self._start(start)

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        owed = self.target - success
        self._squares += owed**2
        if self._squares > 0.0:
            self.threshold += self._step * owed / math.sqrt(self._squares)
