"""Counts in one shard per process: they add up to one account, and the promise holds however processes interleave."""

import ast
import inspect
import random
import types
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
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
from suffice.promise.group_certificate import add_counts
from suffice.promise.rules import Promise
from suffice.service import count_shards as original
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
    shards: Any = original
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
        before = self.shards.visible_counts(self.promise.open(), own, seen, process)
        after = replace(before)
        result = do(after)
        self.shards_of[process] = Shard(self.shards.shard_delta(own.counts, before, after))
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
        total = self.shards.merge_accounts(self.promise.open(), [shard.counts for shard in self.shards_of.values()])
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


def storm(seed: int, processes: int, forgiving: bool, steps: int = 300, shards: Any = original) -> None:
    world = World(seed, processes, forgiving, shards)
    for _ in range(steps):
        world.step()
        world.check()


@pytest.mark.parametrize("forgiving", [False, True])
@pytest.mark.parametrize("processes", [1, 2, 4])
def test_the_promise_holds_over_the_sum(processes: int, forgiving: bool) -> None:
    for seed in range(6):
        storm(seed, processes, forgiving)


@pytest.mark.long
@pytest.mark.parametrize("forgiving", [False, True])
def test_the_promise_holds_over_the_sum_for_long(forgiving: bool) -> None:
    for seed in range(60):
        storm(1000 + seed, 1 + seed % 7, forgiving, 2000)


def test_one_shard_is_the_account_itself() -> None:
    counts = Account(
        outcomes=5,
        owed=4 * ONE_SUCCESS,
        successes=3 * ONE_SUCCESS,
        most_outstanding=2,
        shortfall=ONE_SUCCESS // 2,
        worst_shortfall=ONE_SUCCESS,
    )
    assert original.merge_accounts(Account(), [counts]) == counts
    assert original.visible_counts(Account(), Shard(counts), {0: Shard(counts)}, 0) == counts
    assert original.shard_delta(counts, counts, replace(counts, outcomes=6)) == replace(counts, outcomes=6)


def test_limits_belong_to_the_promise_and_not_to_shards() -> None:
    growing = Promise.make(PHI)
    own = Shard(Account(outcomes=50, owed=35 * ONE_SUCCESS, successes=30 * ONE_SUCCESS))
    others = Shard(Account(outcomes=50, owed=35 * ONE_SUCCESS, successes=40 * ONE_SUCCESS))
    before = original.visible_counts(growing.open(7), own, {0: own, 1: others}, 0)
    assert before.max_outstanding == 7
    assert before.max_surplus == pytest.approx(10 * ONE_SUCCESS)  # the root of all outcomes, not of those of one shard
    after = replace(before)
    reserve(after, FREE)
    moved = original.shard_delta(own.counts, before, after)
    assert moved == replace(own.counts, outstanding=1, most_outstanding=1, not_skips=1, most_not_skips=1)


def test_shortfalls_add_up_and_each_process_continues_its_own() -> None:
    parts = {0: Shard(Account(shortfall=10, worst_shortfall=20)), 1: Shard(Account(shortfall=5, worst_shortfall=5))}
    total = original.merge_shards(parts).counts
    assert (total.shortfall, total.worst_shortfall) == (15, 25)
    seen = original.visible_counts(Account(), parts[0], parts, 0)
    assert (seen.shortfall, seen.worst_shortfall) == (10, 20)


def test_a_shard_is_read_as_it_was_written() -> None:
    counts = Account(outcomes=3, successes=10**15 + 7, outstanding=-2, forgiven=10**8, shortfall=1)
    shard = Shard(counts, asked=11, cost=0.1 + 0.2, events=12)
    assert original.read(original.write(shard)) == shard
    assert original.read(original.write(Shard())) == Shard()


# --- mutation check: every small mistake in the sums is detected


def _mutants() -> list[tuple[str, types.ModuleType]]:
    # `add_counts` is in another module: mutants have a copy of it.
    imported = "from suffice.promise.group_certificate import add_counts\n"
    source = Path(str(original.__file__)).read_text()
    assert imported in source
    source = source.replace(imported, "") + "\n\n" + inspect.getsource(add_counts)
    found = []
    swaps = [
        ("max(getattr(whole, name), getattr(part, name))", "min(getattr(whole, name), getattr(part, name))"),
        ("max(getattr(stored, name), getattr(after, name))", "getattr(stored, name)"),
        ("max(getattr(stored, name), getattr(after, name))", "getattr(stored, name) + getattr(after, name)"),
        ("getattr(stored, name) + getattr(after, name) - getattr(before, name)", "getattr(after, name)"),
        (
            "getattr(stored, name) + getattr(after, name) - getattr(before, name)",
            "getattr(stored, name) + getattr(after, name)",
        ),
        ("{**shards, number: shard}", "{number: shard}"),
        ("{**shards, number: shard}", "{other: part for other, part in shards.items() if other != number}"),
        ("getattr(whole, name) + getattr(part, name)", "max(getattr(whole, name), getattr(part, name))"),
    ]
    for old, new in swaps:
        assert old in source, old
        made = types.ModuleType("mutant")
        exec(compile(ast.parse(source.replace(old, new, 1)), "mutant", "exec"), made.__dict__)
        found.append((f"{old} -> {new}", made))
    return found


@pytest.mark.parametrize(("what", "module"), _mutants(), ids=lambda one: one if isinstance(one, str) else "")
def test_a_mistake_in_the_sums_is_detected(what: str, module: types.ModuleType) -> None:
    def attack() -> None:
        for seed in range(20):
            storm(seed, 3, seed % 2 == 1, shards=module)

    with pytest.raises(AssertionError):
        attack()
