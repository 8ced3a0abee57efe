"""Theorem C at horizons at which it can fail: hostile choosers in compiled runs of a million steps."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

from suffice import Learning, Selector, optimum
from suffice.kernels.compiler import compiled
from suffice.kernels.rows import to_rows
from suffice.learning.arm_table import catch_up, cheapest, expected_debt, guard_charge, learn
from suffice.learning.guard import follows
from suffice.learning.records import Pricing
from suffice.learning.table_learner import TableLearner
from suffice.learning.tables import as_arrays
from suffice.numbers import ONE_SUCCESS
from suffice.promise.account import reserve, settle, skip
from suffice.promise.certificate import Certificate
from suffice.promise.record import SKIP, Account, Reservation
from suffice.promise.rules import MAX_DEBT
from suffice.selector.verbs import decide, is_open, lesson_of, position_of, role_of
from suffice.testing.choosers import TARGET, Coins
from tests.learning.test_guard import Hostile, theorem
from tests.support.tables import as_table, needs_compiler

ALWAYS_SAFE, WORST, RANDOM, SLEEPER, WASTER = range(5)


def attack(
    account: Any, pricing: Any, table: Any, luck: Any, chances: Any, costs: Any, way: int, worst: int, best: int,
    context_free: bool, plays: Any,
) -> int:  # fmt: skip
    """Whole steps against a hostile chooser, as a selector with a chooser of one's own takes them; how often it was asked."""
    head, asked = table.head, 0
    last = head.arms - 1
    for step in range(len(luck)):
        position = position_of(account, pricing, pricing, False)
        proposed, arm = False, -1
        if is_open(position.limit, head):
            price = max(0.0, position.price)
            proposed = follows(head)
            if not proposed:
                arm = cheapest(table, price)
            else:
                asked += 1
                arm = last
                if way == WORST or (way == WASTER and luck[step] >= chances[best]):
                    arm = worst if way == WORST else best
                elif way == RANDOM:
                    arm = int(luck[step - 1] * (last + 1))
                elif way == SLEEPER and asked < 20_000 and price > 0.0:
                    arm = cheapest(table, price)
        arm = decide(position.limit, head, arm)
        plays[arm] += 1
        units = ONE_SUCCESS if luck[step] < chances[arm] else 0
        role, unbiased = role_of(head, arm), context_free or not proposed
        if role == SKIP:
            skip(account)
        else:
            expects = expected_debt(table, arm, account.target)
            exempt = reserve(account, role, expects)
            settle(account, Reservation(role, account.target, expects, exempt), units, False)
        lesson = lesson_of(pricing, arm, units, costs[arm], position.price, True, True, unbiased)
        if not unbiased:  # as `CustomLearner` does it: charged, but no evidence
            head.gap += guard_charge(table, arm, lesson.success, lesson.cost, lesson.paid)
        due = learn(table, pricing, pricing, account, lesson, False)
        if due > 0:
            catch_up(table, due, arm, pricing.now)
    return asked


def attacked(way: int, kappa: float | None, context_free: bool, steps: int) -> float:
    """The regret of the plays after so many steps on eight arms, at shadow prices."""
    stream = Coins()
    hostile = Hostile(stream)
    # A sampler's memory, because the guard charges where there is one; `attack` asks nobody but itself.
    selector = Selector(stream.menu, TARGET, learning=Learning(chooser="thompson", guard=kappa))
    assert selector.learning.bounds == "half-log"
    assert isinstance(selector.learner, TableLearner)
    table = as_table(as_arrays(selector.learner.table.plain()), compiled=True)
    accounts, pricings = to_rows(Account, [selector.new_account()]), to_rows(Pricing, [selector.engine.pricing(0)])
    plays = np.zeros(8, dtype=np.int64)
    luck = np.random.default_rng(way).random(steps)
    asked = compiled(attack)(
        accounts[0], pricings[0], table, luck, stream.chances, stream.costs, way, hostile.worst, hostile.best,
        context_free, plays,
    )  # fmt: skip
    assert asked > 1000
    certificate = Certificate.make(selector.promise, Account(*accounts[0].item()))
    assert certificate.outcomes == steps
    assert certificate.debt <= MAX_DEBT
    best = optimum(stream.chances, stream.costs, TARGET)
    return float(plays @ (stream.costs - best.price * stream.chances) - steps * (best.cost - best.price * TARGET))


@needs_compiler
@pytest.mark.parametrize(("way", "context_free"), [*itertools.product(range(WASTER), (True, False)), (WASTER, False)])
def test_no_chooser_costs_more_than_the_theorem_allows(way: int, context_free: bool) -> None:
    """At a horizon at which always playing the safe option costs more than that, so that this could fail."""
    steps = 1_000_000
    regrets = [attacked(way, kappa, context_free, steps) for kappa in (0.1, 1.0)]
    for kappa, regret in zip((0.1, 1.0), regrets, strict=True):
        assert regret <= theorem("half-log", steps, 8, 5.0, 1.0, kappa)
        # Nor is the theorem's own constant needed: what the chooser is allowed, and what the optimist costs at its own.
        assert regret <= 5.0 * kappa * math.sqrt(8 * steps * math.log(steps)) + 20_000


@needs_compiler
@pytest.mark.parametrize("way", [ALWAYS_SAFE, SLEEPER])
def test_without_a_guard_it_costs_more(way: int) -> None:
    steps = 1_000_000
    assert attacked(way, None, True, steps) > theorem("half-log", steps, 8, 5.0, 1.0, 1.0)
