"""The selector: choose among the options of a menu so that the target is held and little is paid.

The way of the data: promise (everything, nothing, or a price) → chooser proposes an arm at that price → the world;
then the outcome → counts, tally, bounds, chooser.
"""

import math
import os
import sys
import time
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.book import EVERYTHING, LENGTH, NOTHING, TOLD
from suffice.bounds import NAMED as NAMED_BOUNDS
from suffice.bounds import Bounds
from suffice.checks import WHOLE, positive, success_units, whole
from suffice.choosers import NAMED as NAMED_CHOOSERS
from suffice.choosers import Chooser
from suffice.controller import Controller, log
from suffice.errors import InvalidArgument, shown
from suffice.guided import KAPPA, make_learner
from suffice.kernels.compile import available, entry, fast
from suffice.kernels.desk import FENCE, FIRST_ARM, ask_at, desk, tell_at
from suffice.kernels.layout import PRICE_NOW, SPENT
from suffice.kernels.runs import play
from suffice.learner import FlatLearner, may_curve
from suffice.memory import Memory, written
from suffice.menu import Menu
from suffice.pending import Pending
from suffice.promise import Promise
from suffice.recipes import again, name_of, same_menu
from suffice.records import Arm, Decision
from suffice.runs import Block, World
from suffice.saving import read_state, reading


class Selector(Controller):
    """Holds a success rate over the options of a menu, on every path, and pays little where the world allows it.

    Args:
        menu: what may be chosen.
        target: the success rate to hold, strictly between 0 and 1; a float counts as the decimal it is written as.
        horizon: how many outcomes there will be, if that is known. Without it the step decays.
        slack: the most successes that may be banked; in no window do failures exceed the allowed ones by more than
            slack + 1. Default sqrt(told), or sqrt(horizon).
        step: how far one outcome moves the dual, instead of slack (step = cap/slack).
        cap: the dual at which everything is played. Default max_cost/(everything_success − target).
        start: "safe" (never behind), "cheap" (the paper's), or the dual to start from.
        bounds: what is certain of each option: "closed", "contained", "half-log", "kl", "hoeffding", "paper", or an object
            of your own; "auto" is the best that is proven for the menu.
        chooser: who proposes an option: "thompson", "optimist", or an object of your own; "auto" is the first for chains,
            intervals and subsets, else the second, which it also is where bounds are named.
        guard: how much more than the optimist a chooser may cost before the optimist plays in its place: κ in
            docs/choosers.md. None: any amount.
        seed: of the chooser's own randomness.
        prices: how the price of a success follows the debt: "curve" (around a hint of the right price), "straight" (as in
            the paper), or "auto": the curve where the start is safe and no step is given.
        memory: how much of the past counts when options are judged: "reset" (all of it until it contradicts itself, then
            none of it), "full", "window 2000" or "discount 2000" (or any other number of outcomes); "auto" is "reset", and
            "full" where bounds are named. The promise remembers everything.
        max_pending: at so many outstanding decisions other than everything, everything is handed out.
        expire_after: seconds after which a decision that was not told counts as a failure.
        clock: where the time of day comes from, in seconds.

    >>> menu = Menu.top_k([5, 10, 20, 50], classes=100)
    >>> selector = Selector(menu, target=0.9)
    >>> decision = selector.ask()
    >>> decision
    Decision(id=0, arm=5, option=100)
    >>> selector.tell(decision, success=True)
    >>> print(selector.certificate())
    Kept: 100% of 1 succeeded (target 90%).
    Never behind by more than 0.9, never ahead by more than 1.1; now 0.1 ahead.
    """

    def __init__(
        self,
        menu: Menu,
        target: float | Fraction,
        horizon: int | None = None,
        *,
        slack: float | None = None,
        step: float | None = None,
        cap: float | None = None,
        start: str | float = "safe",
        bounds: str | Bounds = "auto",
        chooser: str | Chooser = "auto",
        guard: float | None = KAPPA,
        seed: int = 0,
        prices: str = "auto",
        memory: str | Memory = "auto",
        max_pending: int | None = None,
        expire_after: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not isinstance(menu, Menu):
            raise InvalidArgument(f"menu must be a Menu, got {shown(menu)}")
        promise = Promise.make(
            target,
            horizon,
            slack=slack,
            step=step,
            cap=cap,
            start=start,
            max_cost=menu.max_cost,
            everything_success=menu.everything_success,
            forgiving=not menu.has_nothing,
        )
        super().__init__(promise, max_pending=max_pending, expire_after=expire_after, clock=clock)
        self._menu = menu
        self._horizon = None if horizon is None else whole("horizon", horizon)
        self._seed = whole("seed", seed, 0) & 0xFFFFFFFF
        self._guard = math.inf if guard is None else float(positive("guard", guard))
        self._learner = make_learner(
            menu, bounds, chooser, memory, self._horizon, promise, seed=self._seed, kappa=self._guard
        )
        self._proposed: set[int] = set()  # decisions that a chooser of the user's own proposed
        self._prices = _prices(prices, promise)
        if self._prices == "curve":
            self._learner.curve()
        self._opened = menu.arms  # the first arm that the first round has not played; beyond the last: no first round
        self._set_up()
        self._chooser_failed = False

    _settled = -1  # the decision whose outcome is being learned
    _desk: Any = None  # the array that compiled code works on
    _derived = Controller._derived | {"_desk", "_ask_at", "_tell_at", "_options", "_kinds"}

    def _set_up(self) -> None:
        """What the short way through ask and tell needs at hand."""
        menu, learner, ledger = self._menu, self._learner, self._ledger
        self._desk = None
        self._options = menu.immutable() or _Options(menu)
        self._kinds = [menu.kind_of(arm) for arm in range(menu.arms)]
        self._limit = math.inf if self._max_pending is None else float(self._max_pending)
        if not isinstance(learner, FlatLearner) or not learner.compiled:
            return
        if not available():
            self._cost += float(learner.arms[SPENT])
            learner.leave()
            ledger.book = self._promise.open(ledger.counts)
            ledger.pending = dict(ledger.pending)
            return
        # One array for the book, the seats and the arms, of which all are views: what one way writes the other reads.
        cells = desk(ledger.book, learner.arms, self._limit)
        ledger.book, learner.arms = cells[:LENGTH], cells[FIRST_ARM:]
        if self._expire_after is None:  # else each ask looks at the clock, which the short way cannot
            ledger.pending = Pending(ledger.pending, cells, self._kinds)
        self._ask_at = entry(ask_at, "float64[::1]")
        self._tell_at = entry(tell_at, "float64[::1]", "int64", "int64", "float64")
        self._desk = cells
        self._open()

    def _close(self) -> None:
        if self._desk is not None:
            self._desk[FENCE] = 1.0

    def _open(self) -> None:
        """Open the short way, if there is nothing that it cannot do: look at the clock, play a first round, renew keys."""
        if self._desk is not None:
            later = self._expire_after is not None or self._opened < self._menu.arms - 1 or self._ledger.restored
            self._desk[FENCE] = 1.0 if later or not _one_at_a_time() else 0.0

    def _compile(self) -> bool:
        """Move to compiled code, for a run that is worth it; False if that cannot be."""
        if isinstance(self._learner, FlatLearner) and self._learner.compilable and not self._learner.compiled:
            self._learner.compile()
            self._set_up()
        return self._desk is not None

    def _ready_for(self, stream: Any) -> bool:
        """Whether `_run` can play this stream. (A subclass may have changed how it asks or tells.)"""
        return type(self) is Selector and self._compile()

    def _run(self, world: World, latents: NDArray[np.float64], block: Block) -> None:
        """Whole steps against a world that is known beforehand."""
        with self._lock, self._fence:
            opening = self._opened if self._opened < self._menu.arms - 1 else 0
            book, arms = self._ledger.book, self._learner.arms
            played = fast(play)(book, arms, latents, *world, *block.columns, opening)
            if opening:
                self._opened = int(played)
            self._cost += float(block.costs.sum())

    def reseed(self, seed: int) -> None:
        """Begin the chooser's own randomness anew."""
        self._seed = whole("seed", seed, 0) & 0xFFFFFFFF
        with self._lock, self._fence:
            if isinstance(self._learner, FlatLearner):
                self._learner.reseed(self._seed)

    @property
    def menu(self) -> Menu:
        """What may be chosen."""
        return self._menu

    @property
    def bounds(self) -> str:
        """The bounds in use: what "auto" became."""
        return str(getattr(self._learner.bounds, "name", type(self._learner.bounds).__name__))

    @property
    def memory(self) -> str:
        """How much of the past counts: what "auto" became."""
        return written(self._learner.memory)

    @property
    def prices(self) -> str:
        """How the price follows the debt: what "auto" became."""
        return self._prices

    @property
    def chooser(self) -> str:
        """The chooser in use: what "auto" became."""
        return str(getattr(self._learner.chooser, "name", type(self._learner.chooser).__name__))

    def arms(self) -> list[Arm]:
        """A row per arm: how often it was played, how it did, and what is certain of it."""
        with self._lock, self._look:
            plays, successes, priced, costs, upper, lower = self._learner.columns()
            told = max(1, int(plays.sum()))
            return [
                Arm(
                    arm=arm,
                    option=self._menu.option(arm),
                    plays=int(plays[arm]),
                    share=float(plays[arm]) / told,
                    success=float(successes[arm] / plays[arm]) if plays[arm] else None,
                    cost=self._mean_cost(arm, float(costs[arm]), float(priced[arm])),
                    upper_success=float(upper[arm]),
                    lower_cost=float(lower[arm]),
                )
                for arm in range(self._menu.arms)
            ]

    def _mean_cost(self, arm: int, costs: float, priced: float) -> float | None:
        known = self._menu.known_cost(arm)
        return known if known is not None or not priced else costs / priced

    # --- ask

    def ask(self, *, available: Iterable[Any] | None = None, audit: bool = True) -> Decision:
        """What to do now.

        Args:
            available: the interior options that can be played this once; the boundary options always can.
            audit: False for a decision whose outcome will not be told: it is never pending and never counted. Decide
                by a coin, before asking, which ones are audited.
        """
        if self._desk is not None and available is None and audit is True:
            # The short way: one call of compiled code, which happens whole or not at all.
            identity, arm, dual = self._ask_at(self._desk)
            if identity >= 0:
                # Not Decision(...), which would go through a Python function.
                return new(Decision, (identity, arm, self._options[arm], self._kinds[arm], dual, self._ledger.key))
        return super().ask(available=available, audit=audit)

    def tell(self, decision: Decision | int, success: float, cost: float | None = None) -> None:
        """How a decision went: a bool, or any number from 0 to 1. The cost only where it is not known beforehand.

        An outcome for a decision that has expired amends it. Telling twice changes nothing and raises `AlreadyTold`.
        """
        if self._desk is not None and type(decision) is Decision and decision.selector == self._ledger.key:
            # The short way again, for our own decision if it is seated; a cost that needs a second look goes the long way.
            units = WHOLE if success is True else 0 if success is False else success_units(success)
            usual = cost is None or (type(cost) is float and cost == cost)
            try:
                if usual and self._tell_at(self._desk, decision.id, units, NAN if cost is None else cost):
                    return
            except (OverflowError, TypeError, ValueError):
                pass  # an id that no decision has: the long way says so
        super().tell(decision, success, cost)

    @property
    def cost(self) -> float:
        """What was spent on all decisions settled so far, as far as it is known or was told."""
        short = 0.0 if self._desk is None else float(self._desk[FIRST_ARM + SPENT])
        return max(0.0, self._cost + short)  # amendments subtract what they add again, up to rounding

    def _dual(self, book: Any) -> float:
        return self._learner.dual(book)

    def _arms(self) -> int:
        return self._menu.arms

    def _kind(self, arm: int) -> int:
        return self._menu.kind_of(arm)

    def _allowed(self, available: Iterable[Any] | None) -> NDArray[np.bool_] | None:
        if available is None:
            return None
        if isinstance(available, str | bytes) or not isinstance(available, Iterable):
            raise InvalidArgument(f"available must list options of the menu, got {shown(available)}")
        allowed = np.zeros(self._menu.arms, dtype=np.bool_)
        allowed[-1] = True
        if self._menu.has_nothing:
            allowed[0] = True
        for option in available:
            allowed[self._menu.arm(option)] = True
        return allowed

    def _choose(self, rail: int, dual: float, allowed: NDArray[np.bool_] | None) -> tuple[int, Any]:
        if rail == EVERYTHING:
            arm = self._menu.arms - 1
        elif rail == NOTHING and self._menu.has_nothing:
            arm = 0
        else:
            # Where there is no nothing, the cheapest option is played at the bottom: the price of a success is 0 there.
            arm = self._propose(max(0.0, dual), allowed)
        return arm, self._menu.option(arm)

    def _propose(self, price: float, allowed: NDArray[np.bool_] | None) -> int:
        """The chooser's arm; the optimist's if it has none to offer, or else everything, which is dear and always safe."""
        try:
            return self._learner.propose(price, allowed, self.told)
        except Exception as error:
            if not self._chooser_failed:
                log.exception("the chooser failed; another plays in its place, now and whenever it fails again")
                self._warn_once(f"the chooser failed, so the optimist plays: {type(error).__name__}: {error}")
            self._chooser_failed = True
        try:
            return self._learner.optimistic(price, allowed)
        except Exception:
            return self._menu.arms - 1

    def _opening(self, allowed: NDArray[np.bool_] | None) -> tuple[int, Any] | None:
        while self._opened < self._menu.arms - 1:
            arm = self._opened
            self._opened += 1
            if allowed is None or allowed[arm]:
                return arm, self._menu.option(arm)
        return None

    def _ask(self, allowed: Any, audit: bool, now: float) -> Decision:
        self._learner.proposed = False
        decision = super()._ask(allowed, audit, now)
        if self._learner.proposed and audit:
            self._proposed.add(decision.id)
        return decision

    # --- tell

    def _settle(self, identity: int, units: int, cost: float | None) -> None:
        self._settled = identity
        super()._settle(identity, units, cost)
        self._proposed.discard(identity)

    def _give_up(self, identity: int) -> None:
        self._settled = identity
        super()._give_up(identity)
        if len(self._proposed) > 2 * len(self._ledger.expired) + len(self._ledger.pending):
            self._proposed &= {*self._ledger.expired, *self._ledger.pending}  # the rest can no longer be amended

    def _check_cost(self, arm: int, cost: float | None) -> None:
        if cost is None and self._menu.known_cost(arm) is None:
            raise InvalidArgument(
                f"cost must be told for option {self._menu.option(arm)!r}: the menu does not know what it costs"
            )

    def _learn(self, arm: int, success: float, cost: float | None, *, late: bool) -> None:
        menu, page = self._menu, self._ledger.page()
        known = menu.known_cost(arm)
        spent = cost if cost is not None else known
        booked = known if late else None  # a known cost was noted when the decision expired
        self._cost += (spent or 0.0) - (booked or 0.0)
        learned = None if spent is None or booked is not None else min(spent, menu.max_cost)
        if spent is not None and spent > menu.max_cost:
            self._warn_once(
                f"option {menu.option(arm)!r} cost {spent:g}, above max_cost {menu.max_cost:g}: the record keeps it, "
                "learning takes max_cost; set max_cost to what everything really costs"
            )
        told, price = int(page[TOLD]), self._learner.price(page)
        self._learner.learn(arm, success, learned, 0 if late else 1, told, price, self._settled in self._proposed)
        self._learner.arms[PRICE_NOW] = self._learner.price(page)  # once more: the outcome may have moved the hint

    # --- saving

    def _recipe(self) -> dict[str, Any]:
        try:
            return self._menu.recipe()
        except InvalidArgument as error:  # options or an order of one's own: they must be passed again when loading
            return {"kind": None, "why": str(error), "arms": self._menu.arms, "nothing": self._menu.has_nothing}

    def _state(self) -> dict[str, Any]:
        return {
            "menu": self._recipe(),
            "horizon": self._horizon,
            "bounds": name_of(self._learner.bounds, NAMED_BOUNDS),
            "chooser": name_of(self._learner.chooser, NAMED_CHOOSERS),
            "prices": self._prices,
            "hint": self._learner.hint(),
            "guard": None if math.isinf(self._guard) else self._guard,
            "seed": self._seed,
            "kept": self._learner.kept(),
            "proposed": sorted(self._proposed),
            "memory": written(self._learner.memory),
            "opened": self._opened,
            "tally": self._learner.rows(),
        }

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        menu: Menu | None = None,
        bounds: Bounds | None = None,
        chooser: Chooser | None = None,
        clock: Callable[[], float] = time.time,
    ) -> "Selector":
        """The selector that was saved, pending decisions included. Objects of your own must be passed again."""
        return cls.from_state(read_state(path), menu=menu, bounds=bounds, chooser=chooser, clock=clock)

    @classmethod
    def from_state(
        cls,
        state: dict[str, Any],
        *,
        menu: Menu | None = None,
        bounds: Bounds | None = None,
        chooser: Chooser | None = None,
        clock: Callable[[], float] = time.time,
    ) -> "Selector":
        """The selector that `state()` wrote down."""
        with reading(state, cls.__name__):
            if "kept" not in state:  # as it was before there was a choice
                state = {"prices": "straight", "guard": None, "seed": 0, "kept": {}, "proposed": [], **state}
            promise = Promise.from_state(state["promise"])
            selector = cls(
                same_menu(menu, state["menu"]),
                promise.target,
                state["horizon"],
                cap=promise.cap,
                step=promise.fixed_step,
                start=promise.start,
                bounds=again("bounds", bounds, state["bounds"]),
                chooser=again("chooser", chooser, state["chooser"]),
                prices=state["prices"],
                guard=state["guard"],
                seed=state["seed"],
                memory=state["memory"],
                max_pending=state["max_pending"],
                expire_after=state["expire_after"],
                clock=clock,
            )
            selector._promise = promise
            selector._restore(state)
        return selector

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._set_up()
        if state["prices"] == "curve":
            self._learner.take_hint(state["hint"])
        price = self._learner.price(self._ledger.page())
        self._learner.fill(state["tally"], self.told, price, state["kept"])
        self._proposed = {whole("proposed", identity, 0) for identity in state["proposed"]}
        self._opened = whole("opened", state["opened"], 0)
        self._open()


new = tuple.__new__
NAN = math.nan


class _Options:
    """The options by arm, for a menu that copies some of them before it hands them out."""

    def __init__(self, menu: Menu) -> None:
        self._menu = menu

    def __getitem__(self, arm: int) -> Any:
        return self._menu.option(arm)


def _prices(prices: Any, promise: Promise) -> str:
    if prices == "auto":
        return "curve" if may_curve(promise) else "straight"
    if prices not in ("curve", "straight"):
        raise InvalidArgument(f'prices must be "auto", "curve" or "straight", got {shown(prices)}')
    if prices == "curve" and not may_curve(promise):
        raise InvalidArgument('prices must be "straight" where a step is given or the start is not "safe"')
    return str(prices)


def _one_at_a_time() -> bool:
    """Whether a call of compiled code keeps all other threads out: in every Python with a global lock."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())
