"""Counts in one shard per process: they add up to one account, and the promise holds however processes interleave."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import pytest

from suffice.numbers import ONE_SUCCESS
from suffice.promise.account import (
    FREE,
    SAFE,
    SKIP,
    Account,
    amend,
    debt,
    debt_bound,
    debt_ceiling,
    limit,
    reserve,
    settle,
    surplus_bound,
    tracked_debt,
)
from suffice.promise.rules import Promise
from suffice.service.count_shards import merge_accounts, shard_delta, visible_counts
from suffice.service.records import Shard

PHI = Fraction(7, 10)


@dataclass
class Issued:
    """A decision that is outstanding or has expired."""

    role: int
    expired: bool = False
    locked: bool = False  # a tell of it is in progress


@dataclass
class World:
    """Processes whose asks are serialised and whose tells run in parallel: a tell does not see tells in progress."""

    seed: int
    processes: int
    forgiving: bool = False
    promise: Promise = field(init=False)
    shards_of: dict[int, Shard] = field(default_factory=dict)
    issued: list[Issued] = field(default_factory=list)
    outcomes: int = 0
    units: int = 0
    most_outstanding: int = 0

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.promise = Promise.make(PHI, max_surplus=6, forgiving=self.forgiving)
        self.shards_of = {process: Shard() for process in range(self.processes)}
        self.tells: dict[int, Any] = {}  # by process: a tell in progress

    def step(self) -> None:
        process = self.rng.randrange(self.processes)
        if process in self.tells:
            self.tells.pop(process)()
            return
        late = [each for each in self.issued if each.expired and not each.locked]
        prompt = [each for each in self.issued if not each.expired and not each.locked]
        if not late + prompt or self.rng.random() < 0.45:
            self.ask(process)
            return
        is_late = bool(late) and (not prompt or self.rng.random() < 0.3)
        decision = self.rng.choice(late if is_late else prompt)
        decision.locked, seen = True, dict(self.shards_of)
        expire = not is_late and self.rng.random() < 0.1
        self.tells[process] = lambda: self.settle(process, seen, decision, is_late, expire)

    def change(self, process: int, seen: dict[int, Shard], do: Callable[[Account], Any]) -> Any:
        own = self.shards_of[process]
        before = visible_counts(self.promise.open(), own, seen, process)
        after = replace(before)
        result = do(after)
        self.shards_of[process] = Shard(shard_delta(own.counts, before, after))
        return result

    def ask(self, process: int) -> None:
        def do(account: Account) -> int:
            must = limit(account)
            # Where the limits allow a choice, the option that fails most does the most harm.
            role = must if must != SKIP or not self.forgiving else FREE
            reserve(account, role)
            return role

        role = self.change(process, self.shards_of, do)
        self.issued.append(Issued(role))
        if role != SAFE:
            outstanding = sum(each.role != SAFE for each in self.issued if not each.expired)
            self.most_outstanding = max(self.most_outstanding, outstanding)

    def settle(self, process: int, seen: dict[int, Shard], decision: Issued, late: bool, expire: bool) -> None:
        success = decision.role == SAFE or (decision.role == FREE and self.rng.random() < 0.35)
        units = ONE_SUCCESS if success else self.rng.choice([0, 0, ONE_SUCCESS // 3]) if decision.role == FREE else 0
        units = 0 if expire else units

        def do(account: Account) -> None:
            if late:
                amend(account, decision.role, account.target, units)
            else:
                settle(account, decision.role, account.target, units, expire)

        self.change(process, seen, do)
        self.units += units
        self.outcomes += not late
        decision.expired, decision.locked = expire, False
        if not expire:
            self.issued.remove(decision)

    def check(self) -> None:
        total = merge_accounts(self.promise.open(), [shard.counts for shard in self.shards_of.values()])
        roles = [each.role for each in self.issued if not each.expired]
        assert (total.outcomes, total.successes) == (self.outcomes, self.units)
        assert total.outstanding == sum(role != SAFE for role in roles)
        assert total.not_skips == sum(role != SKIP for role in roles)
        assert total.safe_lost == sum(each.expired and each.role == SAFE for each in self.issued)
        assert total.most_outstanding == self.most_outstanding
        owed = PHI * self.outcomes - Fraction(self.units, ONE_SUCCESS)
        assert Fraction(debt(total), ONE_SUCCESS) == owed
        assert owed <= PHI * max(1, self.most_outstanding) + total.safe_lost
        assert debt(total) <= debt_bound(total)
        assert debt(total) <= debt_ceiling(total)
        assert total.violations == 0
        if not self.forgiving:
            most = surplus_bound(total)
            assert most is not None
            assert -debt(total) <= most
        else:
            # The tracked debt passes the limit by no more than what was told in parallel.
            assert tracked_debt(total) >= -(6 + len(self.shards_of)) * ONE_SUCCESS


@pytest.mark.parametrize("forgiving", [False, True])
@pytest.mark.parametrize(
    ("processes", "steps"), [(1, 300), (2, 300), (4, 300), pytest.param(7, 6000, marks=pytest.mark.long)]
)
def test_the_promise_holds_over_the_sum(processes: int, steps: int, forgiving: bool) -> None:
    for seed in range(6):
        world = World(seed, processes, forgiving)
        for _ in range(steps):
            world.step()
            world.check()


def test_limits_belong_to_the_promise_and_not_to_shards() -> None:
    growing = Promise.make(PHI)
    own = Shard(Account(outcomes=50, owed=35 * ONE_SUCCESS, successes=30 * ONE_SUCCESS))
    others = Shard(Account(outcomes=50, owed=35 * ONE_SUCCESS, successes=40 * ONE_SUCCESS))
    before = visible_counts(growing.open(7), own, {0: own, 1: others}, 0)
    assert before.max_outstanding == 7
    assert before.max_surplus == pytest.approx(10 * ONE_SUCCESS)  # the root of all outcomes, not of those of one shard
    after = replace(before)
    reserve(after, FREE)
    moved = shard_delta(own.counts, before, after)
    assert moved == replace(own.counts, outstanding=1, most_outstanding=1, not_skips=1, most_not_skips=1)
