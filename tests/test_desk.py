"""The short way, which takes no lock: as many decisions out as one likes, threads on both ways, and the seats themselves."""

import random
import threading
from fractions import Fraction

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from interrupt import InterruptAt

import suffice
from suffice import Menu, Selector
from suffice.book import PRICE
from suffice.kernels.compile import available
from suffice.kernels.desk import FENCE, FIRST_SEAT, FREE, SEATS, desk, seat_of
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
