"""Counts that processes keep apart: the sum is that of one book, and the promise holds however their work interleaves."""

import ast
import random
import types
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from suffice.book import EVERYTHING, NOTHING, PRICE, amend_of, ask_of, back_of, rail_of, record_of
from suffice.checks import WHOLE
from suffice.promise import Counts, Promise
from suffice.service import shards as original
from suffice.service.records import Shard

PHI = Fraction(7, 10)


@dataclass
class Out:
    """A decision that is out, or was given up."""

    kind: int
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
    told: int = 0
    units: int = 0
    issued: int = 0
    most_missing: int = 0

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.promise = Promise.make(PHI, slack=6, forgiving=self.forgiving)
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
        amend = bool(late) and (not prompt or self.rng.random() < 0.3)
        one = self.rng.choice(late if amend else prompt)
        one.locked, seen = True, dict(self.kept)
        give_up = not amend and self.rng.random() < 0.1
        self.under_way[process] = lambda: self.settle(process, seen, one, amend, give_up)

    def change(self, process: int, seen: dict[int, Shard], do: Any) -> Any:
        own = self.kept[process]
        before = self.shards.seen_by(own, seen, process)
        book = self.promise.open(before)
        result = do(book)
        after = Counts()
        after.read(book)
        self.kept[process] = Shard(self.shards.moved(own.counts, before, after))
        return result

    def ask(self, process: int) -> None:
        def do(book: Any) -> int:
            rail = rail_of(book)
            # Between the rails anything may be played; what fails most does the most harm.
            kind = rail if rail != NOTHING or not self.forgiving else PRICE
            ask_of(book, kind, False)
            book[26] += 1  # the next id
            return kind

        kind = self.change(process, self.kept, do)
        self.issued += 1
        if kind != EVERYTHING:
            self.most_missing = max(
                self.most_missing, sum(one.kind != EVERYTHING for one in self.out if not one.expired)
            )
        self.out.append(Out(kind))

    def settle(self, process: int, seen: dict[int, Shard], one: Out, amend: bool, give_up: bool) -> None:
        success = one.kind == EVERYTHING or (one.kind == PRICE and self.rng.random() < 0.35)
        units = WHOLE if success else self.rng.choice([0, 0, WHOLE // 3]) if one.kind == PRICE else 0
        units = 0 if give_up else units

        def do(book: Any) -> None:
            if amend:
                amend_of(book, one.kind, units)
            else:
                back_of(book, one.kind)
                record_of(book, one.kind, units, give_up)

        self.change(process, seen, do)
        self.units += units
        self.told += not amend
        one.expired, one.locked = give_up, False
        if not give_up:
            self.out.remove(one)

    def check(self) -> None:
        total = self.shards.summed([shard.counts for shard in self.kept.values()])
        kinds = [one.kind for one in self.out if not one.expired]
        assert (total.told, total.successes, total.next_id) == (self.told, self.units, self.issued)
        assert total.out == sum(kind != EVERYTHING for kind in kinds)
        assert total.out_mirror == sum(kind != NOTHING for kind in kinds)
        assert total.everything_lost == sum(one.expired and one.kind == EVERYTHING for one in self.out)
        assert total.missing == self.most_missing
        debt = PHI * self.told - Fraction(self.units, WHOLE)
        assert self.promise.debt(total) == debt
        assert debt <= PHI * (1 + self.most_missing) + total.everything_lost
        assert self.promise.holds(total)
        assert self.promise.sound(total)
        assert total.breaches == 0
        if not self.forgiving:
            assert -debt <= self.promise.ahead_at_most(total) + 1e-9
        else:
            # What is tracked never sinks below the floor by more than what was told side by side.
            assert float(debt) + total.forgiven >= -6 - len(self.kept)


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


def test_one_shard_is_the_book_itself() -> None:
    counts = Counts(told=5, successes=3 * WHOLE, missing=2, excess=0.5, worst_excess=0.7, settled=4)
    assert original.summed([counts]) == replace(counts, settled=-1)
    assert original.seen_by(Shard(counts), {0: Shard(counts)}, 0) == replace(counts, settled=-1)
    assert original.moved(counts, counts, replace(counts, told=6)) == replace(counts, told=6, settled=-1)


def test_excesses_add_up_and_each_goes_on_from_its_own() -> None:
    parts = {0: Shard(Counts(excess=1.0, worst_excess=2.0)), 1: Shard(Counts(excess=0.5, worst_excess=0.5))}
    total = original.total(parts).counts
    assert (total.excess, total.worst_excess) == (1.5, 2.5)
    seen = original.seen_by(parts[0], parts, 0)
    assert (seen.excess, seen.worst_excess) == (1.0, 2.0)


def test_what_is_written_is_read_again() -> None:
    shard = Shard(Counts(told=3, successes=10**15 + 7, out=-2, forgiven=0.1, excess=1e-9), 0.1 + 0.2, 12)
    assert original.read(original.write(shard)) == shard
    assert original.read(original.write(Shard())) == Shard()


# --- a check of the check: every small mistake in the sums is noticed


def _mutants() -> list[tuple[str, types.ModuleType]]:
    source = Path(str(original.__file__)).read_text()
    found = []
    swaps = [
        ("max((getattr", "min((getattr"),
        ("max(getattr(own, name), getattr(after, name))", "getattr(own, name)"),
        ("max(getattr(own, name), getattr(after, name))", "getattr(own, name) + getattr(after, name)"),
        ("getattr(own, name) + getattr(after, name) - getattr(before, name)", "getattr(after, name)"),
        (
            "getattr(own, name) + getattr(after, name) - getattr(before, name)",
            "getattr(own, name) + getattr(after, name)",
        ),
        ("if one != number", "if one == number"),
        ("[own.counts, *others]", "others"),
        ("sum(getattr(part, name) for part in some)", "max(getattr(part, name) for part in some)"),
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
