"""The price between the rails: the curve, its hint, and that neither can touch the promise."""

import itertools
import math
from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from suffice import InvalidArgument, Learning, Menu, Selector, optimum, paper, summarize
from suffice.lab.streams import LabelRanks, PredictionApis
from suffice.learning import bounds
from suffice.learning.choosers import Optimist
from suffice.learning.prices import price_at
from suffice.learning.records import Pricing

MENU = Menu({"a": 0.1, "b": 0.4}, safe="all", skip="none", safe_cost=1.0)
LARGE = Menu({i: (i + 1) / 100 for i in range(80)}, safe="all", skip="none", safe_cost=1.0)


class Naive:
    """The price, transcribed from its definition."""

    def __init__(self, target: Fraction, max_surplus: float | None) -> None:
        self.cap = float(1 / (1 - target))
        self.target, self.max_surplus = target, max_surplus
        self.outcomes, self.successes = 0, 0
        self.hint, self.block, self.end = self.cap, list[float](), 1

    def price(self) -> float:
        root = math.sqrt(max(1, self.outcomes))
        b = min(0.1 * root + 10, (self.max_surplus or root) / 3)
        x = 1 + float(self.target * self.outcomes - self.successes) / b
        if x >= 1:
            return self.cap
        if x >= 0:
            return self.hint + (self.cap - self.hint) * x**3
        return self.hint * (1 - (-x / 2) ** 3) if x >= -2 else 0.0

    def tell(self, success: bool) -> None:
        self.outcomes += 1
        self.successes += success
        self.block.append(self.price())
        if self.outcomes >= self.end:
            self.hint = sum(self.block) / len(self.block)
            self.block, self.end = [], math.ceil(1.25 * self.outcomes) + 1


@pytest.mark.parametrize("menu", [MENU, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("max_surplus", [None, 6.0])
@pytest.mark.parametrize("own", [False, True])
def test_the_price_is_the_curve_around_the_hint(menu: Menu, max_surplus: float | None, own: bool) -> None:
    class Mine(bounds.HalfLog):
        """The same bounds as an object of one's own."""

    kind: Any = Mine() if own else "auto"
    selector = Selector(
        menu, 0.8, max_surplus=max_surplus, learning=Learning(bounds=kind, chooser=Optimist() if own else "auto")
    )
    naive = Naive(Fraction(4, 5), max_surplus)
    rng = np.random.default_rng(3)
    assert selector.learning.prices == "curve"
    seen = set()
    for step in range(1500):
        assert selector.price == pytest.approx(naive.price(), rel=1e-9, abs=1e-9), step
        decision = selector.ask()
        assert decision.price == pytest.approx(naive.price(), rel=1e-9, abs=1e-9)
        success = decision.is_safe or (not decision.is_skip and bool(rng.random() < 0.88))
        selector.tell(decision, success)
        naive.tell(success)
        seen.add(round(naive.hint, 9))
        if step == 700 and not own:
            selector = Selector.from_state(selector.state())  # the hint comes along
    assert len(seen) > 8
    assert 0.0 < naive.hint < naive.cap


def test_the_curve_is_continuous_and_never_falls() -> None:
    for hint in (0.0, 0.7, 2.5, 5.0):
        pricing = Pricing(cap=5.0, start=5.0, curved=1, hint=hint)
        prices = [price_at(pricing, 0.8 * 4000 - count, 4000) for count in range(3100, 3300)]
        assert all(later <= earlier for earlier, later in itertools.pairwise(prices))
        assert max(abs(a - b) for a, b in itertools.pairwise(prices)) < 5.0 * 3.2 / 16
        assert prices[0] == 5.0
        assert prices[-1] == 0.0


@given(
    curved=st.integers(0, 1),
    changes=st.lists(
        st.tuples(st.sampled_from([0.0, -1.0, -2.5, -7.0]), st.integers(0, 3), st.sampled_from([0.0, 1.5, math.nan])),
        max_size=30,
    ),
)
def test_a_price_that_is_remembered_is_the_one_that_is_worked_out(curved: int, changes: Any) -> None:
    """Whatever is asked for in whatever order: debts that come back, outcomes too, and hints that are no numbers."""
    rules: dict[str, Any] = {"cap": 5.0, "start": 5.0, "curved": curved}
    pricing = Pricing(**rules)
    for debt, outcomes, hint in changes:
        pricing.hint = hint
        fresh = price_at(Pricing(**rules, hint=hint), debt, outcomes)
        assert price_at(pricing, debt, outcomes) == pytest.approx(fresh, abs=0, rel=0, nan_ok=True)


def test_a_hint_that_lies_cannot_break_the_promise() -> None:
    """Any number where the hint stands: the rails are tested on the debt, and never look at it."""
    rng = np.random.default_rng(0)
    selector = Selector(LARGE, 0.8)
    for step in range(3000):
        if step % 3 == 0:
            pricing = selector.engine.pricing(0)
            pricing.hint = float(rng.choice([0.0, 1e9, -1e9, 5.0, 1e-300, math.nan, math.inf]))
            selector.engine.put_pricing(0, pricing)
        decision = selector.ask()
        selector.tell(decision, decision.is_safe or (not decision.is_skip and bool(rng.random() < 0.5)))
        assert selector.debt <= 0.8
    assert selector.certificate().holds
    assert selector.certificate().consistent


def test_straight_where_the_paper_is_meant() -> None:
    assert paper(MENU, 0.8, 100).learning.prices == "straight"
    assert Selector(MENU, 0.8, step=0.1).learning.prices == "straight"
    assert Selector(MENU, 0.8, start="cheap").learning.prices == "straight"
    assert Selector(MENU, 0.8, learning=Learning(prices="straight")).learning.prices == "straight"
    with pytest.raises(InvalidArgument, match='prices must be "auto", "curve" or "straight"'):
        Selector(MENU, 0.8, learning=Learning(prices="round"))
    with pytest.raises(InvalidArgument, match='prices must be "straight" where a step is given'):
        Selector(MENU, 0.8, learning=Learning(prices="curve"), step=0.1)
    straight = Selector(MENU, 0.8, learning=Learning(prices="straight"))
    straight.tell(straight.ask(), True)
    assert straight.price == pytest.approx(5.0 * (1 - 0.2))
    assert Selector.from_state(straight.state()).learning.prices == "straight"


@pytest.mark.parametrize(
    ("stream", "target"), [(LabelRanks.cifar100(), 0.9), (PredictionApis("YELP"), 0.9)], ids=["ranks", "yelp"]
)
def test_it_is_cheaper_than_the_straight_price(stream: Any, target: float) -> None:
    """Paired runs: shadow-priced regret at T = 100,000, means of three seeds."""
    success, cost = stream.truth()
    best = optimum(success, cost, target)
    regrets = {}
    for prices in ("curve", "straight"):
        found = [
            summarize(
                Selector(stream.menu, target, learning=Learning(bounds="half-log", prices=prices)),
                stream,
                100_000,
                seed,
            )
            for seed in range(3)
        ]
        priced = [(run.cost - best.cost * run.steps) + best.price_ahead * run.debt for run in found]
        regrets[prices] = float(np.mean(priced))
        assert max(run.largest_debt for run in found) <= target
    assert regrets["curve"] < 0.7 * regrets["straight"]
