"""The live demo: scenarios and simulated users alone, and the real program, in a pipe and in a terminal."""

import itertools
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

import suffice
from suffice.errors import SufficeError
from suffice.lab.live.scenarios import Scenario, all_scenarios, labels, rides
from suffice.lab.live.server import LiveService
from suffice.lab.live.simulated_user import SimulatedUser
from suffice.selector.records import Decision
from tests.support.terminal import TIMEOUT, run_in_terminal

# How a certificate begins where the promise holds: not behind, or by no more than its limit.
HOLDS = re.compile(r"^│ (?:Kept|At most [\d.]+ behind \(limit [\d.]+\)): ", re.MULTILINE)
SHORT = ("demo", "--live", "--first", "60", "--pace", "200")


# --- scenarios


@pytest.mark.parametrize("scenario", all_scenarios(), ids=lambda scenario: str(scenario.name))
def test_a_scenario_repeats_its_phases(scenario: Scenario) -> None:
    length = sum(phase.length for phase in scenario.phases)
    latents = itertools.islice(scenario.latents(np.random.default_rng(0)), 3 * length)
    words = [phase.words for phase, _ in latents]
    assert words[:length] == words[length : 2 * length] == words[2 * length :]
    assert [word for word, _ in itertools.groupby(words)] == [phase.words for phase in scenario.phases] * 3


# --- simulated users


class RecordedSelector:
    """A selector that records what was asked and told."""

    def __init__(self, scenario: Scenario) -> None:
        self.now = 0.0
        self.selector = suffice.Selector(
            scenario.menu, scenario.target, expire_after=scenario.expire_after, clock=lambda: self.now
        )
        self.asked: list[Decision] = []
        self.outcomes: dict[int, int] = {}

    def ask(self) -> Decision:
        self.now += 1.0 / 40.0
        self.asked.append(self.selector.ask())
        return self.asked[-1]

    def tell(self, decision: Decision, success: float, cost: float | None = None) -> None:
        assert decision.id not in self.outcomes
        self.outcomes[decision.id] = len(self.asked) - 1
        self.selector.tell(decision, success, cost)


@pytest.mark.parametrize("scenario", all_scenarios(), ids=lambda scenario: str(scenario.name))
def test_a_simulated_user_keeps_the_promise(scenario: Scenario) -> None:
    recorded = RecordedSelector(scenario)
    user = SimulatedUser(scenario, recorded, seed=1)
    for _ in range(3000):
        user.step()
    certificate = recorded.selector.certificate()
    assert certificate.holds
    assert certificate.consistent
    assert not certificate.assumption_violated
    assert certificate.violations == 0
    assert user.steps == len(recorded.asked) == 3000
    assert len(recorded.outcomes) + user.waiting + user.lost == 3000


def test_outcomes_of_rides_are_late_overdue_or_lost() -> None:
    scenario = rides()
    recorded = RecordedSelector(scenario)
    user = SimulatedUser(scenario, recorded, seed=1)
    for _ in range(4000):
        user.step()
    waits = {decision.id: recorded.outcomes[decision.id] - step
             for step, decision in enumerate(recorded.asked) if decision.id in recorded.outcomes}  # fmt: skip
    soonest, latest = scenario.late
    usual = [wait for wait in waits.values() if wait <= latest]
    assert min(usual) == soonest
    assert max(usual) == latest
    assert set(waits.values()) - set(usual) == {scenario.overdue[1]}
    assert 10 < user.lost < 200
    for decision in recorded.asked[:3900]:
        if decision.is_safe:  # which reports by itself
            assert waits[decision.id] <= latest
    certificate = recorded.selector.certificate()
    assert certificate.expired >= user.lost - 100
    assert certificate.amended > 0  # some outcomes that came after they had expired were successes
    assert certificate.safe_lost == 0


# --- the service


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_does_not_reach_the_service_while_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C reaches all processes of a terminal; one that is still importing would print a traceback."""

    def start(_: Any) -> None:
        # To this thread: one that is sent to the process would be taken by any thread that does not block it.
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        assert signal.SIGINT in signal.sigpending()  # it is blocked, and not lost
        raise SufficeError("enough")

    monkeypatch.setattr("multiprocessing.process.BaseProcess.start", start)
    with pytest.raises(KeyboardInterrupt), LiveService(scenarios=[labels()]) as service:
        service.start()
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_taken_port_is_an_error_before_anything_starts() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1]
        with pytest.raises(SufficeError, match=f"port {number} of 127.0.0.1 is taken"), LiveService(port=number):
            pass
        done = run("demo", "--live", "--port", str(number))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"suffice: port {number} of 127.0.0.1 is taken")
    assert done.stderr.count("\n") == 1


def port(address: str) -> int:
    return int(address.rsplit(":", 1)[1])


# --- the real program


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "suffice", *arguments],
        capture_output=True, text=True, timeout=TIMEOUT, check=False, env={**os.environ, "COLUMNS": "80"},
    )  # fmt: skip


def test_it_ends_by_itself_with_three_certificates() -> None:
    done = run(*SHORT, "--seconds", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^Open http://127\.0\.0\.1:\d+$", done.stdout, re.MULTILINE)
    assert "The first 60 of each run at full speed." in done.stdout
    assert "\x1b" not in done.stdout
    for scenario in all_scenarios():
        assert re.search(rf"^{scenario.name} +[\d,]+ +[\d.]+% +-?[\d.]+ +[\d.]+% *$", done.stdout, re.MULTILINE)
        assert f"╭─ {scenario.name} " in done.stdout
    assert len(HOLDS.findall(done.stdout)) == 3
    assert done.stdout.count("of what always playing the safe option does.") == 3


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_it_cleanly(ending: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "suffice", *SHORT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        address = next(line.split()[1] for line in process.stdout if line.startswith("Open "))
        with suffice.Client(address) as client:  # without a key
            assert {overview.name for overview in client.list_selectors()} == {
                scenario.name for scenario in all_scenarios()
            }
            until = time.monotonic() + TIMEOUT  # without an outcome a certificate has no rate
            while not all(overview.outcomes for overview in client.list_selectors()):
                assert time.monotonic() < until
        process.send_signal(ending)
        out, err = process.communicate(timeout=TIMEOUT)
        assert (process.returncode, err) == (0, "")
        assert out.count("╭─ ") == len(HOLDS.findall(out)) == 3
        with pytest.raises(OSError, match="refused"), socket.create_connection(("127.0.0.1", port(address)), 5):
            pass
    finally:
        process.kill()
        process.communicate()


def test_in_a_terminal_a_table_moves_until_ctrl_c() -> None:
    session = run_in_terminal(*SHORT, stop_at="* of what always playing the safe option costs")
    assert session.code == 0, session.text
    assert "easy images: rank 5 or better" in session.text
    assert "≤ 5.0" in session.text
    assert session.text.count("Never behind by more than") == 3
    assert "Traceback" not in session.text
    assert "\x1b[?25h" in session.raw.rsplit("\x1b[?25l", 1)[1]  # the cursor is back
