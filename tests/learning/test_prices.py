"""The price between the limits: the curve, its hint, and that neither can touch the promise."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from suffice import InvalidArgument, Learning, Menu, Rule, Selector, optimum, paper, summarize
from suffice.lab.streams import LabelRanks, PredictionApis
from suffice.learning import bounds
from suffice.learning.choosers import Optimist
from suffice.learning.prices import price_at
from suffice.learning.records import Pricing
from suffice.numbers import ONE_SUCCESS
from suffice.promise.account import grow, limit, reserve
from suffice.promise.record import FREE, Account
from suffice.promise.rules import Promise

MENU = Menu({"a": 0.1, "b": 0.4}, safe="all", skip="none", safe_cost=1.0)
LARGE = Menu({i: (i + 1) / 100 for i in range(80)}, safe="all", skip="none", safe_cost=1.0)


def price_now(pricing: Pricing, account: Account) -> float:
    """The present price."""
    return price_at(pricing, account, limit(account))


class Naive:
    """The price, transcribed from its definition, and what is expected of the decisions that are outstanding."""

    def __init__(self, target: Fraction, max_surplus: float | None, arms: int) -> None:
        self.cap = float(1 / (1 - target))
        self.target, self.max_surplus = target, max_surplus
        self.outcomes, self.successes = 0, 0
        self.records = [[0, 0] for _ in range(arms)]  # plays and successes
        self.expected = Fraction(0)
        self.hint, self.block, self.end = self.cap, list[float](), 1

    def surplus(self) -> float:
        """Rounded down to a billionth."""
        most = min(math.sqrt(max(1, self.outcomes)), 40.0) if self.max_surplus is None else self.max_surplus
        return math.floor(most * 10**9 * (1.0 - 2.0**-40)) / 10**9

    def price(self) -> float:
        top = float(5 - self.target) + 1e-9  # a billionth is the smallest change of a debt
        debt = self.target * self.outcomes - self.successes
        b = min(0.1 * math.sqrt(max(1, self.outcomes)) + 10, (self.surplus() + top) / 3)
        x = 1 + (float(debt + self.expected) - top) / b
        if x >= 1 or debt + self.target > 5:
            return self.cap
        if x >= 0:
            return self.hint + (self.cap - self.hint) * x**3
        return self.hint * (1 - (-x / 2) ** 3) if x >= -2 else 0.0

    def expects(self, arm: int, last: int) -> Fraction:
        """The target, less the share of successes with two plays added that fail half as often as the target allows."""
        plays, successes = self.records[arm]
        share = Fraction(1) if arm == last else (successes + 1 + self.target) / Fraction(plays + 2)
        return self.target - Fraction(int(share * 10**9), 10**9)

    def tell(self, arm: int, success: bool) -> None:
        self.outcomes += 1
        self.successes += success
        self.records[arm][0] += 1
        self.records[arm][1] += success
        self.block.append(self.price())
        if self.outcomes >= self.end:
            self.hint = sum(self.block) / len(self.block)
            self.block, self.end = [], math.ceil(1.25 * self.outcomes) + 1


@pytest.mark.parametrize("late", [0, 5], ids=["prompt", "late"])
@pytest.mark.parametrize("menu", [MENU, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("max_surplus", [None, 6.0])
@pytest.mark.parametrize("own", [False, True])
def test_the_price_is_the_curve_around_the_hint(menu: Menu, max_surplus: float | None, own: bool, late: int) -> None:
    class Mine(bounds.HalfLog):
        """The same bounds as an object of one's own."""

    kind: Any = Mine() if own else "auto"
    learning = Learning(bounds=kind, chooser=Optimist() if own else "auto")
    selector = Selector(menu, 0.8, max_surplus=max_surplus, learning=learning)
    naive = Naive(Fraction(4, 5), max_surplus, menu.n_arms)
    rng = np.random.default_rng(3)
    assert selector.learning.prices == "curve"
    seen, out = set(), list[Any]()
    for step in range(1500):
        assert selector.price == pytest.approx(naive.price(), rel=1e-9, abs=1e-9), step
        decision = selector.ask()
        assert decision.price == pytest.approx(naive.price(), rel=1e-9, abs=1e-9)
        if decision.is_skip:
            naive.tell(0, False)
        else:
            expects = naive.expects(decision.arm, menu.n_arms - 1)
            naive.expected += expects
            out.append((decision, expects))
        while len(out) > late:
            first, expects = out.pop(0)
            success = first.is_safe or bool(rng.random() < 0.88)
            selector.tell(first, success)
            naive.expected -= expects
            naive.tell(first.arm, success)
        seen.add(round(naive.hint, 9))
        if step == 700 and not own:
            selector = Selector.from_state(selector.state())  # the hint comes along
    assert len(seen) > 8
    assert 0.0 < naive.hint < naive.cap


def account_at(debt: float, outcomes: int, **limits: Any) -> Account:
    """An account with so many outcomes, and this debt."""
    account = Promise.make(0.8, **limits).open()
    account.outcomes, account.owed = outcomes, account.target * outcomes
    account.successes = account.owed - round(debt * ONE_SUCCESS)
    grow(account)
    return account


def test_the_curve_is_continuous_and_never_falls() -> None:
    for hint in (0.0, 0.7, 2.5, 5.0):
        pricing = Pricing(cap=5.0, curved=1, hint=hint)
        prices = [price_now(pricing, account_at(5.0 - count / 10, 4000)) for count in range(460)]
        assert all(later <= earlier for earlier, later in itertools.pairwise(prices))
        assert max(abs(a - b) for a, b in itertools.pairwise(prices)) < 5.0 * 3.1 / 14.7 / 10
        assert prices[0] == prices[7] == 5.0
        assert prices[8] == pytest.approx(5.0, abs=1e-8)  # 4.2 are owed, and one failure would make 5 of it
        assert prices[9] < 5.0 or hint == 5.0
        assert price_now(pricing, account_at(4.2 - 44.2 / 3, 4000)) == pytest.approx(hint, abs=1e-8)
        assert prices[-1] == 0.0


def test_where_a_limit_forces_the_safe_option_the_price_is_the_cap() -> None:
    pricing = Pricing(cap=5.0, curved=1, hint=0.5)
    account = account_at(-10.0, 4000, in_flight=10)
    free = latest = price_now(pricing, account)
    assert free < 0.51
    for pending in range(1, 40):
        reserve(account, FREE, 0)  # expected to succeed as often as the target says
        price, room = price_now(pricing, account), 5.0 + 0.8 * 10 - (-10.0 + 0.8 * pending)
        assert (price == 5.0) == (room < 0.8)
        assert price == free or room < 15.0  # it rises only as the exposure comes near its limit
        assert price >= latest
        latest = price


def test_a_hint_that_lies_cannot_break_the_promise() -> None:
    """Any number where the hint stands: the limits are tested on the account, and never look at it."""
    rng = np.random.default_rng(0)
    selector = Selector(LARGE, 0.8)
    for step in range(3000):
        if step % 3 == 0:
            pricing = selector.engine.pricing(0)
            pricing.hint = float(rng.choice([0.0, 1e9, -1e9, 5.0, 1e-300, math.nan, math.inf]))
            selector.engine.put_pricing(0, pricing)
        decision = selector.ask()
        selector.tell(decision, decision.is_safe or (not decision.is_skip and bool(rng.random() < 0.5)))
        assert selector.debt <= 5
    assert selector.certificate().holds
    assert selector.certificate().consistent


def test_straight_where_the_paper_is_meant() -> None:
    assert paper(MENU, 0.8, 100).learning.prices == "straight"
    assert Selector(MENU, 0.8, rule=Rule(step=0.1)).learning.prices == "straight"
    assert Selector(MENU, 0.8, rule=Rule("cheap", horizon=100)).learning.prices == "straight"
    assert Selector(MENU, 0.8, rule=Rule()).learning.prices == "curve"
    assert Selector(MENU, 0.8, learning=Learning(prices="straight")).learning.prices == "straight"
    with pytest.raises(InvalidArgument, match='prices must be "auto", "curve" or "straight"'):
        Selector(MENU, 0.8, learning=Learning(prices="round"))
    with pytest.raises(InvalidArgument, match='prices must be "straight" where a rule has a step, or a start'):
        Selector(MENU, 0.8, learning=Learning(prices="curve"), rule=Rule(step=0.1))
    straight = Selector(MENU, 0.8, learning=Learning(prices="straight"))
    assert straight.price == pytest.approx(5.0 * (0 + 1) / (4.2 + 1))  # from −1, the most to be banked, to 5 − 0.8
    straight.tell(straight.ask(), True)
    assert straight.price == pytest.approx(5.0 * (-0.2 + 1) / (4.2 + 1))
    assert Selector.from_state(straight.state()).learning.prices == "straight"
    ruled = Selector(MENU, 0.8, learning=Learning(prices="straight"), rule=Rule())
    ruled.tell(ruled.ask(), True)
    assert ruled.price == pytest.approx(5.0 * (1 - 0.2))


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
        assert max(run.largest_debt for run in found) <= 5
    assert regrets["curve"] < 0.3 * regrets["straight"]
