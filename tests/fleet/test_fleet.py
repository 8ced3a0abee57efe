"""Fleets: the same arms as single selectors, any subset in any order, and one file."""

import contextlib
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suffice import Fleet, InvalidArgument, Learning, Menu, Rule, Selector, StateError, StateTooNew
from suffice.fleet.state import COUNTS, TALLY
from suffice.numbers import ONE_SUCCESS
from suffice.state_files import VERSION
from tests.support.interrupt import InterruptAt

KNOWN = Menu({"a": 0.1, "b": 0.3, "c": 0.6}, safe="all", skip="none", safe_cost=1.0)
TOLD = Menu(["a", "b", "c"], safe="all", safe_cost=2.0)
LARGE = Menu.top_k(range(1, 90), classes=90, skip=True)
PLACE = {name: place for place, name in enumerate(COUNTS)}  # where each count is in a file


@pytest.mark.parametrize("menu", [KNOWN, TOLD, LARGE], ids=["known", "told, no skip", "large"])
@pytest.mark.parametrize("bounds", ["half-log", "kl", "hoeffding"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"max_debt": 0},
        {"max_debt": 2, "max_surplus": 5.0},
        {"rule": Rule(horizon=300)},
        {"rule": Rule("cheap", step=0.3)},
    ],
    ids=str,
)
def test_the_same_arms_as_single_selectors(menu: Menu, bounds: str, settings: dict[str, Any]) -> None:
    size = 12
    fleet = Fleet(menu, 0.8, size, learning=Learning(bounds=bounds), **settings)
    singles = [Selector(menu, 0.8, learning=Learning(bounds=bounds), **settings) for _ in range(size)]
    rng = np.random.default_rng(0)
    truth = np.concatenate([[0.0] * menu.has_skip, np.sort(rng.random(len(menu.options))), [1.0]])
    out: dict[int, Any] = {}
    for _ in range(250):
        which = rng.permutation([one for one in range(size) if one not in out])[: int(rng.integers(0, size + 1))]
        for one, arm in zip(which.tolist(), fleet.ask(which).tolist(), strict=True):
            decision = singles[one].ask()
            assert decision.arm == arm
            out[one] = decision
        done = rng.permutation(list(out))[: int(rng.integers(0, len(out) + 1))].astype(int)
        lost = done[:1] if rng.random() < 0.1 else done[:0]
        done = done[lost.size :]
        successes = [bool(rng.random() < truth[out[one].arm]) for one in done.tolist()]
        costs = rng.random(done.size)
        fleet.tell(done, successes, costs)
        fleet.expire(lost)
        for one, success, cost in zip(done.tolist(), successes, costs.tolist(), strict=True):
            decision = out.pop(one)
            singles[one].tell(decision, success, cost if menu.known_cost(decision.arm) is None else None)
        for one in lost.tolist():
            singles[one].expire(out.pop(one))
    assert fleet.outcomes.tolist() == [single.outcomes for single in singles]
    assert fleet.debts == pytest.approx([single.debt for single in singles])
    assert fleet.prices == pytest.approx([single.price for single in singles])
    assert fleet.pending == sum(not decision.is_skip for decision in out.values())
    for one in range(size):
        mine, theirs = fleet.certificate(one), singles[one].certificate()
        assert (mine.outcomes, mine.successes, mine.debt_at_most) == (
            theirs.outcomes,
            theirs.successes,
            theirs.debt_at_most,
        )
        assert mine.status in ("kept", "within", "unproven")
        assert (mine.status, mine.owed_at_most) == (theirs.status, theirs.owed_at_most)


def test_each_keeps_its_own_promise() -> None:
    """Half of the world fails always, half succeeds always: none is behind by more than max_debt."""
    fleet = Fleet(KNOWN, 0.7, 200, max_debt=3)
    kind, most = np.arange(200) % 2, -np.inf
    for _ in range(300):
        arms = fleet.ask()
        fleet.tell(None, np.where(arms == 4, 1.0, np.where(arms == 0, 0.0, kind)))
        most = max(most, fleet.debts.max())
    assert 0.7 < most <= 3.0


def test_memory() -> None:
    fleet = Fleet(Menu({i: i / 10 for i in range(1, 7)}, safe="all", skip="none", safe_cost=1.0), 0.9, 1000)
    assert fleet.menu.n_arms == 8
    assert len(pickle.dumps(fleet)) / (1000 * 8) <= 200


def test_save_and_load(tmp_path: Path) -> None:
    path = tmp_path / "fleet.npz"
    fleet = Fleet(KNOWN, 0.8, 50, rule=Rule("cheap", max_surplus=4, cap=1e4))
    rng = np.random.default_rng(0)
    for _ in range(60):
        which = rng.permutation(50)[:20]
        which = which[fleet._rows.out[which] < 0]
        fleet.ask(which)
        done = np.flatnonzero(fleet._rows.out >= 0)[::2]
        fleet.tell(done, rng.random(done.size) < 0.6)
    fleet.save(path)
    again = Fleet.load(path)
    assert np.array_equal(again._rows.accounts, fleet._rows.accounts)
    assert np.array_equal(again._rows.pricings, fleet._rows.pricings)
    assert all(np.array_equal(again._rows.arms[name], fleet._rows.arms[name]) for name in TALLY)
    assert again.pending == fleet.pending > 0
    for one in (fleet, again):
        waiting = np.flatnonzero(one._rows.out >= 0)
        one.tell(waiting, np.ones(waiting.size))
    assert fleet.ask().tolist() == again.ask().tolist()
    assert [p.name for p in tmp_path.iterdir()] == ["fleet.npz"]


def test_broken_files(tmp_path: Path) -> None:
    path = tmp_path / "fleet.npz"
    Fleet(KNOWN, 0.8, 3).save(path)
    content = path.read_bytes()
    for length in (0, 10, len(content) // 2, len(content) - 5):
        path.write_bytes(content[:length])
        with pytest.raises(StateError, match="is not a fleet that can be read"):
            Fleet.load(path)
    path.write_bytes(content)
    with np.load(path) as file:
        parts = {name: file[name] for name in file.files}
    np.savez(path, **{**parts, "about": np.array(str(parts["about"]).replace(f'"version": {VERSION}', '"version": 9'))})
    with pytest.raises(StateTooNew, match="upgrade suffice"):
        Fleet.load(path)
    np.savez(path, **{**parts, "out": parts["out"][:1]})
    with pytest.raises(StateError, match="the numbers do not fit the menu"):
        Fleet.load(path)
    np.savez(path, **{**parts, "about": np.array(str(parts["about"]).replace('"Fleet"', '"Selector"'))})
    with pytest.raises(StateError, match="is not a fleet of suffice"):
        Fleet.load(path)
    with pytest.raises(FileNotFoundError):
        Fleet.load(tmp_path / "none.npz")


@pytest.mark.parametrize("menu", [KNOWN, LARGE], ids=["small", "large"])
def test_numbers_that_contradict_each_other_are_refused(tmp_path: Path, menu: Menu) -> None:
    """Compiled code takes numbers as they are: a wild one must not come so far."""
    path = tmp_path / "fleet.npz"
    fleet = Fleet(menu, 0.8, 4, max_debt=0)
    for _ in range(20):
        fleet.tell(None, fleet.ask() > 2)
    fleet.ask([1])
    fleet.save(path)
    with np.load(path) as file:
        parts = {name: file[name] for name in file.files}
    assert Fleet.load(path).pending == 1
    edits: list[tuple[str, Any, Any]] = [
        *(("counts", (0, PLACE["outcomes"]), value) for value in (2**62, 21, -1)),
        *(("counts", (2, PLACE["successes"]), value) for value in (21 * ONE_SUCCESS, -1)),
        *(("counts", (2, PLACE["owed"]), value) for value in (21 * ONE_SUCCESS, 16 * ONE_SUCCESS + 1, -1)),
        ("counts", (2, PLACE["carried"]), 1), ("counts", (1, PLACE["outstanding"]), 3), ("counts", (1, PLACE["pending"]), 2),
        ("counts", (3, PLACE["shortfall"]), 2**62), ("counts", (3, PLACE["expired"]), -1),
        ("tally", (0, 1, 0), np.nan), ("tally", (0, 1, 0), 1e12), ("tally", (0, 1, 1), 1e6), ("tally", (0, 1, 1), -1.0),
        ("tally", (0, 1, 2), 1e9), ("tally", (0, 1, 3), -0.5), ("tally", (0, 1, 3), 1e9),
        ("out", (1,), 10**9), ("out", (1,), -7), ("out", (0,), 1),
    ]  # fmt: skip
    for name, place, value in edits:
        edited = parts[name].copy()
        edited[place] = value
        np.savez(path, **{**parts, name: edited})
        with pytest.raises(StateError, match="contradict each other"):
            Fleet.load(path)
    for value in (20.0, 20.5, np.nan, np.inf):
        np.savez(path, **{**parts, "counts": np.where(parts["counts"] == 20, value, parts["counts"])})
        with pytest.raises(StateError, match="counts must be whole numbers"):
            Fleet.load(path)


@pytest.mark.parametrize("call", ["ask", "tell", "expire"])
def test_an_interrupt_without_the_compiler(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every line in turn: whatever was struck, each outcome is counted once or not at all."""
    monkeypatch.setenv("SUFFICE_NO_COMPILE", "1")
    for line in range(1, 2000):
        fleet = Fleet(KNOWN, 0.8, 3)
        if call != "ask":
            fleet.ask()
        try:
            with InterruptAt(line):
                if call == "ask":
                    fleet.ask()
                elif call == "tell":
                    fleet.tell([2, 0], [1.0, 1.0])
                else:
                    fleet.expire([2, 0])
        except KeyboardInterrupt:
            pass
        else:
            break
        for one in range(3):
            with contextlib.suppress(InvalidArgument):  # it has one out
                fleet.ask([one])
            before = int(fleet.outcomes[one])
            fleet.tell([one], [1.0])
            assert fleet.outcomes[one] == before + 1
        assert fleet.outcomes.sum() == 3 + (fleet.outcomes > 1).sum() <= 5
        accounts = fleet._rows.accounts
        assert (
            accounts["outstanding"].tolist() == accounts["pending"].tolist() == accounts["reserved"].tolist() == [0] * 3
        )
        assert all(fleet.certificate(one).holds for one in range(3))
    assert line > 100


def test_bad_input_leaves_the_fleet_as_it_was() -> None:
    fleet = Fleet(TOLD, 0.8, 4)
    fleet.ask([1, 2])
    before = (fleet._rows.accounts.copy(), fleet._rows.arms.copy(), fleet._rows.out.copy())
    calls: list[tuple[Any, str]] = [
        (lambda: fleet.ask([1]), "which must list selectors with no decision out, got 1"),
        (lambda: fleet.ask([0, 0]), "which must list each selector once, got 0 twice"),
        (lambda: fleet.ask([4]), "which must list numbers from 0 to 3"),
        (lambda: fleet.ask([0.5]), "which must list selectors by number"),
        (lambda: fleet.tell([0], [1.0]), "which must list selectors with a decision out, got 0"),
        (lambda: fleet.tell([1, 1], [1.0, 1.0]), "which must list each selector once"),
        (lambda: fleet.tell([1, 2], [1.0]), "successes must hold 2 numbers"),
        (lambda: fleet.tell([1], [1.5]), "successes must lie between 0 and 1"),
        (lambda: fleet.tell([1], [np.nan]), "successes must lie between 0 and 1"),
        (lambda: fleet.tell([1], ["x"]), "successes must hold one number per selector listed"),
        (lambda: fleet.tell([1], [1.0], [-1.0]), "costs must be finite and at least 0"),
        (lambda: fleet.expire([0]), "which must list selectors with a decision out"),
        (lambda: fleet.certificate(9), "which must list numbers from 0 to 3"),
    ]
    for call, message in calls:
        with pytest.raises(InvalidArgument) as error:
            call()
        assert str(error.value).startswith(message)
    now = (fleet._rows.accounts, fleet._rows.arms, fleet._rows.out)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(before, now, strict=True))
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"menu": 1}, "menu must be a Menu"), ({"size": 0}, "size must be at least 1"), ({"target": 2}, "target must lie"),
        *(
            ({"learning": Learning(bounds=bounds)}, 'bounds must be "auto", "half-log", "kl" or "hoeffding" for a fleet')
            for bounds in ("paper", "ordered", "interval-closure")
        ),
        ({"learning": "kl"}, "learning must be a suffice.Learning"),
        ({"learning": Learning(memory="full")}, "learning must leave memory out for a fleet"),
    ]  # fmt: skip
    for bad, message in wrong:
        with pytest.raises(InvalidArgument, match=message):
            Fleet(**{"menu": KNOWN, "target": 0.8, "size": 3, **bad})


def test_costs_must_be_told_where_they_are_not_known() -> None:
    fleet = Fleet(TOLD, 0.5, 1)
    while (arm := int(fleet.ask()[0])) == 3:
        fleet.tell(None, [1.0])
    assert arm < 3
    with pytest.raises(InvalidArgument, match="costs must be told"):
        fleet.tell(None, [1.0])
    fleet.tell(None, [1.0], [0.4])


def test_only_a_whole_success_is_one() -> None:
    fleet = Fleet(KNOWN, 0.8, 2)
    fleet.ask()
    fleet.tell(None, [1.0, 0.9999999999999999])
    assert [fleet.certificate(one).successes for one in (0, 1)] == [1, 0.999999999]
