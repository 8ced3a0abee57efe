"""Many threads, forks and copies."""

import copy
import os
import pickle
import random
import threading
from fractions import Fraction

import pytest

import suffice
from suffice import Decision, Menu, Selector, ThresholdSelector
from tests.support.threads import meanwhile, together

MENU = Menu({"a": 0.1, "b": 0.4}, safe="all", skip="none", safe_cost=1.0)
LARGE = Menu({i: i / 100 for i in range(80)}, safe="all", skip="none", safe_cost=1.0)


def play(selector: Selector) -> None:
    """One ask and one tell."""
    decision = selector.ask()
    selector.tell(decision, decision.option == "all")


@pytest.mark.parametrize("in_flight", [200, 3, 0])
@pytest.mark.parametrize("menu", [MENU, pytest.param(LARGE, marks=pytest.mark.compiled)], ids=["small", "large"])
def test_many_threads(menu: Menu, in_flight: int) -> None:
    """Eight threads ask, tell late, lose, amend and save: exact counts, and the promise with the certificate's own D."""
    selector = Selector(menu, 0.7, in_flight=in_flight)
    told = [[0, 0] for _ in range(8)]

    def count(number: int, success: float) -> None:
        told[number][0] += 1
        told[number][1] += int(success)

    def work(number: int) -> None:
        rng, out = random.Random(number), list[Decision]()
        for step in range(400):
            rare = number % 3 == 2 and step % 5 == 0
            decision = selector.ask(available=[*menu.options[:1], "all"]) if rare else selector.ask()
            if decision.is_skip:  # it was settled when it was asked
                count(number, 0)
                continue
            out.append(decision)
            if menu is MENU or step % 20 == 0:
                assert selector.certificate().holds
            if number == 1 and step % 50 == 0:
                state = selector.state()
                counts = state["accounts"][0]["counts"]
                assert counts["outcomes"] + len(state["outstanding"]) == state["next_id"]
                assert counts["outstanding"] <= counts["pending"] == len(state["outstanding"])
            while len(out) > rng.randint(0, 3):
                decision = out.pop(rng.randrange(len(out)))
                success = decision.is_safe or rng.random() < 0.5
                if rng.random() < 0.05 and decision.option != "all":
                    selector.expire(decision)
                selector.tell(decision, success)
                count(number, success)
        for decision in out:
            selector.tell(decision, decision.option == "all")
            count(number, decision.option == "all")

    together(work, 8)
    certificate = selector.certificate()
    assert (selector.outcomes, selector.successes) == (sum(t[0] for t in told), sum(t[1] for t in told))
    assert selector.outcomes == 3200 == sum(row.plays for row in selector.options())
    assert selector.pending == 0
    assert menu is MENU or selector._ask_fast(selector._address, 0, 0.0)[0] == 3200  # the fast path is open again
    assert certificate.debt <= certificate.debt_at_most
    assert certificate.violations == 0
    assert certificate.debt_at_most <= 5 + 0.7 * in_flight + 1e-9
    assert certificate.debt == float(Fraction(7, 10) * selector.outcomes - int(selector.successes))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))], ids=["deepcopy", "pickle"])
@pytest.mark.parametrize("kind", ["selector", pytest.param("large", marks=pytest.mark.compiled), "threshold"])
def test_a_copy_has_the_same_history_and_a_life_of_its_own(copied: object, kind: str) -> None:
    menu = LARGE if kind == "large" else MENU
    selector = ThresholdSelector(0, 1, 0.7) if kind == "threshold" else Selector(menu, 0.7)
    selector.tell(selector.ask(), True)
    pending = selector.ask()
    other = copied(selector)  # type: ignore[operator]
    assert other.state() == selector.state()
    other.tell(pending, True)  # a decision that was out when the copy was made can be told to either
    assert (other.outcomes, selector.outcomes) == (2, 1)
    selector.tell(pending, False)
    mine, theirs = selector.ask(), other.ask()
    assert mine.id == theirs.id
    with pytest.raises(suffice.ForeignDecision):
        other.tell(mine, True)
    other.tell(theirs, True)
    selector.tell(mine, True)


def test_pickling_while_others_write() -> None:
    selector = Selector(MENU, 0.7)
    with meanwhile(lambda: play(selector)):
        for _ in range(100):
            other = pickle.loads(pickle.dumps(selector))
            assert other.outcomes == sum(row.plays for row in other.options())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # forking with threads is what is tested here
def test_a_fork_starts_whole_and_unlocked() -> None:
    """Fork again and again while another thread is busy: every child can use the selector at once."""
    selector = Selector(MENU, 0.7)
    with meanwhile(lambda: play(selector)):
        for _ in range(30):
            key = selector.ask(audit=False).selector
            child = os.fork()
            if child == 0:
                try:
                    told = selector.outcomes
                    whole = told == sum(row.plays for row in selector.options())
                    decision = selector.ask()
                    selector.tell(decision, True)
                    whole = whole and decision.selector != key  # the parent would not take it for one of its own
                    os._exit(0 if whole and selector.outcomes == told + 1 else 1)
                except BaseException:
                    os._exit(2)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("count", "first", "after"), [("rate", "outcomes", 1.0), ("debt", "owed", -3.3)])
def test_counts_are_read_at_one_instant(
    count: str, first: str, after: float, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tell in another thread waits until all counts of a reading are read."""
    selector = Selector(Menu({"a": 0.1, "b": 0.4}, safe="all", safe_cost=1.0), 0.7, max_surplus=20)
    if compiled and not selector.compile():
        pytest.skip("needs the extra fast")
    for _ in range(10):
        selector.tell(selector.ask(), True)
    teller = threading.Thread(target=selector.tell, args=(selector.ask(), True))
    sum_of = selector.engine.sum_of

    def slow_sum_of(name: str) -> int:
        found = sum_of(name)
        if name == first and teller.ident is None:
            teller.start()
            teller.join(0.2)  # it ends where nothing makes it wait
        return found

    monkeypatch.setattr(selector.engine, "sum_of", slow_sum_of)
    read = getattr(selector, count)
    teller.join()
    assert read == pytest.approx(after)
    assert selector.outcomes == 11
