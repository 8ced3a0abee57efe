"""The projected primal-dual method: the paper's baseline, which forgets what it owes whenever the dual is clipped."""

from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from suffice.bounds import Paper
from suffice.checks import whole
from suffice.choosers import Optimist
from suffice.errors import InvalidArgument
from suffice.kernels.compile import fast
from suffice.kernels.runs import play_projected
from suffice.learner import FlatLearner
from suffice.menu import Menu
from suffice.rivals.base import PRIMARY, SUCCESS_AND_COST, Rival, step_of
from suffice.runs import Block, World


class Projected(Rival):
    """The paper's estimates, always the argmin, and dual ← clip(dual + step·(target − success), 0, cap).

    >>> rival = Projected(Menu({"small": 0.1}, everything="all", nothing="none"), 0.9, horizon=100)
    >>> for _ in range(2):  # the first plays every option once and does not move the dual
    ...     rival.tell(rival.ask(), success=False)
    >>> round(rival.dual, 3)
    0.09
    """

    name: ClassVar[str] = "projected"
    source: ClassVar[str] = "the paper's baseline, after Guo & Liu 2024"
    read: ClassVar[str] = PRIMARY
    feedback: ClassVar[str] = SUCCESS_AND_COST
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
        self._learner = FlatLearner(menu, Paper(), Optimist(), horizon, self._promise)

    @property
    def dual(self) -> float:
        return self._dual

    def _counted(self) -> bool:
        return self._opened >= self.menu.arms - 1

    def _choose(self) -> int:
        if not self._counted():
            self._opened += 1
            return self._opened - 1
        return self._learner.propose(self._dual, None, self.told)

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        if counted:
            self._dual = min(max(self._dual + self._step * (self.target - success), 0.0), self._cap)
        self._learner.learn(arm, success, cost, 1, self.told, self._dual)

    def _ready_for(self, stream: Any) -> bool:
        """Whether `_run` can play this stream."""
        if type(self) is not Projected or not self._learner.compilable:
            return False
        if not self._learner.compiled:
            self._learner.compile()
        return True

    def _run(self, world: World, latents: Any, block: Block) -> None:
        """Whole steps against a world that is known beforehand."""
        book = np.array(self._ledger.page(), dtype=np.float64)
        self._opened, self._dual = fast(play_projected)(
            book, self._learner.arms, latents, *world, *block.columns, self._opened, self._dual, self._step, self._cap,
            self.target,
        )  # fmt: skip
        self._ledger.put(book.tolist())
        self.cost += float(block.costs.sum())
