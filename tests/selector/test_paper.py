"""`suffice.paper` and its projected baseline against a transcription of the paper that shares no code with them."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import suffice
from suffice import InvalidArgument, Menu, Selector
from suffice.lab.rivals import Projected
from suffice.lab.streams import Trap
from tests.support.naive import NaivePaper, NaiveProjected

Judge = Callable[[int, int], tuple[float, float]]


def compare(method: suffice.Selector | Projected, naive: NaivePaper, horizon: int, judge: Judge) -> list[int]:
    """Play both on the same outcomes and stop at the first difference."""
    arms = []
    for t in range(horizon):
        decision = method.ask()
        assert decision.arm == naive.choose(), f"step {t}"
        assert decision.price == pytest.approx(naive.price(), abs=1e-12)
        success, cost = judge(t, decision.arm)
        naive.observe(decision.arm, success, cost)
        method.tell(decision, success, cost)
        arms.append(decision.arm)
    return arms


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("projected", [False, True])
def test_same_arm_at_every_step(seed: int, projected: bool) -> None:
    rng = np.random.default_rng(seed)
    target = Fraction(int(rng.integers(1, 100)), 100)
    horizon = int(rng.choice([50, 200, 400, 900, 1000]))
    scale = int(rng.choice([1, 5, 20]))
    safe_cost = int(rng.choice([1, 1, 2, 7]))
    menu = suffice.Menu(range(int(rng.integers(1, 40))), safe="all", skip="none", safe_cost=safe_cost)
    n = menu.n_arms
    truth = np.concatenate([[0.0], np.sort(rng.random(n - 2)), [1.0]])
    price = np.concatenate([[0.0], np.sort(rng.random(n - 2)) * safe_cost, [safe_cost]])

    def judge(t: int, arm: int) -> tuple[float, float]:
        if t == horizon // 2:
            truth[1:-1] = rng.random(n - 2)  # the world shifts
        noise = rng.random() if 0 < arm < n - 1 else 1.0
        return float(rng.random() < truth[arm]), float(price[arm] * noise)

    step = scale / math.sqrt(horizon)
    naive_kind, kind = (NaiveProjected, Projected) if projected else (NaivePaper, suffice.paper)
    naive = naive_kind(n, target, horizon, step, Fraction(scale**2, horizon), Fraction(safe_cost))
    method = kind(menu, target, horizon, None if scale == 1 else step)
    assert len(set(compare(method, naive, horizon, judge))) > 1


@pytest.mark.parametrize("projected", [False, True])
def test_same_arm_in_the_three_arm_trap(projected: bool) -> None:
    stream = Trap()
    works = stream.draw(np.random.default_rng(0), 2000)
    naive_kind, kind = (NaiveProjected, Projected) if projected else (NaivePaper, suffice.paper)
    naive = naive_kind(3, Fraction(1, 2), 2000, 0.05, Fraction(1, 400), Fraction(1))
    method = kind(stream.menu, 0.5, 2000, 0.05)
    arms = compare(method, naive, 2000, lambda t, arm: stream.outcome(works[t], arm, 0.0))
    outage = np.array(arms[stream.first : stream.last])
    if projected:
        assert not (outage == 2).any()  # the lemma: the safe option is never played, so nothing succeeds
        assert method.price == pytest.approx(0.0) or method.debt > 200
    else:
        assert (outage == 2).sum() > 200
        assert -0.5 < method.debt <= 2 / 0.05 + 0.5


def test_the_certificate_begins_after_the_first_round() -> None:
    menu = suffice.Menu(["a", "b", "c"], safe="all", skip="none", safe_cost=1.0)
    selector = suffice.paper(menu, 0.8, 100)
    opening = [selector.ask() for _ in range(3)]
    assert [decision.option for decision in opening] == ["a", "b", "c"]
    for decision in opening:
        selector.tell(decision, False, 0.5)
    assert selector.certificate().outcomes == 0
    assert [row.plays for row in selector.options()] == [0, 1, 1, 1, 0]
    selector.tell(selector.ask(), False)
    assert selector.certificate().outcomes == 1


def test_paper_needs_a_skip_and_a_horizon() -> None:
    with pytest.raises(suffice.InvalidArgument, match="menu must have a skip option"):
        suffice.paper(suffice.Menu(["a"], safe="all", safe_cost=1.0), 0.8, 100)
    with pytest.raises(suffice.InvalidArgument, match="horizon must be given"):
        suffice.paper(suffice.Menu(["a"], safe="all", skip=0, safe_cost=1.0), 0.8, None)  # type: ignore[arg-type]


def test_the_first_round_begins_before_the_first_decision() -> None:
    """Its plays are not counted, so a later one would hide failures."""
    selector = Selector(Menu(["a"], safe="b", costs=[0.1], safe_cost=1.0), 0.9)
    selector.tell(selector.ask(), True)
    with pytest.raises(InvalidArgument, match="before the first decision"):
        selector.begin_first_round()
    assert (selector.outcomes, selector.pending) == (1, 0)
