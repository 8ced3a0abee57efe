"""Ctrl-C and signal handlers: an interrupt between any two lines leaves an outcome counted once or not at all."""

import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import suffice
from suffice import Menu, Selector

MENU = Menu({"a": 0.1, "b": 0.4}, everything="all", nothing="none")


class InterruptAt:
    """Raises KeyboardInterrupt at the n-th line executed inside suffice."""

    def __init__(self, line: int) -> None:
        self.left = line

    def __enter__(self) -> None:
        self.before = sys.gettrace()
        sys.settrace(self.trace)

    def __exit__(self, *_: object) -> None:
        sys.settrace(self.before)

    def trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        if "suffice" not in frame.f_code.co_filename:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self.trace


def ready() -> Selector:
    selector = Selector(MENU, 0.7)
    for decision in selector.ask_many(6)[:3]:
        selector.tell(decision, True)
    selector.expire(3)
    selector.tell_many([(4, True)])
    return selector  # 5 is pending, 3 has expired


def interrupted(call: Callable[[Selector], object]) -> tuple[int, int]:
    """Interrupt a call at every line in turn; how often it was counted and how often not."""
    before = after = 0
    for line in range(1, 2000):
        selector = ready()
        told, successes = selector.told, selector.successes
        try:
            with InterruptAt(line):
                call(selector)
        except KeyboardInterrupt:
            pass
        else:
            return before, after
        counted = selector.told > told or selector.successes > successes
        before, after = before + (not counted), after + counted
        again = Selector.from_state(selector.state())  # the state is whole and says the same
        assert (again.told, again.pending) == (selector.told, selector.pending)
        for one in (selector, again):
            certificate = one.certificate()
            assert certificate.holds
            assert certificate.sound
            try:
                call(one)
            except suffice.AlreadyTold:
                assert counted
            else:
                assert not counted
            assert one.told - told <= 1
            assert one.successes - successes <= 1
    raise AssertionError("the call never came to its end")


@pytest.mark.parametrize("which", ["tell", "amend", "expire", "tell_many"])
def test_an_outcome_counts_once_or_not_at_all(which: str) -> None:
    calls: dict[str, Callable[[Selector], object]] = {
        "tell": lambda selector: selector.tell(5, False),
        "amend": lambda selector: selector.tell(3, True),
        "expire": lambda selector: selector.expire(5),
        "tell_many": lambda selector: selector.tell_many([(5, True)]),
    }
    before, after = interrupted(calls[which])
    assert before > 10
    assert after > 5


def test_an_interrupted_ask_leaves_a_whole_selector() -> None:
    for line in range(1, 2000):
        selector = ready()
        try:
            with InterruptAt(line):
                selector.ask()
        except KeyboardInterrupt:
            pass
        else:
            break
        assert Selector.from_state(selector.state()).pending == selector.pending
        decision = selector.ask()
        selector.tell(decision, decision.option == "all")
        assert selector.certificate().holds
    assert line > 20


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")
def test_a_signal_handler_may_save(tmp_path: Path) -> None:
    """The natural shutdown hook: save from a handler that strikes in the middle of ask or tell."""
    selector = Selector(MENU, 0.7)
    path = tmp_path / "state.json"
    saved = []

    def save(*_: object) -> None:
        selector.save(path)
        again = Selector.load(path)
        saved.append(again.told)
        assert again.certificate().holds

    before = signal.signal(signal.SIGALRM, save)
    try:
        armed = -1
        while len(saved) < 60:
            if armed < len(saved):  # one at a time: a handler that is slow must not be struck by the next
                armed = len(saved)
                signal.setitimer(signal.ITIMER_REAL, 0.0007)
            decision = selector.ask()
            selector.tell(decision, decision.option == "all")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert saved == sorted(saved)


def test_a_chooser_may_look_at_its_own_selector() -> None:
    class Curious:
        name = "curious"
        selector: Selector

        def choose(self, price: float, bounds: Any, allowed: Any) -> int:
            return 1 if self.selector.debt < -1 else 2

    curious = Curious()
    curious.selector = Selector(MENU, 0.7, chooser=curious)
    seen: list[str] = []

    def play() -> None:
        for _ in range(10):
            decision = curious.selector.ask()
            seen.append(decision.option)
            curious.selector.tell(decision, True)

    thread = threading.Thread(target=play, daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    assert {"a", "b"} <= set(seen)
