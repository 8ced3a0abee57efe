"""The projected primal-dual method: the paper's baseline, which forgets what it owes whenever the dual is clipped."""

from fractions import Fraction
from typing import ClassVar

from suffice.bounds import Paper, Tally
from suffice.checks import whole
from suffice.choosers import Optimist
from suffice.errors import InvalidArgument
from suffice.menu import Menu
from suffice.rivals.base import Rival, step_of


class Projected(Rival):
    """The paper's estimates, always the argmin, and dual ← clip(dual + step·(target − success), 0, cap)."""

    name: ClassVar[str] = "projected"
    source: ClassVar[str] = "the paper's baseline, after Guo & Liu 2024"
    feedback: ClassVar[str] = "success + cost"
    guarantee: ClassVar[str] = "stochastic; none on a path"

    def __init__(
        self, menu: Menu, target: float | Fraction, horizon: int, step: float | None = None, *, cap: float | None = None
    ) -> None:
        super().__init__(menu, target)
        if not menu.has_nothing:
            raise InvalidArgument("menu must have a nothing")
        horizon = whole("horizon", horizon)
        self._step = step_of(step, horizon)
        self._cap = self._promise.cap if cap is None else float(cap)
        self._dual = 0.0
        self._opened = 1
        self._tally = Tally(menu.arms)
        self._bounds = Paper()
        self._bounds.open(menu, horizon)
        self._chooser = Optimist()

    @property
    def dual(self) -> float:
        return self._dual

    def _counted(self) -> bool:
        return self._opened >= self.menu.arms - 1

    def _choose(self) -> int:
        if not self._counted():
            self._opened += 1
            return self._opened - 1
        return self._chooser.choose(self._dual, self._bounds, None)

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        if counted:
            self._dual = min(max(self._dual + self._step * (self.target - success), 0.0), self._cap)
        self._tally.add(arm, success, cost)
        self._bounds.update(self._tally, arm, self.told)
