"""The projected primal-dual method: the paper's baseline, which loses its debt whenever the price is clipped."""

from suffice.errors import InvalidArgument
from suffice.kernels.compiler import available, compiled
from suffice.kernels.rows import Floats
from suffice.lab.rivals.base import PRIMARY, SUCCESS_AND_COST, Rival, Target, above_zero, default_step
from suffice.learning.bounds import Paper
from suffice.learning.choosers import Optimist
from suffice.learning.records import Lesson
from suffice.learning.table_learner import TableLearner
from suffice.menu.menu import Menu
from suffice.numbers import positive_int, success_units
from suffice.selector.compiled_calls import DUE, TOLD
from suffice.selector.runs import NO_PRICE, play_projected
from suffice.selector.world import Block, World


class Projected(Rival):
    """The paper's estimates, always the argmin, and price ← clip(price + step·(target − success), 0, cap).

    >>> rival = Projected(Menu({"small": 0.1, "all": 1.0}, safe="all", skip="none"), 0.9, horizon=100)
    >>> for _ in range(2):  # the first plays every option once and does not move the price
    ...     rival.tell(rival.ask(), success=False)
    >>> round(rival.price, 3)
    0.09
    """

    name = "projected"
    source = "the paper's baseline, after Guo & Liu 2024"
    read = PRIMARY
    feedback = SUCCESS_AND_COST
    guarantee = "stochastic; none on a path"

    def __init__(self, menu: Menu, target: Target, horizon: int, step: float | None = None) -> None:
        super().__init__(menu, target)
        if not menu.has_skip:
            raise InvalidArgument("menu must have a skip option")
        horizon = positive_int("horizon", horizon)
        self._step = default_step(horizon) if step is None else above_zero("step", step)
        self._cap = self._promise.cap
        self._price = 0.0
        self._next_initial_arm = 1
        self._learner = TableLearner(menu, Paper(), Optimist(), horizon, self._promise.cap)

    @property
    def price(self) -> float:
        return self._price

    def _counts_next(self) -> bool:
        return self._next_initial_arm >= self.menu.n_arms - 1

    def _choose(self) -> int:
        if not self._counts_next():
            self._next_initial_arm += 1
            return self._next_initial_arm - 1
        return self._learner.propose(self._price, None).arm

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        if counted:
            self._price = min(max(self._price + self._step * (self.target - success), 0.0), self._cap)
        self._learner.follow(Lesson(arm, success, cost, NO_PRICE, counted, True, True), self._price)

    def can_run(self, stream: object) -> bool:
        """Whether `run` can play this stream."""
        return type(self) is Projected and available()

    def run(self, world: World, latents: Floats, block: Block) -> None:
        """All steps against a world that is known beforehand, compiled."""
        self._learner.compile()
        table = self._learner.compiled
        if table is None:
            raise RuntimeError("a run of whole steps needs the compiler")
        step, first = 0, self._next_initial_arm
        while step < latents.size:
            step, self._next_initial_arm, self._price, event = compiled(play_projected)(
                table.address, latents, *world, *block.columns, step, self._next_initial_arm, self._price, self._step,
                self._cap, self.target,
            )  # fmt: skip
            if event > TOLD:
                arm, due = divmod(event - TOLD, DUE)
                table.catch_up(due, arm, self._price)
        counted = latents.size - (self._next_initial_arm - first)
        self.outcomes += counted
        self._issued += latents.size
        self._units += sum(success_units(value) for value in block.successes[latents.size - counted :].tolist())
        self.cost += float(block.costs.sum())
