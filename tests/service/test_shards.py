"""Counts that processes keep apart: the sum is that of one account, and the promise holds however their work interleaves."""

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
class Out:
    """A decision that is out, or was given up."""

    role: int
    expired: bool = False
    locked: bool = False  # being told


@dataclass
class World:
    """Processes that ask in turns and tell side by side: a tell does not see what others tell while it is under way."""

    seed: int
    processes: int
    forgiving: bool = False
    shards: Any = original
    promise: Promise = field(init=False)
    kept: dict[int, Shard] = field(default_factory=dict)
    out: list[Out] = field(default_factory=list)
    outcomes: int = 0
    units: int = 0
    most_outstanding: int = 0

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.promise = Promise.make(PHI, max_surplus=6, forgiving=self.forgiving)
        self.kept = {one: Shard() for one in range(self.processes)}
        self.under_way: dict[int, Any] = {}  # by process: a tell that has begun, to be ended

    def step(self) -> None:
        process = self.rng.randrange(self.processes)
        if process in self.under_way:
            self.under_way.pop(process)()
            return
        late = [one for one in self.out if one.expired and not one.locked]
        prompt = [one for one in self.out if not one.expired and not one.locked]
        if not late + prompt or self.rng.random() < 0.45:
            self.ask(process)
            return
        late_one = bool(late) and (not prompt or self.rng.random() < 0.3)
        one = self.rng.choice(late if late_one else prompt)
        one.locked, seen = True, dict(self.kept)
        give_up = not late_one and self.rng.random() < 0.1
        self.under_way[process] = lambda: self.settle(process, seen, one, late_one, give_up)

    def change(self, process: int, seen: dict[int, Shard], do: Callable[[Account], Any]) -> Any:
        own = self.kept[process]
        before = self.shards.visible_counts(self.promise.open(), own, seen, process)
        after = replace(before)
        result = do(after)
        self.kept[process] = Shard(self.shards.shard_delta(own.counts, before, after))
        return result

    def ask(self, process: int) -> None:
        def do(account: Account) -> int:
            must = limit(account)
            # Between the limits anything may be played; what fails most does the most harm.
            role = must if must != SKIP or not self.forgiving else FREE
            reserve(account, role)
            return role

        role = self.change(process, self.kept, do)
        self.out.append(Out(role))
        if role != SAFE:
            outstanding = sum(one.role != SAFE for one in self.out if not one.expired)
            self.most_outstanding = max(self.most_outstanding, outstanding)

    def settle(self, process: int, seen: dict[int, Shard], one: Out, late: bool, give_up: bool) -> None:
        success = one.role == SAFE or (one.role == FREE and self.rng.random() < 0.35)
        units = ONE_SUCCESS if success else self.rng.choice([0, 0, ONE_SUCCESS // 3]) if one.role == FREE else 0
        units = 0 if give_up else units

        def do(account: Account) -> None:
            if late:
                amend(account, one.role, account.target, units)
            else:
                settle(account, one.role, account.target, units, give_up)

        self.change(process, seen, do)
        self.units += units
        self.outcomes += not late
        one.expired, one.locked = give_up, False
        if not give_up:
            self.out.remove(one)

    def check(self) -> None:
        total = self.shards.merge_accounts(self.promise.open(), [shard.counts for shard in self.kept.values()])
        roles = [one.role for one in self.out if not one.expired]
        assert (total.outcomes, total.successes) == (self.outcomes, self.units)
        assert total.outstanding == sum(role != SAFE for role in roles)
        assert total.not_skips == sum(role != SKIP for role in roles)
        assert total.safe_lost == sum(one.expired and one.role == SAFE for one in self.out)
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
            # What is tracked never sinks below the limit by more than what was told side by side.
            assert tracked_debt(total) >= -(6 + len(self.kept)) * ONE_SUCCESS


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


def test_limits_are_those_of_the_promise_and_no_shard_keeps_them() -> None:
    growing = Promise.make(PHI)
    own = Shard(Account(outcomes=50, owed=35 * ONE_SUCCESS, successes=30 * ONE_SUCCESS))
    others = Shard(Account(outcomes=50, owed=35 * ONE_SUCCESS, successes=40 * ONE_SUCCESS))
    before = original.visible_counts(growing.open(7), own, {0: own, 1: others}, 0)
    assert before.max_outstanding == 7
    assert before.max_surplus == pytest.approx(10 * ONE_SUCCESS)  # the root of all outcomes, not of its own
    after = replace(before)
    reserve(after, FREE)
    moved = original.shard_delta(own.counts, before, after)
    assert moved == replace(own.counts, outstanding=1, most_outstanding=1, not_skips=1, most_not_skips=1)


def test_shortfalls_add_up_and_each_goes_on_from_its_own() -> None:
    parts = {0: Shard(Account(shortfall=10, worst_shortfall=20)), 1: Shard(Account(shortfall=5, worst_shortfall=5))}
    total = original.merge_shards(parts).counts
    assert (total.shortfall, total.worst_shortfall) == (15, 25)
    seen = original.visible_counts(Account(), parts[0], parts, 0)
    assert (seen.shortfall, seen.worst_shortfall) == (10, 20)


def test_what_is_written_is_read_again() -> None:
    counts = Account(outcomes=3, successes=10**15 + 7, outstanding=-2, forgiven=10**8, shortfall=1)
    shard = Shard(counts, asked=11, cost=0.1 + 0.2, events=12)
    assert original.read(original.write(shard)) == shard
    assert original.read(original.write(Shard())) == Shard()


# --- a check of the check: every small mistake in the sums is noticed


def _mutants() -> list[tuple[str, types.ModuleType]]:
    # What adds up is a function of another module: in the mutants it stands with the others.
    imported = "from suffice.promise.group_certificate import add_counts\n"
    source = Path(str(original.__file__)).read_text()
    assert imported in source
    source = source.replace(imported, "") + "\n\n" + inspect.getsource(add_counts)
    found = []
    swaps = [
        ("max(getattr(whole, name), getattr(part, name))", "min(getattr(whole, name), getattr(part, name))"),
        ("max(getattr(own, name), getattr(after, name))", "getattr(own, name)"),
        ("max(getattr(own, name), getattr(after, name))", "getattr(own, name) + getattr(after, name)"),
        ("getattr(own, name) + getattr(after, name) - getattr(before, name)", "getattr(after, name)"),
        (
            "getattr(own, name) + getattr(after, name) - getattr(before, name)",
            "getattr(own, name) + getattr(after, name)",
        ),
        ("{**shards, number: own}", "{number: own}"),
        ("{**shards, number: own}", "{one: shard for one, shard in shards.items() if one != number}"),
        ("getattr(whole, name) + getattr(part, name)", "max(getattr(whole, name), getattr(part, name))"),
    ]
    for old, new in swaps:
        assert old in source, old
        made = types.ModuleType("mutant")
        exec(compile(ast.parse(source.replace(old, new, 1)), "mutant", "exec"), made.__dict__)
        found.append((f"{old} -> {new}", made))
    return found


@pytest.mark.parametrize(("what", "module"), _mutants(), ids=lambda one: one if isinstance(one, str) else "")
def test_a_mistake_in_the_sums_is_noticed(what: str, module: types.ModuleType) -> None:
    def attack() -> None:
        for seed in range(20):
            storm(seed, 3, seed % 2 == 1, shards=module)

    with pytest.raises(AssertionError):
        attack()
