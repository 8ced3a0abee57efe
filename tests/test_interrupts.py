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
from suffice.records import decide

MENU = Menu({"a": 0.1, "b": 0.4}, everything="all", nothing="none")


INSIDE = str(Path(suffice.__file__).parent)  # not just the name: a clone may lie in a folder called suffice


class InterruptAt:
    """Raises KeyboardInterrupt at the n-th line executed inside suffice."""

    def __init__(self, line: int) -> None:
        self.left = line

    def strike(self) -> None:
        raise KeyboardInterrupt

    def __enter__(self) -> None:
        self.before = sys.gettrace()
        sys.settrace(self.trace)

    def __exit__(self, *_: object) -> None:
        sys.settrace(self.before)

    def trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not frame.f_code.co_filename.startswith(INSIDE):
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                self.strike()
        return self.trace


def ready(menu: Menu = MENU) -> Selector:
    selector = Selector(menu, 0.7)
    for decision in selector.ask_many(6)[:3]:
        selector.tell(decision, True)
    selector.expire(3)
    selector.tell_many([(4, True)])
    return selector  # 5 is pending, 3 has expired


def interrupted(call: Callable[[Selector], object], menu: Menu) -> tuple[int, int]:
    """Interrupt a call at every line in turn; how often it was counted and how often not."""
    before = after = 0
    for line in range(1, 2000):
        selector = ready(menu)
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


LARGE = Menu({i: i / 100 for i in range(80)}, everything="all", nothing="none")


@pytest.mark.parametrize("menu", [MENU, LARGE], ids=["plain", "compiled"])
@pytest.mark.parametrize("which", ["tell", "tell shortly", "amend", "expire", "tell_many"])
def test_an_outcome_counts_once_or_not_at_all(which: str, menu: Menu) -> None:
    calls: dict[str, Callable[[Selector], object]] = {
        "tell": lambda selector: selector.tell(5, False),
        "tell shortly": lambda selector: selector.tell(
            decide(5, menu.arms - 1, "all", 1, 0.0, selector._ledger.key), True
        ),
        "amend": lambda selector: selector.tell(3, True),
        "expire": lambda selector: selector.expire(5),
        "tell_many": lambda selector: selector.tell_many([(5, True)]),
    }
    before, after = interrupted(calls[which], menu)
    assert before > 3
    assert after > 0


@pytest.mark.parametrize("menu", [MENU, LARGE], ids=["plain", "compiled"])
def test_an_interrupted_ask_leaves_a_whole_selector(menu: Menu) -> None:
    for line in range(1, 2000):
        selector = ready(menu)
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


@pytest.mark.parametrize("options", [2, 80], ids=["plain", "compiled"])
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")
def test_a_signal_handler_may_save(tmp_path: Path, options: int) -> None:
    """The natural shutdown hook: save from a handler that strikes in the middle of ask or tell, which then goes on."""
    menu = Menu({i: i / 100 for i in range(options)}, everything="all", nothing="none")
    selector = Selector(menu, 0.7)
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
    assert Selector.from_state(selector.state()).state()["counts"]["out"] == 0


class SaveAt(InterruptAt):
    """Saves at the n-th line executed inside suffice, and goes on."""

    def __init__(self, line: int, selector: Selector) -> None:
        super().__init__(line)
        self.selector = selector
        self.states: list[dict[str, Any]] = []

    def strike(self) -> None:
        sys.settrace(None)
        self.states.append(self.selector.state())


@pytest.mark.parametrize("options", [2, 80], ids=["plain", "compiled"])
def test_saving_at_every_line_of_ask_and_tell(options: int) -> None:
    """Deterministic where the timer is not: at each line the saved state is whole, and the selector unharmed."""
    menu = Menu({i: i / 100 for i in range(options)}, everything="all", nothing="none")
    for line in range(1, 2000):
        selector = Selector(menu, 0.7)
        selector.tell(selector.ask(), True)
        saver = SaveAt(line, selector)
        with saver:
            decision = selector.ask()
            selector.tell(decision, decision.option == "all")
        if not saver.states:
            break
        again = Selector.from_state(saver.states[0])
        assert again.told in (1, 2)
        assert again.told + again.pending <= 2
        assert (selector.told, selector.pending) == (2, 0)
        assert selector.state()["counts"]["out"] == selector.state()["counts"]["out_mirror"] == 0
        assert selector.ask().id == 2
    assert line > 20


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
