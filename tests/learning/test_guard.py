"""The guard: what it charges, when it binds, and that no chooser, however hostile, costs more than theorem C allows."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from suffice import Decision, Learning, Menu, OptionReport, Selector, optimum
from suffice.learning.custom_learner import CustomLearner
from suffice.learning.guard import allowance, follows
from suffice.learning.records import TableHead
from suffice.promise.record import FREE
from suffice.testing.choosers import STREAMS, TARGET, Coins, run_guarded

Floats = NDArray[np.float64]


def theorem(bounds: str, steps: int, count: int, cap: float, most: float, kappa: float) -> float:
    """The value of theorem C (docs/choosers.md), for known costs and the curve of prices."""
    root, inner, level = math.sqrt(steps), count - 2, math.log(2 * steps)
    drift = 35 * root + 101 * math.log(steps) + 460
    short = 64 + 7.3 * root * (1 if bounds == "half-log" else 2)
    short += 2.42 * math.sqrt(count * steps) if bounds == "interval-closure" else 0.0
    widths = (
        inner + 2 * math.sqrt(inner * steps * (level + 2 * math.log(1 + level))) + 1.9 * inner * math.log(1 + level)
    )
    guard = kappa * math.sqrt(count * steps * math.log(steps)) + root + 1
    return cap * (drift + short + widths + guard) + most


# --- when it binds


@given(
    kappa=st.floats(1e-6, 1e3),
    cap=st.floats(0.1, 1e3),
    arms=st.integers(2, 10**6),
    told=st.integers(0, 10**12),
    share=st.floats(-2.0, 2.0),
)
def test_the_allowance(kappa: float, cap: float, arms: int, told: int, share: float) -> None:
    head = TableHead(kappa=kappa, ceiling=cap, arms=arms, steps=told)
    step = max(told + 1, 2)
    allowed = allowance(head)
    assert allowed == pytest.approx(kappa * cap * math.sqrt(arms * step * math.log(step)), rel=1e-12)
    assert allowance(TableHead(kappa=kappa, ceiling=cap, arms=arms, steps=told + 1)) >= allowed > 0
    head.gap = share * allowed
    assert follows(head) == (share <= 1.0)
    head.kappa = math.inf
    assert follows(head)


# --- what it charges


class Echo:
    """Proposes what it is told to."""

    name, context_free = "echo", True
    arm = 0

    def choose(self, price: float, bounds: Any, allowed: Any) -> int:
        return self.arm


def gap_of(selector: Selector) -> float:
    return selector.learner.head.gap


def naive_charge(
    selector: Selector, rows: list[OptionReport], decision: Decision, success: float, cost: float | None
) -> float:
    """What this outcome adds to the gap, from the price when it was asked and what anyone can see before it is counted."""
    menu, cap, arm = selector.menu, float(selector.promise.cap), decision.arm
    price = min(max(decision.price, 0.0), cap)
    if (arm == menu.n_arms - 1 and price >= cap) or (menu.has_skip and arm == 0 and price <= 0):
        return 0.0
    known = menu.known_cost(arm) if cost is None else cost
    spent = menu.safe_cost if known is None else known
    return spent - price * success - min(row.lower_cost - price * row.upper_success for row in rows)


GAPS: dict[str, Menu] = {
    "chain": Menu.top_k([5, 10, 20, 50], classes=100, skip=True),
    "intervals": Menu.intervals(step=0.2, skip=True),
    "told": Menu.thresholds(0, 1, step=0.125, skip=True, safe_cost=1.0),
    "no skip": Menu.top_k([5, 10, 20, 50], classes=100, skip=False),
    "large": Menu.top_k(range(1, 90), classes=100, skip=True),
}


@pytest.mark.parametrize("menu", GAPS.values(), ids=GAPS.keys())
@pytest.mark.parametrize("guard", [1.0, 0.03])
@pytest.mark.parametrize("late", [False, True], ids=["prompt", "late"])
def test_the_gap_is_what_a_trace_adds_up_to(menu: Menu, guard: float, late: bool) -> None:
    """In flat memory and by objects, followed and not, across changes of the hint; late outcomes at the price of the ask.

    A skip is counted when it is asked, and a safe play that was lost when its outcome arrives.
    """
    echo = Echo()
    ours = Selector(menu, TARGET, learning=Learning(chooser="thompson", guard=guard))
    own = Selector(menu, TARGET, learning=Learning(chooser=echo, guard=guard))
    assert isinstance(own.learner, CustomLearner)
    rng = np.random.default_rng(3)
    naive, bound, hints = 0.0, 0, set()
    out: list[Any] = []
    for step in range(1400):
        bound += not follows(ours.learner.head)
        rows = ours.options()
        one = ours.ask()
        if one.is_skip:
            naive += naive_charge(ours, rows, one, 0.0, 0.0)
        echo.arm = one.arm
        other = own.ask()
        assert (one.arm, one.price) == (other.arm, other.price), f"step {step}"
        out.append((one, other))
        while len(out) > (4 if late and step % 100 > 30 else 0):
            first, second = out.pop(int(rng.integers(len(out))))
            share = first.arm / (menu.n_arms - 1)
            success = first.is_safe or (not first.is_skip and rng.random() < share**0.5)
            cost = None if menu.costs is not None else share * float(rng.random())
            lost = late and step % 41 == 0
            failed = lost and not first.is_safe
            if not first.is_skip:
                rows = ours.options()
                naive += naive_charge(ours, rows, first, 0.0 if failed else success, None if failed else cost)
            for selector, decision in ((ours, first), (own, second)):
                if lost:
                    selector.expire(decision)
                selector.tell(decision, success, cost)
        hints.add(ours.engine.pricing(0).hint)
        assert gap_of(ours) == pytest.approx(naive, rel=1e-9, abs=1e-9)
        assert gap_of(own) == pytest.approx(naive, rel=1e-9, abs=1e-9)
    assert len(hints) > 8
    assert (bound > 100) == (guard < 0.1)


def between(selector: Selector) -> bool:
    return selector.engine.position(0).limit == FREE


@given(
    seed=st.integers(0, 10**6),
    target=st.sampled_from([0.5, 0.7, 0.9]),
    name=st.sampled_from(["chain", "intervals", "told", "no skip"]),
    luck=st.floats(0.2, 2.0),
)
@settings(max_examples=20, deadline=None)
def test_a_guard_that_binds_leaves_the_optimist(seed: int, target: float, name: str, luck: float) -> None:
    """Once the gap is beyond reach, the arms are those of chooser="optimist" with the same bounds and memory."""
    menu = GAPS[name]
    rng = np.random.default_rng(seed)
    spent = Selector(menu, target, learning=Learning(chooser="thompson", guard=1e-9), seed=seed).state()
    spent["learner"]["gap"] = 1e9
    echo = Echo()
    beyond = Selector(menu, target, learning=Learning(chooser=echo, guard=1e-9))
    beyond.learner.head.gap = 1e9
    plain = Selector(menu, target, learning=Learning(chooser="optimist"))
    selectors = [Selector.from_state(spent), beyond, plain]
    for _ in range(200):
        decisions = [selector.ask() for selector in selectors]
        assert len({(decision.arm, decision.price) for decision in decisions}) == 1
        arm = decisions[0].arm
        share = (arm / (menu.n_arms - 1)) ** luck
        success = bool(decisions[0].is_safe or (not decisions[0].is_skip and rng.random() < share))
        cost = None if menu.costs is not None else 0.5 * share
        for selector, decision in zip(selectors, decisions, strict=True):
            selector.tell(decision, success, cost)


# --- hostile choosers


def endure(stream: Any, chooser: "Hostile", kappa: float | None, steps: int) -> tuple[float, float]:
    """A run with the checks of the contract, in which the chooser sees the latents; and its plays are no evidence."""
    selector = Selector(stream.menu, TARGET, learning=Learning(chooser=chooser, guard=kappa, memory="full"))
    learner, calls, unfair = selector.learner, 0, 0

    def before(latent: object) -> None:
        nonlocal calls, unfair
        assert isinstance(learner, CustomLearner)
        assert learner.inner is not None
        unfair += chooser.calls > calls and not learner.context_free
        assert learner.inner.columns()[0].sum() == selector.outcomes - unfair
        assert learner.inner.head.epoch_end >= selector.outcomes  # of the present epoch, followed or not
        chooser.latent, calls = latent, chooser.calls

    return run_guarded(selector, stream, steps, before=before)


class Hostile:
    """Knows the truth, this step's latent, and what every arm would do in it."""

    name = "hostile"
    stream: Any
    latent: Any = None

    def __init__(self, stream: Any, target: float = TARGET) -> None:
        self.stream = stream
        self.success, self.cost = stream.truth()
        best = optimum(self.success, self.cost, target)
        self.best = int(np.argmax(best.weights))
        self.worst = int(np.argmax(self.cost - best.price * self.success))
        self.rng = np.random.default_rng(0)
        self.calls = 0

    def works(self, arm: int) -> bool:
        return bool(self.stream.outcome(self.latent, arm, 0.0)[0])

    def choose(self, price: float, bounds: Any, allowed: Any) -> Any:
        self.calls += 1
        return self.propose(price, bounds)

    def propose(self, price: float, bounds: Any) -> Any:
        raise NotImplementedError


class AlwaysSafe(Hostile):
    def propose(self, price: float, bounds: Any) -> Any:
        return len(bounds.upper) - 1


class Worst(Hostile):
    def propose(self, price: float, bounds: Any) -> Any:
        return self.worst


class Random(Hostile):
    def propose(self, price: float, bounds: Any) -> Any:
        return self.rng.integers(len(bounds.upper))


class Sleeper(Hostile):
    """Good until it is trusted, and then the safe option, above all where a success is worth nothing."""

    def propose(self, price: float, bounds: Any) -> Any:
        if self.calls > 500 or price == 0.0:
            return len(bounds.upper) - 1
        return int((bounds.lower - price * bounds.upper).argmin())


class Waster(Hostile):
    """Plays the best option where it fails, else the safe option: nobody shall learn that the best is good."""

    def propose(self, price: float, bounds: Any) -> Any:
        return len(bounds.upper) - 1 if self.works(self.best) else self.best


class Quitter(Hostile):
    """Gives up exactly where the optimist's option is about to fail, so that this is what is seen of it."""

    def propose(self, price: float, bounds: Any) -> Any:
        optimistic = int((bounds.lower - price * bounds.upper).argmin())
        if not self.works(optimistic):
            raise RuntimeError("not today")
        return len(bounds.upper) - 1


class Fickle(Waster):
    """Says of itself now this, now that."""

    answers: Iterator[bool] = itertools.cycle([False, True])

    @property
    def context_free(self) -> bool:
        return next(self.answers)


class Liar(Hostile):
    lies: tuple[Any, ...] = (10**30, -1, None, math.nan, "3", 2.5, True, [1], object(), math.inf, 10**6, b"1", {})

    def propose(self, price: float, bounds: Any) -> Any:
        return self.lies[self.calls % len(self.lies)]


ASKED = {0.1: 1, 0.2: 3, 1.0: 11}  # how often any of these is asked at least, by the guard
HOSTILE = [AlwaysSafe, Worst, Random, Sleeper, Waster, Quitter, Fickle, Liar]


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS.keys())
@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("kappa", ASKED)
@pytest.mark.filterwarnings("ignore::suffice.SufficeWarning")
def test_hostile_choosers_break_nothing(stream: Any, kind: type[Hostile], kappa: float) -> None:
    steps, chooser = 700, kind(stream)
    regret, priced = endure(stream, chooser, kappa, steps)
    menu, bounds = stream.menu, Selector(stream.menu, TARGET).learning.bounds
    assert isinstance(bounds, str)
    limit = theorem(bounds, steps, menu.n_arms, menu.safe_cost / (1 - TARGET), menu.safe_cost, kappa)
    assert max(regret, priced) <= limit
    assert chooser.calls >= ASKED[kappa]


def test_the_safe_option_is_charged_where_a_success_is_worth_nothing() -> None:
    """Above the lower rail the price may be 0; whoever plays the safe option there must not do so for free, or for ever."""
    stream = Coins()
    selector = Selector(stream.menu, TARGET, learning=Learning(chooser=AlwaysSafe(stream), guard=None), max_surplus=500)
    while selector.price > 0.0:
        selector.tell(selector.ask(), True)
    before = gap_of(selector)
    assert between(selector)
    for _ in range(20):
        decision = selector.ask()
        assert decision.is_safe
        selector.tell(decision, True)
    assert gap_of(selector) == pytest.approx(before + 20.0)


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS.keys())
def test_what_a_chooser_is_shown_is_for_reading(stream: Any) -> None:
    learner: Any = Selector(stream.menu, TARGET, learning=Learning(chooser=AlwaysSafe(stream))).learner
    for column in (learner.view.upper, learner.view.lower):
        with pytest.raises(ValueError, match="read-only"):
            column[1] = 0.5


def test_the_evidence_is_saved(tmp_path: Any) -> None:
    """What was proposed and is still out when the selector is saved is no evidence when it comes back, either."""
    stream = Coins()
    made = [Selector(stream.menu, TARGET, learning=Learning(chooser=Worst(stream), guard=0.2)) for _ in range(2)]
    rng = np.random.default_rng(2)
    unfair = 0
    out: list[Any] = []
    for step, latent in enumerate(stream.draw(rng, 700)):
        waits = any(not unbiased for *_, unbiased, _ in made[1].state()["outstanding"])
        if step % 150 == 100 or (waits and unfair < 20):
            unfair += waits
            made[1].save(tmp_path / "state.json")
            made[1] = Selector.load(tmp_path / "state.json", learning=Learning(chooser=Worst(stream)))
        asked = [selector.ask() for selector in made]
        assert asked[0].arm == asked[1].arm, f"step {step}"
        out.append((latent, asked[0].arm, [decision.id for decision in asked]))
        while len(out) > 3:
            past, arm, ids = out.pop(int(rng.integers(len(out))))
            for selector, identity in zip(made, ids, strict=True):
                if step % 37 == 0:
                    selector.expire(identity)
                selector.tell(identity, stream.outcome(past, arm, 0.0)[0])
    one, other = (selector.state() for selector in made)
    assert one["learner"] == other["learner"]
    assert one["outstanding"] == other["outstanding"]
    assert unfair == 20
