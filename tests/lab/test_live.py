"""The live demo: its worlds and players by themselves, and all of it as the real program, in a pipe and in a terminal."""

import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest

import suffice
from suffice.cli import live
from suffice.cli.terminal import console
from suffice.errors import SufficeError
from suffice.lab.live.scenarios import Scenario, all_scenarios, labels, rides
from suffice.lab.live.server import LiveService
from suffice.lab.live.simulated_user import SimulatedUser
from suffice.selector.records import Decision
from tests.support.terminal import PATIENCE, sit

SHORT = ("demo", "--live", "--first", "60", "--pace", "200", "--no-open")


# --- worlds


@pytest.mark.parametrize("world", all_scenarios(), ids=lambda world: str(world.name))
def test_a_world_shifts_again_and_again(world: Scenario) -> None:
    length = sum(phase.length for phase in world.phases)
    course = itertools.islice(world.course(np.random.default_rng(0)), 3 * length)
    words = [phase.words for phase, _ in course]
    assert words[:length] == words[length : 2 * length] == words[2 * length :]
    assert [word for word, _ in itertools.groupby(words)] == [phase.words for phase in world.phases] * 3


def test_a_shift_makes_the_right_choice_another() -> None:
    for world in all_scenarios()[:2]:
        truths = [phase.stream.truth() for phase in world.phases]  # type: ignore[attr-defined]
        before, after = (suffice.optimum(success, cost, world.target).cost for success, cost in truths)
        assert after > 5 * before


def test_at_the_usual_pace_each_world_has_shifted_within_a_minute() -> None:
    for world in all_scenarios():
        assert max(phase.length for phase in world.phases) <= 60 * 40


# --- players


class Watched:
    """A selector whose outcomes are written down."""

    def __init__(self, world: Scenario) -> None:
        self.now = 0.0
        self.selector = suffice.Selector(
            world.menu, world.target, expire_after=world.expire_after, clock=lambda: self.now
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


@pytest.mark.parametrize("world", all_scenarios(), ids=lambda world: str(world.name))
def test_a_player_keeps_the_promise(world: Scenario) -> None:
    watched = Watched(world)
    player = SimulatedUser(world, watched, seed=1)
    for _ in range(3000):
        player.step()
    certificate = watched.selector.certificate()
    assert certificate.holds
    assert certificate.consistent
    assert not certificate.breach
    assert player.steps == len(watched.asked) == 3000
    assert len(watched.outcomes) + player.under_way + player.lost == 3000


def test_outcomes_are_told_at_once_where_they_are_not_late() -> None:
    watched = Watched(labels())
    player = SimulatedUser(labels(), watched, seed=1)
    for _ in range(500):
        player.step()
    assert all(watched.outcomes[decision.id] == step for step, decision in enumerate(watched.asked))


def test_outcomes_of_rides_are_late_overdue_or_lost() -> None:
    world = rides()
    watched = Watched(world)
    player = SimulatedUser(world, watched, seed=1)
    for _ in range(4000):
        player.step()
    waits = {decision.id: watched.outcomes[decision.id] - step
             for step, decision in enumerate(watched.asked) if decision.id in watched.outcomes}  # fmt: skip
    soonest, latest = world.late
    usual = [wait for wait in waits.values() if wait <= latest]
    assert min(usual) == soonest
    assert max(usual) == latest
    assert set(waits.values()) - set(usual) == {world.overdue[1]}
    assert 10 < player.lost < 200
    for decision in watched.asked[:3900]:
        if decision.is_safe:  # which reports by itself
            assert waits[decision.id] <= latest
    certificate = watched.selector.certificate()
    assert certificate.expired >= player.lost - 100
    assert certificate.amended > 0  # some of those that came after they had been given up had worked
    assert certificate.safe_lost == 0


def test_a_player_plays_the_same_twice() -> None:
    found = []
    for _ in range(2):
        watched = Watched(rides())
        player = SimulatedUser(rides(), watched, seed=5)
        for _ in range(300):
            player.step()
        found.append([decision.arm for decision in watched.asked])
    assert found[0] == found[1]


# --- the stage


def test_the_stage_plays_and_ends() -> None:
    with LiveService(first=30, pace=200.0) as stage:
        stage.start()
        until = time.monotonic() + PATIENCE
        while min(look.overview.asks for look in stage.looks()) < 60:
            assert time.monotonic() < until
            time.sleep(0.05)
        stage.stop()
        before = [look.overview.asks for look in stage.looks()]
        assert [look.overview.asks for look in stage.looks()] == before  # it has really stopped
        assert all(certificate.holds for certificate in stage.certificates())
    with pytest.raises(OSError, match="refused"), socket.create_connection(("127.0.0.1", port(stage.address)), 5):
        pass


def test_the_pace_is_kept() -> None:
    with LiveService(first=0, pace=20.0) as stage:
        stage.start()
        time.sleep(2.0)
        stage.stop()
        for look in stage.looks():
            assert 5 <= look.overview.asks <= 20.0 * stage.seconds + 2


def test_trouble_with_the_service_is_said() -> None:
    with LiveService(first=0, pace=50.0) as stage:
        stage.start()
        os.kill(service(), signal.SIGKILL)
        with pytest.raises(suffice.ServiceProblem, match=re.escape(stage.address)):
            look_until_trouble(stage)


def test_trouble_with_a_world_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it is: a world that has silently ended would look like one where nothing happens."""
    monkeypatch.setattr(SimulatedUser, "step", lambda _: 1 // 0)
    with LiveService(first=0, worlds=[labels()]) as stage:
        stage.start()
        with pytest.raises(ZeroDivisionError):
            look_until_trouble(stage)


def test_a_pace_of_ages() -> None:
    with LiveService(first=3, pace=1e-15, worlds=[labels()]) as stage:
        stage.start()
        until = time.monotonic() + PATIENCE
        while stage.looks()[0].overview.outcomes < 4:
            assert time.monotonic() < until
            time.sleep(0.05)
        assert stage._threads[0].is_alive()  # it waits


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_does_not_reach_the_service_while_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """It reaches all processes of a terminal; who is still importing would answer with a traceback."""

    def start(_: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        assert signal.SIGINT in signal.sigpending()  # it would be inherited, and is not lost
        raise SufficeError("enough")

    monkeypatch.setattr("multiprocessing.process.BaseProcess.start", start)
    with pytest.raises(KeyboardInterrupt), LiveService(worlds=[labels()]) as stage:
        stage.start()
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_port_that_is_taken_is_said_before_anything_starts() -> None:
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


def look_until_trouble(stage: LiveService) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        stage.looks()
        time.sleep(0.1)


def service() -> int:
    """The process of the service: the only child of ours."""
    import psutil

    names = [child for child in psutil.Process().children() if "spawn_main" in " ".join(child.cmdline())]
    assert len(names) == 1
    return int(names[0].pid)


# --- the real program


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "suffice", *arguments],
        capture_output=True, text=True, timeout=PATIENCE, check=False, env={**os.environ, "COLUMNS": "80"},
    )  # fmt: skip


def test_it_ends_by_itself_with_three_certificates() -> None:
    done = run(*SHORT, "--seconds", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^Open http://127\.0\.0\.1:\d+$", done.stdout, re.MULTILINE)
    assert "The first 60 of each come as fast as they can." in done.stdout
    assert "\x1b" not in done.stdout
    for world in all_scenarios():
        assert re.search(rf"^{world.name}: .* succeeded \(target 90%\), debt ", done.stdout, re.MULTILINE)
        assert f"╭─ {world.name} " in done.stdout
    assert done.stdout.count("Kept: ") == 3
    assert done.stdout.count("of what always playing the safe option does.") == 3


def test_json_when_it_ends() -> None:
    done = run(*SHORT, "--seconds", "1.5", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(found["worlds"]) == [world.name for world in all_scenarios()]
    assert found["address"] in done.stderr  # where to look is said beside it
    assert found["seconds"] >= 1.5
    for numbers in found["worlds"].values():
        assert numbers["outcomes"] > 0
        assert numbers["holds"] is True
        assert numbers["status"] == "kept"
        assert numbers["text"].startswith("Kept: ")
        assert not {"promise", "counts", "groups", "group_statuses"} & set(numbers)  # there are no groups here
        assert numbers["debt"] <= numbers["debt_at_most"]
        assert 0.0 < numbers["mean_cost"] <= numbers["safe_cost"]


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_it_well(ending: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "suffice", *SHORT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        address = next(line.split()[1] for line in process.stdout if line.startswith("Open "))
        with suffice.Client(address) as client:  # anybody may look, and ask
            assert {overview.name for overview in client.list_selectors()} == {world.name for world in all_scenarios()}
        process.send_signal(ending)
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, err) == (0, "")
        assert out.count("╭─ ") == 3
        with pytest.raises(OSError, match="refused"), socket.create_connection(("127.0.0.1", port(address)), 5):
            pass
    finally:
        process.kill()
        process.communicate()


def test_in_a_terminal_a_table_moves_until_ctrl_c() -> None:
    seen = sit(*SHORT, stop_at="* of what always playing the safe option costs")
    assert seen.code == 0, seen.text
    assert "easy images: rank 5 or better" in seen.text
    assert "≤ 0.9" in seen.text
    assert seen.text.count("Never behind by more than") == 3
    assert "Traceback" not in seen.text
    assert "\x1b[?25h" in seen.raw.rsplit("\x1b[?25l", 1)[1]  # the cursor is back


def test_a_browser_is_opened_where_somebody_can_see_it(tmp_path: Any) -> None:
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/opened\n')
    script.chmod(0o755)
    usual = [word for word in SHORT if word != "--no-open"]
    seen = sit(*usual, "--seconds", "0.5", BROWSER=str(script), DISPLAY=":0")
    assert (tmp_path / "opened").read_text().strip() in seen.text
    (tmp_path / "opened").unlink()
    assert sit(*usual, "--seconds", "0.5", BROWSER=str(script), DISPLAY=":0", CI="true").code == 0
    assert not (tmp_path / "opened").exists()


def test_a_browser_is_opened_if_it_is_wanted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []

    def browser(address: str) -> bool:
        opened.append(address)
        return len(opened) == 1

    monkeypatch.setattr("webbrowser.open", browser)
    for wanted in (False, None, True, True):  # of itself only before a screen, and a test has none
        live._open("http://here", wanted, console())
    assert opened == ["http://here"] * 2
    assert capsys.readouterr().out.count("There is no browser here that could be opened") == 1


@pytest.mark.parametrize(
    ("package", "said"),
    [
        ("fastapi", "demo --live needs fastapi: pip install 'suffice[live]'"),
        ("httpx", "demo --live needs httpx: pip install 'suffice[live]'"),
    ],
)
def test_without_the_extras_it_says_which(package: str, said: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; from suffice.cli import main; main(['demo', '--live'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"suffice: {said}\n")


def test_the_tour_in_the_terminal_says_that_there_is_more() -> None:
    assert "`suffice demo --live`" in run("demo", "--easy", "300", "--hard", "100").stdout
