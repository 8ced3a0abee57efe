"""The short way, which takes no lock: as many decisions out as one likes, threads on both ways, and the seats themselves."""

import contextlib
import os
import pickle
import random
import subprocess
import sys
import threading
import weakref
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from interrupt import InterruptAt

import suffice
from suffice import Menu, Selector, fence
from suffice.book import PRICE
from suffice.controller import Controller
from suffice.kernels.compile import available
from suffice.kernels.desk import FENCE, FIRST_SEAT, FREE, SEATS, desk, seat_of
from suffice.kernels.layout import CEILING, MARGIN
from suffice.pending import LEAVING, Entry, Pending
from suffice.records import Decision

pytestmark = pytest.mark.skipif(not available(), reason="needs the extra fast")

MENU = Menu({i: i / 100 for i in range(80)}, everything="all", nothing="none")


def seated(selector: Selector) -> int:
    return int((selector._desk[FIRST_SEAT : FIRST_SEAT + 2 * SEATS : 2] != FREE).sum())


def test_more_decisions_out_than_there_are_seats() -> None:
    selector, rng = Selector(MENU, 0.8), random.Random(0)
    out: list[Decision] = []
    for _ in range(4000):
        out.append(selector.ask())
        if len(out) > 3 * SEATS:
            decision = out.pop(rng.randrange(len(out)))
            selector.tell(decision, decision.option == "all" or rng.random() < 0.7)
    assert selector.pending == len(out) == 3 * SEATS
    assert seated(selector) <= SEATS
    again = Selector.from_state(selector.state())
    rng.shuffle(out)
    for decision in out:
        selector.tell(decision, True)
        again.tell(decision, True)
        with pytest.raises(suffice.AlreadyTold):
            selector.tell(decision, True)
    for one in (selector, again):
        assert (one.told, one.pending) == (4000, 0)
        counts = one.state()["counts"]
        assert counts["out"] == counts["out_mirror"] == 0
        assert one.certificate().sound
        assert one.certificate().holds
    assert again.cost == pytest.approx(selector.cost)
    assert seated(selector) == 0


def test_a_decision_lives_through_the_reuse_of_its_seat() -> None:
    selector = Selector(MENU, 0.8)
    first = selector.ask()
    for _ in range(2 * SEATS + 5):
        selector.tell(selector.ask(), True)
    assert selector.pending == 1
    selector.tell(first, False)
    assert selector.pending == 0
    assert selector.told == 2 * SEATS + 6
    with pytest.raises(suffice.AlreadyTold):
        selector.tell(first, False)


def test_what_the_short_way_does_not_take_comes_to_the_long_way() -> None:
    selector = Selector(MENU, 0.8)
    unaudited = selector.ask(audit=False)
    with pytest.raises(suffice.InvalidArgument, match="audit=False"):
        selector.tell(unaudited, True)
    decision = selector.ask()
    for cost in ("0.5", float("nan"), -0.1, float("inf")):
        with pytest.raises(suffice.InvalidArgument):
            selector.tell(decision, True, cost)  # type: ignore[arg-type]
    for forged in (decision._replace(id=decision.id + SEATS), decision._replace(id=-1), decision._replace(id=10**30)):
        with pytest.raises(suffice.SufficeError):
            selector.tell(forged, True)
    assert (selector.told, selector.pending) == (0, 1)
    selector.tell(decision._replace(arm=3), True)  # what was asked is what counts, not what the record says
    assert selector.arms()[-1].plays == 1
    told = Selector(Menu(range(80), everything="all"), 0.8)
    told.tell(told.ask(), True)
    with pytest.raises(suffice.InvalidArgument, match="cost must be told"):
        told.tell(told.ask(), True)
    with pytest.warns(suffice.SufficeWarning, match="above max_cost"):
        told.tell(1, True, 7.5)
    assert told.cost == 8.5


def test_threads_on_both_ways_at_once() -> None:
    """Asks and tells on the short way, while others ask with conditions, expire, save and look."""
    selector = Selector(MENU, Fraction(4, 5))
    problems: list[BaseException] = []
    told = [0] * 6
    start = threading.Barrier(6)

    def work(number: int) -> None:
        rng = random.Random(number)
        mine: list[Decision] = []
        try:
            start.wait(10)
            for step in range(1500):
                if number % 3 == 2 and step % 5 == 0:
                    mine.append(selector.ask(available=[1, 5, 9]))
                else:
                    mine.append(selector.ask())
                if number == 1 and step % 50 == 0:
                    state = selector.state()
                    counts = state["counts"]
                    assert counts["told"] + len(state["pending"]) == counts["next_id"]
                    assert counts["out_mirror"] <= len(state["pending"])
                    assert selector.certificate().sound
                if len(mine) > rng.randrange(8):
                    decision = mine.pop(rng.randrange(len(mine)))
                    if number == 0 and step % 20 == 0:
                        selector.expire(decision)
                    else:
                        selector.tell(decision, decision.option == "all" or rng.random() < 0.6)
                    told[number] += 1
            for decision in mine:
                selector.tell(decision, True)
                told[number] += 1
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not problems
    assert selector.told == sum(told) == 6 * 1500
    assert selector.pending == 0
    assert selector._desk[FENCE] == 0.0
    assert sum(row.plays for row in selector.arms()) == selector.told
    certificate = selector.certificate()
    assert certificate.sound
    assert not certificate.breach


def test_a_look_at_the_arms_is_of_one_instant() -> None:
    selector = Selector(MENU, 0.8)
    stop = threading.Event()

    def play() -> None:
        while not stop.is_set():
            selector.tell(selector.ask(), True)

    thread = threading.Thread(target=play, daemon=True)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        for _ in range(300):
            rows = selector.arms()
            assert sum(row.plays for row in rows) == 0 or sum(row.share for row in rows) == pytest.approx(1.0)
            assert all((row.success or 0.0) <= 1.0 for row in rows)
    finally:
        stop.set()
        thread.join(10)
        sys.setswitchinterval(before)


FIRST_USE = """
import threading
import suffice
menu = suffice.Menu({i: i / 100 for i in range(80)}, everything="all", nothing="none")
start, done = threading.Barrier(4), []
def use():
    start.wait()
    selector = suffice.Selector(menu, 0.9)
    for _ in range(50):
        selector.tell(selector.ask(), True)
    done.append(selector.told)
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


def test_the_cost_comes_along(monkeypatch: pytest.MonkeyPatch) -> None:
    selector = Selector(MENU, 0.8)
    for _ in range(30):
        selector.tell(selector.ask(), True)
    packed = pickle.dumps(selector)
    assert pickle.loads(packed).cost == selector.cost > 0
    monkeypatch.setenv("SUFFICE_NO_COMPILE", "1")
    plain = pickle.loads(packed)
    assert plain._desk is None
    assert plain.cost == plain.state()["cost"] == pytest.approx(selector.cost)


def test_amended_costs_never_sum_below_zero() -> None:
    menu = Menu({i: i / 1000 for i in range(80)}, everything="all", nothing="none", max_cost=0.15)
    selector = Selector(menu, 0.8)
    decisions = selector.ask_many(7)
    for decision in decisions:
        selector.expire(decision)
    for decision in decisions:
        selector.tell(decision, True, 0.0)
    assert selector.cost == 0.0
    assert Selector.from_state(selector.state()).cost == 0.0


def test_a_loaded_selector_has_the_envelope_of_its_own_cap() -> None:
    selector = Selector(MENU, 0.8, cap=1e9)
    again = Selector.from_state(selector.state())
    assert again._learner.arms[CEILING] == selector._learner.arms[CEILING] == 1e9
    assert again._learner.arms[MARGIN] == selector._learner.arms[MARGIN]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_fork_while_a_selector_is_being_made() -> None:
    """Another thread is in the middle of the constructor: the child can use old selectors and make new ones."""
    old = Selector(MENU, 0.8)
    half = Selector.__new__(Selector)
    Controller.__init__(half, old._promise, max_pending=None, expire_after=None, clock=lambda: 0.0)
    child = os.fork()
    if child == 0:
        done: list[int] = []

        def use() -> None:
            for selector in (old, Selector(MENU, 0.8)):
                selector.tell(selector.ask(), True)
                done.append(selector.told)

        thread = threading.Thread(target=use, daemon=True)
        thread.start()
        thread.join(20)
        os._exit(0 if done == [1, 1] else 1)
    assert os.waitpid(child, 0)[1] == 0
    old.tell(old.ask(), True)
    assert old.told == 1


def test_an_interrupt_around_a_fork_leaves_no_lock_held(monkeypatch: pytest.MonkeyPatch) -> None:
    selector = Selector(MENU, 0.8)
    monkeypatch.setattr(fence, "_controllers", weakref.WeakSet([selector]))  # not those of other tests
    for line in range(1, 60):
        try:
            with InterruptAt(line):
                fence._before_fork()
        except KeyboardInterrupt:
            finished = False
        else:
            finished = True
        with contextlib.suppress(KeyboardInterrupt), InterruptAt(line):
            fence._after_fork()
        fence._after_fork()
        told: list[int] = []
        thread = threading.Thread(target=lambda: told.append(selector.certificate().told), daemon=True)  # noqa: B023
        thread.start()
        thread.join(10)
        assert told == [0], line
        if finished:
            break
    assert finished


def test_without_a_global_lock_the_short_way_stays_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys._is_gil_enabled", lambda: False, raising=False)
    selector = Selector(MENU, 0.8)
    selector.tell(selector.ask(), True)
    assert selector._desk[FENCE] == 1.0
    assert selector.told == 1


# --- the seats against a dict


def empty() -> Pending:
    cells = desk([0.0] * 32, [], 1e9)
    return Pending({}, cells, [PRICE] * 100)


class Seats(RuleBasedStateMachine):
    """A Pending with seats holds what a dict would hold, also when moving somebody out is interrupted."""

    @initialize()
    def begin(self) -> None:
        self.pending, self.model, self.next = empty(), dict[int, Entry](), 0

    @rule(arm=st.integers(0, 99), skip=st.sampled_from([0, 1, SEATS - 1, SEATS]), timed=st.booleans())
    def ask(self, arm: int, skip: int, timed: bool) -> None:
        self.next += skip
        entry = (arm, PRICE, 5.0 if timed else 0.0, True)
        self.pending[self.next] = self.model[self.next] = entry
        self.next += 1

    @rule(line=st.integers(1, 12))
    def interrupted_ask(self, line: int) -> None:
        entry = (7, PRICE, 0.0, True)
        try:
            with InterruptAt(line):
                self.pending[self.next] = entry
        except KeyboardInterrupt:
            self.pending.pop(self.next, None)  # an id that was not issued: the next ask writes it again
        else:
            self.model[self.next] = entry
            self.next += 1

    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        if self.model:
            identity = data.draw(st.sampled_from(sorted(self.model)))
            assert self.pending.pop(identity) == self.model.pop(identity)
            assert identity not in self.pending

    @invariant()
    def the_same(self) -> None:
        if hasattr(self, "pending"):
            assert list(self.pending.items()) == list(self.model.items())
            assert len(self.pending) == len(self.model)
            assert self.next not in self.pending
            assert -1 not in self.pending


Seats.TestCase.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
TestSeats = Seats.TestCase


@pytest.mark.parametrize("how", ["tell", "expire"])
def test_what_the_long_way_has_counted_the_short_way_does_not_count_again(how: str) -> None:
    counted = 0
    for line in range(1, 500):
        selector = Selector(MENU, 0.8)
        decision = selector.ask()
        try:
            with InterruptAt(line):
                selector.tell(decision.id, True) if how == "tell" else selector.expire(decision.id)
        except KeyboardInterrupt:
            pass
        else:
            break
        counted += selector.told
        try:
            selector.tell(decision, True)
        except suffice.AlreadyTold:
            assert selector.told == 1
        assert (selector.told, selector.pending) == (1, 0)
        for _ in range(2 * SEATS):
            selector.tell(selector.ask(), True)
        with pytest.raises(suffice.AlreadyTold):
            selector.tell(decision, True)
        assert (selector.told, selector.pending) == (1 + 2 * SEATS, 0)
    assert counted > 2


def test_the_seat_of_one_that_is_being_moved_is_nobodys_for_the_short_way() -> None:
    struck = 0
    for line in range(1, 500):
        selector = Selector(MENU, 0.8)
        first = selector.ask()
        for _ in range(SEATS - 1):
            selector.tell(selector.ask(), True)
        try:
            with InterruptAt(line):
                selector.ask()
        except KeyboardInterrupt:
            struck += bool(selector._desk[seat_of(0)] <= LEAVING)
        else:
            break
        told = selector.told
        selector.tell(first, True)
        with pytest.raises(suffice.AlreadyTold):
            selector.tell(first, True)
        for _ in range(2 * SEATS):
            selector.tell(selector.ask(), True)
        with pytest.raises(suffice.AlreadyTold):
            selector.tell(first, True)
        assert selector.told == told + 1 + 2 * SEATS
        assert selector.pending <= 1
    assert struck >= 2
