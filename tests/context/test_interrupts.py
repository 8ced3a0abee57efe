"""Interrupts, signal handlers and threads leave a selector with a model whole."""

import copy
import random

import pytest

from suffice import Selector
from suffice.promise.record import SKIP
from suffice.selector.records import Decision
from tests.support.context_models import ENGINES, MENUS, SMALL, tell, use_engine
from tests.support.interrupt import CallAt, InterruptAt
from tests.support.looking import in_slots, model_of, noted, unfair
from tests.support.threads import together


def release_lock(selector: Selector) -> None:
    """Release the lock after an interrupt where no signal can strike: on leaving a `with`, before its exit is called."""
    if "unlocked" not in repr(selector.lock):
        selector.lock.release()


def before_new_knots() -> Selector:
    """A selector whose next context is the 32nd, which changes the meaning of the features."""
    selector = Selector(SMALL, 0.6, model="auto")
    rng = random.Random(1)
    for step in range(31):
        decision = selector.ask(context={"x": rng.random(), "task": "ab"[step % 2]})
        tell(selector, decision, rng.random() < 0.6)
    return selector


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("what", ["ask", "tell"])
def test_an_interrupt_at_any_line(what: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C while features and weights change, the selector can be used, saved and loaded."""
    use_engine(engine, monkeypatch)
    ready = before_new_knots()
    stride = 7 if engine == "plain" else 3
    for line in range(1, 2000, stride):
        selector = copy.deepcopy(ready)
        decision = selector.ask(context={"x": 0.4, "task": "b"}) if what == "tell" else None
        outcomes = selector.outcomes
        try:
            with InterruptAt(line):
                if decision is None:
                    selector.ask(context={"x": 0.3, "task": "new"})
                else:
                    selector.tell(decision, True)
        except KeyboardInterrupt:
            release_lock(selector)
        else:
            break
        for one in (Selector.from_state(selector.state()), selector):
            assert one.outcomes in (outcomes, outcomes + 1)
            assert one.certificate().holds
            for step in range(6):
                tell(one, one.ask(context={"x": step / 6, "task": "abcxyz"[step]}))
    assert line > 10


def test_a_signal_handler_is_refused_or_completes() -> None:
    ready = before_new_knots()
    refused = done = 0
    for line in range(1, 400, 3):
        selector = copy.deepcopy(ready)
        out = selector.ask(context={"x": 0.4, "task": "a"})
        asked: list[Decision] = []

        def handler(selector: Selector = selector, asked: list[Decision] = asked, out: Decision = out) -> None:
            try:
                selector.tell(out, True)
                asked.append(selector.ask(context={"x": 0.7, "task": "another"}))
            finally:
                Selector.from_state(selector.state())  # reading is never refused, and the state is whole

        interruption = CallAt(line, handler)
        with interruption:
            decision = selector.ask(context={"x": 0.3, "task": "new"})
        tell(selector, decision)
        if not interruption.struck:
            break
        refused += interruption.refused
        done += len(asked)
        assert interruption.refused != bool(asked)
        assert selector.outcomes + selector.pending == ready.outcomes + ready.pending + 2 + len(asked)
        assert selector.certificate().holds
        model = model_of(selector)
        assert model.weights.width == model.features.width
    assert refused > 5
    assert done > 0


def test_threads_lose_no_outcome() -> None:
    """Fast and careful asks at once, in groups of each thread's own and in shared ones, saved and copied in between."""
    selector = Selector(MENUS["few"], 0.7, model="auto")
    selector.ask(context={"x": 0.5, "task": "a"}, audit=False)
    counts = [[0, 0] for _ in range(4)]

    def work(number: int) -> None:
        rng = random.Random(number)
        out: list[Decision] = []
        for step in range(200):
            context = {"x": rng.random(), "task": rng.choice("abcdefgh")}
            group = rng.choice([None, None, "shared", f"own {number}", f"{number} {step}"])
            if step % 20 == 7:
                out += selector.ask_many(2, contexts=[context, {"x": 0.1}], group=group)
            else:
                out.append(
                    selector.ask(context=context, available=[1, 2, "all"] if step % 20 == 3 else None, group=group)
                )
            if step % 50 == 9:
                assert Selector.from_state(selector.state()).certificate().consistent
                assert copy.deepcopy(selector).certificate().consistent
            while len(out) > rng.randrange(150):
                decision = out.pop(rng.randrange(len(out)))
                success = decision.role > 0 or (decision.role == 0 and rng.random() < 0.5)
                selector.tell(decision.id if step % 3 else decision, success)
                counts[number][0] += 1
                counts[number][1] += success
        for decision in out:
            selector.expire(decision)
            selector.tell(decision, decision.role > 0)
            counts[number][0] += 1
            counts[number][1] += decision.role > 0

    together(work, 4)
    assert selector.outcomes == sum(told for told, _ in counts) == 4 * 210
    assert selector.successes == sum(successes for _, successes in counts)
    total = selector.certificate()
    assert (total.outcomes, total.successes) == (selector.outcomes, selector.successes)
    assert total.holds
    assert selector.learner.head.steps == selector.outcomes
    assert sum(row.plays for row in selector.options()) == selector.outcomes
    assert (selector.pending, len(noted(selector)), len(in_slots(selector))) == (0, 0, 0)
    skips = {identity for identity, entry in selector.engine.expired_entries() if entry.role == SKIP}
    assert unfair(selector) <= skips  # a skip may still be told True, and remembers who chose it
