"""Signal handlers that strike in the middle of an ask or a tell. `test_engines` has Ctrl-C at every line."""

import contextlib
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import suffice
from suffice import Learning, Menu, Selector
from suffice.kernels.compiler import available
from suffice.selector.plain import PlainEngine
from suffice.selector.records import Decision
from tests.support.interrupt import CallAt

pytestmark = pytest.mark.usefixtures("warm")  # no handler must strike while something is compiled

MENU = Menu({"a": 0.1, "b": 0.4}, safe="all", skip="none", safe_cost=1.0)
LARGE = Menu({i: i / 100 for i in range(80)}, safe="all", skip="none", safe_cost=1.0)


# Each way through the code: without a compiler, by one call of compiled code, and compiled but step by step.
# The last two are left out where compiling is switched off for all tests: `warm` compiles nothing there, so they would be
# struck while they compile.
WAYS = ["plain", pytest.param("short", marks=pytest.mark.compiled), pytest.param("long", marks=pytest.mark.compiled)]


def fresh(way: str, monkeypatch: pytest.MonkeyPatch) -> Selector:
    monkeypatch.setenv("SUFFICE_NO_COMPILE", "1" if way == "plain" else "")
    menu = MENU if way == "plain" else LARGE
    selector = Selector(menu, 0.7, expire_after=1e9 if way == "long" else None)
    assert isinstance(selector.engine, PlainEngine) == (way == "plain" or not available())
    return selector


def ask(selector: Selector, way: str) -> Decision:
    """Ask. What says which options are available is asked step by step."""
    return selector.ask(available=[*selector.menu.options[1:3], "all"]) if way == "long" else selector.ask()


def tell(selector: Selector, way: str, decision: Decision, success: bool) -> None:
    """Tell. What is told by its id alone is told step by step."""
    selector.tell(decision.id if way == "long" else decision, success)


def outstanding(selector: Selector) -> tuple[int, int]:
    """What the account says is outstanding: with a reserve, and in all."""
    account = selector.engine.account(0)
    return account.outstanding, account.pending


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")
def test_a_signal_handler_may_save(tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The natural shutdown hook: save from a handler that strikes in the middle of ask or tell, which then goes on."""
    selector = fresh(way, monkeypatch)
    path = tmp_path / "state.json"
    saved = []

    def save(*_: object) -> None:
        selector.save(path)
        again = Selector.load(path)
        saved.append(again.outcomes)
        assert again.certificate().holds

    before = signal.signal(signal.SIGALRM, save)
    try:
        armed = -1
        while len(saved) < 60:
            if armed < len(saved):  # one at a time: a handler that is slow must not be struck by the next
                armed = len(saved)
                signal.setitimer(signal.ITIMER_REAL, 0.0007)
            decision = ask(selector, way)
            tell(selector, way, decision, decision.option == "all")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert saved == sorted(saved)
    assert outstanding(Selector.from_state(selector.state())) == (0, 0)


@pytest.mark.parametrize("way", WAYS)
def test_saving_at_every_line_of_ask_and_tell(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deterministic where the timer is not: at each line the saved state is whole, and the selector unharmed."""
    for line in range(1, 2000):
        selector = fresh(way, monkeypatch)
        selector.tell(selector.ask(), True)
        states: list[dict[str, Any]] = []
        with CallAt(line, lambda: states.append(selector.state())):  # noqa: B023
            decision = ask(selector, way)
            tell(selector, way, decision, decision.option == "all")
        if not states:
            break
        again = Selector.from_state(states[0])
        assert again.outcomes in (1, 2)
        assert again.outcomes + again.pending <= 2
        assert (selector.outcomes, selector.pending) == (2, 0)
        assert outstanding(selector) == (0, 0)
        assert selector.ask().id == 2
    assert line > (8 if way == "short" else 20)


def test_a_chooser_may_look_at_its_own_selector() -> None:
    class Curious:
        name = "curious"
        selector: Selector

        def choose(self, price: float, bounds: Any, allowed: Any) -> int:
            return 1 if self.selector.debt < -1 else 2

    curious = Curious()
    curious.selector = Selector(MENU, 0.7, learning=Learning(chooser=curious))
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


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", ["certificate", "ask", "tell", "expire", "state", "options"])
def test_a_handler_may_look_and_is_refused_what_it_may_not(
    what: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It strikes in the middle of a tell, with a decision overdue: every outcome counts once."""
    refused = 0
    for line in range(1, 2000):
        now = [0.0]
        monkeypatch.setenv("SUFFICE_NO_COMPILE", "1" if way == "plain" else "")
        menu = MENU if way == "plain" else LARGE
        selector = Selector(menu, 0.7, expire_after=10.0 if way != "short" else None, clock=lambda: now[0])  # noqa: B023
        for decision in selector.ask_many(5):
            selector.tell(decision, True)
        older = selector.ask()
        now[0] = 8.0
        newer = selector.ask()
        now[0] = 11.0  # the older is overdue
        calls: dict[str, Callable[[], object]] = {
            "certificate": selector.certificate, "ask": selector.ask, "state": selector.state, "options": selector.options,
            "tell": lambda: selector.tell(older, True), "expire": lambda: selector.expire(older),  # noqa: B023
        }  # fmt: skip
        handler = CallAt(line, calls[what])
        with handler:
            tell(selector, way, newer, True)
        refused += handler.refused
        if not handler.struck:
            break
        with contextlib.suppress(suffice.AlreadyTold):
            selector.tell(older, True)
        for identity in range(8):
            with contextlib.suppress(suffice.AlreadyTold, suffice.UnknownDecision):
                selector.tell(identity, True)
        certificate = selector.certificate()
        assert certificate.outcomes == 7 + (selector.state()["next_id"] > 7)
        assert certificate.successes <= certificate.outcomes
        again = Selector.from_state(selector.state(), clock=lambda: now[0])  # noqa: B023
        assert (again.outcomes, again.pending, *outstanding(again)) == (selector.outcomes, 0, 0, 0)
    assert line > (3 if way == "short" else 20)
    assert refused > (2 if what in ("ask", "tell", "expire") and way != "short" else -1)


# --- where tests are started


def test_children_of_tests_hear_ctrl_c() -> None:
    code = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "True\n"


@pytest.mark.skipif(sys.platform == "win32", reason="no child inherits that a signal is ignored")
def test_children_of_tests_hear_ctrl_c_in_the_background_of_a_shell() -> None:
    """The test above, where a shell has told the whole run to ignore it."""
    test = f"{__file__}::{test_children_of_tests_hear_ctrl_c.__name__}"
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        run = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
    finally:
        signal.signal(signal.SIGINT, before)
    said, _ = run.communicate()
    assert run.returncode == 0, said
