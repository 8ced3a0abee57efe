"""State files: they come back whole, survive a crash at any instant, and say what is wrong with them."""

import contextlib
import json
import os
import pickle
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import suffice
from suffice import Learning, Menu, Rule, Selector, StateError, StateTooNew, ThresholdSelector, state_files
from suffice.learning.bounds import KL
from suffice.learning.choosers import Optimist
from tests.support.busy import busy
from tests.support.paths import DATA

MENUS = {
    "top_k": Menu.top_k([5, 10], classes=100, skip=True),
    "thresholds": Menu.thresholds(0, 1, step=0.25, skip=True, safe_cost=1.0),
    "grid": Menu.grid(distance=[1, 5], rating=[4, 0], skip=True, safe_cost=1.0),
    "intervals": Menu.intervals(step=0.25, skip=True),
    "subsets": Menu.subsets({"a": 0.1, "b": 0.2}, safe="person", safe_cost=1.0, skip=True),
    "own": Menu(["x", ("y", 1)], safe={"all": True}, skip=None, safe_cost=1.0),
}


@pytest.mark.parametrize("menu", MENUS.values(), ids=MENUS.keys())
def test_every_menu_comes_back(menu: Menu, tmp_path: Path) -> None:
    selector = busy(
        Selector(
            menu, Fraction(2, 3), max_surplus=5, in_flight=50, expire_after=1e9, learning=Learning(bounds="hoeffding")
        )
    )
    path = tmp_path / "state.json"
    selector.save(path)
    again = Selector.load(path)
    assert again.state() == selector.state()
    assert str(again.certificate()) == str(selector.certificate())
    assert again.options() == selector.options()
    assert again.learning.bounds == "hoeffding"
    assert Selector.load(path, menu=menu).state() == selector.state()
    with pytest.raises(StateError, match="the menu that was passed is not the one that was saved"):
        Selector.load(path, menu=Menu.top_k([5, 11], classes=100, skip=True))
    pending = selector.state()["outstanding"][0][0]
    again.tell(pending, True, 0.1)
    assert [p.name for p in tmp_path.iterdir()] == ["state.json"]


@pytest.mark.parametrize(
    "menu",
    [
        Menu(["a", "b"], safe="all", order=lambda a, b: a >= b, safe_cost=1.0),
        Menu([object(), "b"], safe="all", skip=None, safe_cost=1.0),
    ],
    ids=["own order", "own options"],
)
def test_what_cannot_be_written_down_is_passed_again(menu: Menu, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    selector = busy(Selector(menu, 0.9))
    selector.save(path)
    with pytest.raises(StateError, match="its menu could not be written down"):
        Selector.load(path)
    assert Selector.load(path, menu=menu).state() == selector.state()
    with pytest.raises(StateError, match="the menu that was passed is not the one that was saved"):
        Selector.load(path, menu=Menu(["a"], safe="all", safe_cost=1.0))


def test_custom_parts_are_not_replaced_by_ours(tmp_path: Path) -> None:
    class Mine(Optimist):
        def __len__(self) -> int:
            return 0  # falsy, and still an object that was passed

        def choose(self, price: float, bounds: Any, allowed: Any) -> int:
            return 2

    class Own(KL):
        pass

    selector = Selector(MENUS["top_k"], 0.9, learning=Learning(chooser=Mine(), bounds=Own()))
    selector.save(tmp_path / "state.json")
    with pytest.raises(StateError, match=r"saved with bounds of your own \(Own\): pass learning=Learning\(bounds="):
        Selector.load(tmp_path / "state.json", learning=Learning(chooser=Mine()))
    with pytest.raises(StateError, match=r"saved with chooser of your own \(Mine\): pass learning=Learning\(chooser="):
        Selector.load(tmp_path / "state.json", learning=Learning(bounds=Own()))
    again = Selector.load(tmp_path / "state.json", learning=Learning(chooser=Mine(), bounds=Own()))
    assert type(again._learner.chooser) is Mine
    with pytest.raises(StateError, match="learning must be as it was saved, with memory='full', got 'reset'"):
        Selector.load(tmp_path / "state.json", learning=Learning(chooser=Mine(), bounds=Own(), memory="reset"))


def test_decisions_of_another_copy_are_foreign(tmp_path: Path) -> None:
    """After a restore the same ids are issued again: the lost run's decisions must not pass for the new ones."""
    selector = Selector(MENUS["top_k"], 0.9)
    before = selector.ask()
    selector.save(tmp_path / "state.json")
    lost = selector.ask()
    again = Selector.load(tmp_path / "state.json")
    new = again.ask()
    assert new.id == lost.id
    with pytest.raises(suffice.ForeignDecision, match="or of another copy of this one"):
        again.tell(lost, True)
    again.tell(before, True)
    again.tell(new, True)
    again.save(tmp_path / "state.json")
    third = Selector.load(tmp_path / "state.json")
    newest = third.ask()
    third.tell(newest, True)
    with pytest.raises(suffice.AlreadyTold):
        third.tell(new, True)


def test_a_path_must_name_a_file() -> None:
    with pytest.raises(suffice.InvalidArgument, match="path must name a file"):
        Selector(MENUS["top_k"], 0.9).save("")


@pytest.mark.parametrize("version", sorted(p.name for p in DATA.glob("selector-*.json")))
def test_state_files_of_every_version_are_read(version: str) -> None:
    selector = Selector.load(DATA / version)
    certificate = selector.certificate()
    assert (selector.outcomes, selector.successes, selector.pending) == (20, 6.5, 1)
    assert (certificate.status, certificate.cancelled, certificate.amended) == ("within", 1, 2)
    assert (certificate.expired, certificate.skipped, certificate.safe_lost, certificate.unaudited) == (1, 14, 1, 1)
    assert list(selector.groups) == ["Łódź"]
    assert selector.state()["menu"]["kind"] == "top_k"


@pytest.mark.parametrize("version", [1, 2])
def test_a_state_file_of_an_earlier_version_is_refused_in_one_sentence(version: int) -> None:
    path = DATA / f"earlier-v{version}.json"
    with pytest.raises(StateError) as refused:
        Selector.load(path)
    assert str(refused.value) == (
        f"{path} was written by an earlier suffice (format {version}, this one reads format 3): begin anew"
    )


def test_there_is_a_state_file_of_this_version() -> None:
    assert (DATA / f"selector-v{state_files.VERSION}.json").exists()


def saved(tmp_path: Path) -> tuple[Path, str]:
    path = tmp_path / "state.json"
    busy(Selector(MENUS["top_k"], 0.9, clock=lambda: 1000.0)).save(path)
    return path, path.read_text()


def test_truncated_at_every_length(tmp_path: Path) -> None:
    path, text = saved(tmp_path)
    for length in range(0, len(text.rstrip()), 7):
        path.write_text(text[:length])
        with pytest.raises(StateError, match="is not a whole state file: it is cut short or damaged"):
            Selector.load(path)


def test_a_changed_digit_is_noticed(tmp_path: Path) -> None:
    path, text = saved(tmp_path)
    changed = 0
    for place, char in enumerate(text):
        if char.isdigit() and place > text.index('"state"'):
            damaged = text[:place] + str((int(char) + 1) % 10) + text[place + 1 :]
            with contextlib.suppress(ValueError):  # a number that begins with 0 is no JSON any more
                if json.loads(damaged) == json.loads(text):
                    continue  # the last digit of a double, which reads as the same one
            path.write_text(damaged)
            with pytest.raises(StateError):
                Selector.load(path)
            changed += 1
    assert changed > 50


def test_foreign_and_newer_files(tmp_path: Path) -> None:
    path, text = saved(tmp_path)
    document = json.loads(text)
    for content, error, message in [
        ({"hello": 1}, StateError, "is not a state file of suffice"),
        ([], StateError, "is not a state file of suffice"),
        (
            {**document, "version": 4},
            StateTooNew,
            "was written by a later suffice (format 4, this one reads up to 3): upgrade",
        ),
        ({**document, "version": "1"}, StateError, "has no valid version"),
        ({**document, "state": []}, StateError, "is damaged"),
    ]:
        path.write_text(json.dumps(content))
        with pytest.raises(error) as raised:
            Selector.load(path)
        assert message in str(raised.value)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StateError):
        Selector.load(path)
    with pytest.raises(FileNotFoundError):
        Selector.load(tmp_path / "none.json")
    scalar = busy(ThresholdSelector(2, 7, 0.9, rule=Rule(start=3, step=0.1)))
    scalar.save(path)
    assert ThresholdSelector.load(path).state() == scalar.state()
    with pytest.raises(StateError, match="the state must be one of a Selector, got 'ThresholdSelector'"):
        Selector.load(path)


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, text = saved(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, full)
            with pytest.raises(OSError, match="No space left"):
                Selector(MENUS["top_k"], 0.5).save(path)
        assert path.read_text() == text
        assert [p.name for p in tmp_path.iterdir()] == ["state.json"]


CHILD = """
import sys
from suffice import Menu, Selector
selector = Selector(Menu.top_k([5, 10], classes=100), 0.9)
for _ in range(10**9):
    selector.tell(selector.ask(), True)
    selector.save(sys.argv[1])
    print(selector.outcomes, flush=True)
"""


def test_killed_while_saving(tmp_path: Path) -> None:
    """kill -9 at a random moment: the file is whole, and holds at least what was acknowledged."""
    path = tmp_path / "state.json"
    for wait in range(6):
        child = subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        acknowledged = 0
        for _ in range(3 + 7 * wait):
            acknowledged = int(child.stdout.readline())
        child.kill()
        child.wait()
        child.stdout.close()
        assert Selector.load(path).outcomes >= acknowledged


@pytest.mark.parametrize("compiled", [False, True])
def test_overdue_decisions_expire_after_a_load_though_the_clock_went_back(compiled: bool) -> None:
    """A monotonic clock begins anew when the machine restarts."""
    now = [1000.0]
    selector = Selector(Menu.top_k([1, 2], classes=5, skip=True), 0.5, expire_after=5, clock=lambda: now[0])
    if compiled and not selector.compile():
        pytest.skip("needs the extra fast")
    selector.ask()
    state = selector.state()
    now[0] = 0.0
    again = Selector.from_state(state, clock=lambda: now[0])
    if compiled:
        again.compile()
    again.ask()
    now[0] = 100.0
    again.ask()
    assert (again.pending, again.certificate().expired) == (1, 2)


@pytest.mark.compiled
def test_a_compiled_selector_is_pickled_where_compiling_was_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    selector = Selector(Menu.top_k([1, 2], classes=5, skip=True), 0.9)
    assert selector.compile()
    decision = selector.ask()
    monkeypatch.setenv("SUFFICE_NO_COMPILE", "1")
    again = pickle.loads(pickle.dumps(selector))
    again.tell(decision.id, True)
    assert (again.pending, again.outcomes, selector.pending) == (0, 1, 1)
