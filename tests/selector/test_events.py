"""Events: said once when something begins, with the reason, the cost in money and the remedy."""

import copy
import re
from collections import deque
from typing import Any

import numpy as np
import pytest

from suffice import Event, Menu, Selector, ThresholdSelector

MENU = Menu({"small": 0.02, "large": 0.20, "a person": 1.00}, safe="a person")


def rates(target: float) -> dict[str, float]:
    return {"small": 1 - 2 * (1 - target), "large": 1 - 0.5 * (1 - target), "a person": 1.0}


class Stream:
    """A selector with so many decisions always outstanding."""

    def __init__(self, target: float, outstanding: int, **settings: Any) -> None:
        self.events: list[Event] = []
        self.selector = Selector(MENU, target, on_event=self.events.append, **settings)
        self.outstanding, self.rates, self.rng = outstanding, rates(target), np.random.default_rng(3)
        self.waiting: deque[Any] = deque()

    def run(self, steps: int, *, report: bool = True, report_safe: bool = True) -> int:
        """Returns the number of decisions that were forced because others were outstanding."""
        before = self.selector.engine.sum_of("forced_by_waiting")
        for _ in range(steps):
            decision = self.selector.ask()
            if report_safe or not decision.is_safe:
                self.waiting.append((decision, bool(self.rng.random() < self.rates[decision.option])))
            while report and len(self.waiting) >= self.outstanding:
                self.selector.tell(*self.waiting.popleft())
        return self.selector.engine.sum_of("forced_by_waiting") - before

    def of(self, kind: str) -> list[str]:
        return [event.text for event in self.events if event.kind == kind]


def test_a_limit_that_forces_the_safe_option_is_said_with_its_remedy() -> None:
    stream = Stream(0.9, 400)
    stream.run(2_000)
    first = stream.of("forced")[0]
    assert re.match(
        r"The safe option was forced in \d+ of the last \d+ decisions, because \d+ have no outcome yet", first
    )
    assert re.search(
        r"which cost about [\d.]+ more than other options would have: (if it is only late, )?in_flight=\d+ would end it\.$",
        first,
    )


def forced_with(target: float, outstanding: int, in_flight: int) -> int:
    """How many of 1,000 decisions are forced with this limit, once so many are outstanding."""
    stream = Stream(target, outstanding, in_flight=in_flight)
    return stream.run(outstanding + 1_000)


@pytest.mark.parametrize(
    ("target", "outstanding", "in_flight"), [(0.9, 1000, 200), (0.9, 100, 0), (0.99, 100, 0), (0.99, 1000, 200)]
)
def test_the_number_that_is_named_is_the_least_that_ends_it(target: float, outstanding: int, in_flight: int) -> None:
    """The least that brings the forced share below 1% of the next 1,000 decisions lies within 20% of the one named."""
    stream = Stream(target, outstanding, in_flight=in_flight)
    while not any(f"{outstanding} have no outcome" in text.replace(",", "") for text in stream.of("forced")):
        stream.run(1)
    number = int(re.findall(r"in_flight=(\d+)", stream.of("forced")[-1])[0])
    low, high = in_flight, 2 * outstanding
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if forced_with(target, outstanding, middle) < 10 else (middle, high)
    assert number / 1.2 <= high <= number * 1.2, (high, number)


def test_feedback_that_stops_is_said_before_a_limit_forces_anything() -> None:
    stream = Stream(0.9, 10)
    stream.run(1_000)
    assert stream.of("feedback_stopped") == []
    stream.run(120, report=False)
    assert len(stream.of("feedback_stopped")) == 1
    assert "No outcome was reported during the last" in stream.of("feedback_stopped")[0]
    assert stream.run(600, report=False) > 300  # then the safe option
    last = stream.run(100, report=False)
    assert last == 100
    stream.run(200)  # what had been waiting is told now
    assert stream.run(400) < 20


def test_safe_plays_that_are_never_reported_are_said() -> None:
    stream = Stream(0.9, 1, max_debt=1)
    stream.run(1_500, report_safe=False)
    assert len(stream.of("safe_unreported")) == 1, stream.events
    assert "also when a person did it" in stream.of("safe_unreported")[0]


def test_a_failure_of_the_safe_option_is_said_when_their_number_doubles() -> None:
    stream = Stream(0.9, 1, max_debt=0)
    stream.rates = {"small": 0.5, "large": 0.6, "a person": 0.97}
    stream.run(3_000)
    failures = stream.selector.certificate().safe_failures
    assert 3 < len(stream.of("safe_failed")) <= failures.bit_length()


def test_drift_is_said_with_the_option() -> None:
    stream = Stream(0.9, 1)
    stream.run(1_500)
    stream.rates["large"] = 0.5
    stream.run(3_000)
    assert len(stream.of("memory_reset")) >= 1
    assert any("'large' got worse" in text for text in stream.of("option_changed"))


def test_an_exception_of_the_callback_loses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fall_over(event: Event) -> None:
        raise RuntimeError("fell over")

    selector = Selector(MENU, 0.9, max_debt=0, in_flight=0, on_event=fall_over)
    for _ in range(300):
        selector.ask()
    assert selector.pending == 300
    assert "on_event failed" in caplog.text
    assert "The safe option was forced" in caplog.text


def test_on_event_must_be_callable() -> None:
    with pytest.raises(ValueError, match="on_event must be a function"):
        Selector(MENU, 0.9, on_event=3)  # type: ignore[arg-type]


def test_a_threshold_has_events_too() -> None:
    events: list[Event] = []
    selector = ThresholdSelector(0, 1, 0.9, max_debt=0, in_flight=0, on_event=events.append)
    for _ in range(200):
        selector.ask()
    assert {event.kind for event in events} >= {"forced", "feedback_stopped"}


def test_copies_share_the_callback() -> None:
    events: list[Event] = []
    selector = Selector(MENU, 0.9, max_debt=0, in_flight=0, on_event=events.append)
    twin = copy.deepcopy(selector)
    for _ in range(200):
        twin.ask()
    assert events


def test_late_successes_of_plays_that_were_counted_before_break_nothing() -> None:
    """They leave an option with more successes than plays lately, and perhaps in all."""
    events: list[Event] = []
    selector = Selector(MENU, 0.9, on_event=events.append, expire_after=1.0, clock=lambda: now[0])
    now, late = [0.0], []
    for step in range(3_000):
        decision = selector.ask(available=["small", "a person"])
        if decision.option == "small" and 300 < step < 600:
            late.append(decision)  # it expires, and is told much later
            now[0] += 2.0
        else:
            selector.tell(decision, True)
        if late and step > 900:
            selector.tell(late.pop(), True)
    assert not late
    assert selector.certificate().consistent
    assert selector.failures.warning is None


def test_many_cancelled_decisions_are_said_once() -> None:
    stream = Stream(0.9, 1)
    for _ in range(300):
        decision = stream.selector.ask()
        if stream.rng.random() < stream.rates[decision.option]:
            stream.selector.tell(decision, True)
        else:
            stream.selector.cancel(decision)
    assert len(stream.of("cancelled")) == 1
    assert "what failed must be told as a failure" in stream.of("cancelled")[0]
    assert "decisions cancelled: had they all failed" in str(stream.selector.certificate())
