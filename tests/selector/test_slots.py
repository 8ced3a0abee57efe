"""The fast path, which takes no lock: any number of decisions out, threads on both paths, and the slots themselves."""

import contextlib
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import suffice
from suffice import Menu, Rule, Selector
from suffice.promise.record import FREE
from suffice.selector import reentrancy
from suffice.selector.compiled import SLOTS, CompiledEngine
from suffice.selector.compiled_calls import EMPTY
from suffice.selector.controller import Controller
from suffice.selector.entries import Entry
from tests.support.interrupt import InterruptAt
from tests.support.threads import meanwhile

pytestmark = pytest.mark.compiled

MENU = Menu({i: i / 100 for i in range(80)}, safe="all", skip="none", safe_cost=1.0)
WITHOUT = Menu({i: i / 100 for i in range(80)}, safe="all", safe_cost=1.0)  # a skip waits for nothing


def engine_of(selector: Selector) -> CompiledEngine:
    engine = selector.engine
    assert isinstance(engine, CompiledEngine)
    return engine


def ids(selector: Selector) -> list[int]:
    """The decisions in the slots."""
    found: list[int] = engine_of(selector)._array("slots")["id"].tolist()
    return found


def in_slots(selector: Selector) -> int:
    return sum(one != EMPTY for one in ids(selector))


@pytest.mark.parametrize("out", [0, SLOTS // 2 - 1, SLOTS, 5 * SLOTS + 3])
def test_there_are_as_many_slots_as_are_needed(out: int) -> None:
    """They double when most are taken; the fast path can tell every outstanding decision, and none is in the overflow."""
    selector = Selector(WITHOUT, 0.8)
    decisions = selector.ask_many(out)
    slots, engine = ids(selector), engine_of(selector)
    assert len(slots) == max(SLOTS, 1 << (max(out, 1) - 1).bit_length())
    assert not engine._overflow
    assert sorted(one for one in slots if one != EMPTY) == [decision.id for decision in decisions]
    assert all(slots[one.id % len(slots)] == one.id for one in decisions)
    assert len(engine._arrays) == 4  # those that were replaced are released
    for decision in decisions:
        assert selector._tell_fast(selector._address, decision.id, 0, 0.5) > 0
    assert selector.outcomes == out
    assert len(selector.engine.entries()) == 0


def test_what_the_fast_path_declines_takes_the_slow_path() -> None:
    selector = Selector(MENU, 0.8, max_debt=0)
    unaudited = selector.ask(audit=False)
    with pytest.raises(suffice.InvalidArgument, match="audit=False"):
        selector.tell(unaudited, True)
    decision = selector.ask()
    for cost in ("0.5", float("nan"), -0.1, float("inf")):
        with pytest.raises(suffice.InvalidArgument):
            selector.tell(decision, True, cost)  # type: ignore[arg-type]
    for forged in (decision._replace(id=decision.id + SLOTS), decision._replace(id=-1), decision._replace(id=10**30)):
        with pytest.raises(suffice.SufficeError):
            selector.tell(forged, True)
    assert (selector.outcomes, selector.pending) == (0, 1)
    selector.tell(decision._replace(arm=3), True)  # what was asked is what counts, not what the record says
    assert selector.options()[-1].plays == 1
    told = Selector(Menu(range(80), safe="all", safe_cost=1.0), 0.8, max_debt=0)
    told.tell(told.ask(), True)
    while (unknown := told.ask()).is_safe:
        told.tell(unknown, True)
    cost = told.cost
    with pytest.raises(suffice.InvalidArgument, match="cost must be told"):
        told.tell(unknown, True)
    with pytest.warns(suffice.SufficeWarning, match="above safe_cost"):
        told.tell(unknown.id, True, 7.5)
    assert told.cost == cost + 7.5


def fast_path_is_open(selector: Selector) -> bool:
    """Whether asks and tells may take the fast path."""
    return int(engine_of(selector)._header["locked"][0]) == 0


def test_reads_while_all_arrays_grow() -> None:
    """A read never finds an array that was replaced and released."""
    selector = Selector(MENU, 0.8)

    def read() -> None:
        assert selector.pending >= 0 <= selector.cost
        assert all(group.cost >= 0.0 <= group.pending for group in selector.groups.values())

    with meanwhile(read):
        decisions = [selector.ask_many(7, group=f"{number}") for number in range(300)]
    assert selector.pending == 2100
    assert len(engine_of(selector)._arrays) == 4  # those that were replaced are released
    selector.tell_many((decision, True) for seven in decisions for decision in seven)
    assert [group.outcomes for group in selector.groups.values()] == [7] * 300


def test_a_report_on_the_options_is_of_one_instant() -> None:
    selector = Selector(MENU, 0.8)
    with meanwhile(lambda: selector.tell(selector.ask(), True)):
        for _ in range(300):
            rows = selector.options()
            assert sum(row.plays for row in rows) == 0 or sum(row.share for row in rows) == pytest.approx(1.0)
            assert all((row.success or 0.0) <= 1.0 for row in rows)


FIRST_USE = """
import threading
import suffice
menu = suffice.Menu({i: i / 100 for i in range(80)}, safe="all", skip="none")
start, done = threading.Barrier(4), []
def use():
    start.wait()
    selector = suffice.Selector(menu, 0.9)
    for _ in range(50):
        selector.tell(selector.ask(), True)
    done.append(selector.outcomes)
threads = [threading.Thread(target=use) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert done == [50] * 4, done
"""


@pytest.mark.long
def test_the_first_use_may_be_from_many_threads(tmp_path: Path) -> None:
    """With nothing compiled yet: a twin that is called before its callees are in place would be spoilt for good."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", FIRST_USE], env=environment, check=True, timeout=300)


def test_amended_costs_never_sum_below_zero() -> None:
    menu = Menu({i: i / 1000 for i in range(80)}, safe="all", skip="none", safe_cost=0.15)
    selector = Selector(menu, 0.8)
    decisions = selector.ask_many(7)
    for decision in decisions:
        selector.expire(decision)
    for decision in decisions:
        selector.tell(decision, True, 0.0)
    assert selector.cost == 0.0
    assert Selector.from_state(selector.state()).cost == 0.0


def test_a_loaded_selector_has_the_envelope_of_its_own_cap() -> None:
    selector = Selector(MENU, 0.8, rule=Rule(cap=1e9))
    again = Selector.from_state(selector.state())
    assert again.learner.head.ceiling == selector.learner.head.ceiling == 1e9
    assert again.learner.head.margin == selector.learner.head.margin


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_fork_while_a_selector_is_being_made() -> None:
    """Another thread is in the middle of the constructor: the child can use old selectors and make new ones."""
    old = Selector(MENU, 0.8)
    half = Selector.__new__(Selector)
    Controller.__init__(half, old.promise, MENU, expire_after=None, on_event=None, clock=lambda: 0.0)
    child = os.fork()
    if child == 0:
        done: list[int] = []

        def use() -> None:
            for selector in (old, Selector(MENU, 0.8)):
                selector.tell(selector.ask(), True)
                done.append(selector.outcomes)

        thread = threading.Thread(target=use, daemon=True)
        thread.start()
        thread.join(20)
        os._exit(0 if done == [1, 1] else 1)
    assert os.waitpid(child, 0)[1] == 0
    old.tell(old.ask(), True)
    assert old.outcomes == 1


def test_an_interrupt_around_a_fork_leaves_no_lock_held(monkeypatch: pytest.MonkeyPatch) -> None:
    selector = Selector(MENU, 0.8)
    monkeypatch.setattr(reentrancy, "_controllers", weakref.WeakSet([selector]))  # not those of other tests
    for line in range(1, 60):
        try:
            with InterruptAt(line):
                reentrancy._before_fork()
        except KeyboardInterrupt:
            finished = False
        else:
            finished = True
        with contextlib.suppress(KeyboardInterrupt), InterruptAt(line):
            reentrancy._after_fork()
        reentrancy._after_fork()
        told: list[int] = []
        thread = threading.Thread(target=lambda: told.append(selector.certificate().outcomes), daemon=True)  # noqa: B023
        thread.start()
        thread.join(10)
        assert told == [0], line
        if finished:
            break
    assert finished


def test_without_a_global_lock_the_fast_path_stays_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys._is_gil_enabled", lambda: False, raising=False)
    selector = Selector(MENU, 0.8)
    selector.tell(selector.ask(), True)
    assert not fast_path_is_open(selector)
    assert selector.outcomes == 1


# --- the slots against a dict


class Slots(RuleBasedStateMachine):
    """An engine with slots holds what a dict would hold, also when growing or moving somebody out is interrupted."""

    @initialize(grown=st.booleans())
    def begin(self, grown: bool) -> None:
        self.selector = Selector(MENU, 0.8)
        self.engine, self.model = engine_of(self.selector), dict[int, Entry]()
        self.target = self.selector.promise.target
        for arm in range(SLOTS + 1 if grown else 0):
            self.ask(arm % 80, 0, False)

    def entry(self, arm: int, asked_at: float) -> Entry:
        return Entry(0, arm, FREE, self.target, asked_at=asked_at)

    @rule(arm=st.integers(0, 79), skip=st.sampled_from([0, 1, SLOTS - 1, SLOTS]), timed=st.booleans())
    def ask(self, arm: int, skip: int, timed: bool) -> None:
        self.engine.next_id += skip
        entry = self.entry(arm, 5.0 if timed else 0.0)
        identity = self.engine.issue(entry)
        assert identity not in self.model
        self.model[identity] = entry

    @rule(line=st.integers(1, 25))
    def interrupted_ask(self, line: int) -> None:
        before, entry = self.engine.next_id, self.entry(7, 0.0)
        with contextlib.suppress(KeyboardInterrupt), InterruptAt(line):
            self.engine.issue(entry)
        if self.engine.next_id > before:
            self.model[before] = entry

    @rule(data=st.data(), expired=st.booleans(), line=st.integers(1, 25))
    def settle(self, data: st.DataObject, expired: bool, line: int) -> None:
        if not self.model:
            return
        identity = data.draw(st.sampled_from(sorted(self.model)))
        entry, told = self.engine.entry(identity), self.engine.account(0).outcomes
        assert entry == self.model[identity]
        with contextlib.suppress(KeyboardInterrupt), InterruptAt(line):
            self.engine.settle(identity, entry, 0, expired=expired)
        if self.engine.account(0).outcomes > told:
            del self.model[identity]
        assert (self.engine.entry(identity) is None) == (identity not in self.model)
        gone = expired and identity not in self.model
        assert (self.engine.expired_entry(identity) is not None) == gone

    @invariant()
    def the_same(self) -> None:
        if hasattr(self, "model"):
            assert self.engine.entries() == sorted(self.model.items())
            assert self.engine.pending() == len(self.model) == self.engine.account(0).outstanding
            assert self.engine.entry(self.engine.next_id) is None
            assert self.engine.entry(-1) is None
            before = 5.0
            late = [one for one, entry in sorted(self.model.items()) if entry.asked_at < before]
            self.engine.expire_after = 0.0
            assert self.engine.overdue(before) == late


Slots.TestCase.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
TestSlots = Slots.TestCase
