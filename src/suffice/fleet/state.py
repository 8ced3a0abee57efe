"""Fleets in files: what was counted, as arrays. All else is computed again from it."""

import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

import numpy as np

from suffice.errors import StateError
from suffice.fleet.rows import FleetRows
from suffice.kernels.rows import Floats, Ints, Rows, to_rows
from suffice.learning.arm_blocks import MOST_COUNTED
from suffice.menu.menu import Menu
from suffice.numbers import ONE_SUCCESS
from suffice.promise.account import grow
from suffice.promise.record import CARRIED, Account, merge_of
from suffice.promise.rules import Promise
from suffice.selector.state import COUNTED, HINTS
from suffice.state_files import FORMAT, VERSION, check_version, write_bytes

COUNTS: Final = tuple(name for name in merge_of if name in COUNTED)
TALLY: Final = ("plays", "successes", "priced", "costs")


class SavedFleet(NamedTuple):
    """The contents of a file."""

    menu: Menu
    promise: Promise
    bounds: str
    horizon: int | None
    counts: Ints  # a row per selector, a column per name in COUNTS
    hints: Floats  # a column per name in HINTS
    tally: Floats  # per selector, arm and name in TALLY
    out: Ints


def write_fleet(
    path: str | os.PathLike[str], menu: Menu, promise: Promise, bounds: str, horizon: int | None, rows: FleetRows
) -> None:
    """Write a fleet. A crash in the middle leaves the file as it was before."""
    about = {
        "format": FORMAT, "version": VERSION, "kind": "Fleet", "menu": menu.recipe(), "bounds": bounds,
        "horizon": horizon, "promise": promise.state(),
    }  # fmt: skip
    buffer = io.BytesIO()
    np.savez(
        buffer,
        about=np.array(json.dumps(about, allow_nan=False)),
        counts=_columns(rows.accounts, COUNTS),
        hints=_columns(rows.pricings, HINTS),
        tally=_columns(rows.arms, TALLY),
        out=rows.out,
    )
    write_bytes(path, buffer.getbuffer())


def _columns(rows: Rows, names: tuple[str, ...]) -> Rows:
    return np.stack([rows[name] for name in names], axis=-1)


@contextmanager
def saved_fleet(path: str | os.PathLike[str]) -> Iterator[SavedFleet]:
    """The fleet in a file. Whatever is wrong with it, also while the body restores it, becomes one StateError."""
    try:
        with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as file:
            about = json.loads(str(file["about"]))
            if about["format"] != FORMAT or about["kind"] != "Fleet":
                raise StateError(f"{path} is not a fleet of suffice")
            check_version(path, about["version"])
            menu, promise = Menu.from_recipe(about["menu"]), Promise.from_state(about["promise"])
            arrays = (file[name] for name in ("counts", "hints", "tally", "out"))
            yield SavedFleet(menu, promise, about["bounds"], about["horizon"], *arrays)
    except (FileNotFoundError, StateError):
        raise
    except Exception as error:
        raise StateError(f"{path} is not a fleet that can be read: {type(error).__name__} {error}") from error


def restore_rows(rows: FleetRows, saved: SavedFleet) -> None:
    """Replace the rows of a new fleet by what was saved, once it is checked: compiled code takes it as it is."""
    counts, hints, tally, out = saved.counts, saved.hints, saved.tally, saved.out
    size, arms = len(out), saved.menu.n_arms
    shapes = (counts.shape, hints.shape, tally.shape, out.shape)
    if shapes != ((size, len(COUNTS)), (size, len(HINTS)), (size, arms, len(TALLY)), (size,)):
        raise StateError("the numbers do not fit the menu")
    if counts.dtype.kind not in "iu" or out.dtype.kind not in "iu":
        raise StateError("counts must be whole numbers")
    _check_numbers(saved)
    accounts = to_rows(Account, [_account(saved.promise, row) for row in counts.tolist()])
    pricings, arm_rows = rows.pricings.copy(), rows.arms.copy()
    for place, name in enumerate(HINTS):
        pricings[name] = hints[:, place]
    for place, name in enumerate(TALLY):
        arm_rows[name] = tally[:, :, place]
    unplayed = (tally[:, int(saved.menu.has_skip) : -1, 0] == 0.0).sum(axis=1)
    steps = np.array(accounts["outcomes"])
    rows.restore(accounts, pricings, arm_rows, steps, unplayed, np.asarray(out, dtype=np.int64))


def _account(promise: Promise, counts: list[int]) -> Account:
    account = promise.open()
    for name, value in zip(COUNTS, counts, strict=True):
        setattr(account, name, value)
    grow(account)
    return account


def _check_numbers(saved: SavedFleet) -> None:
    """Refuse numbers that contradict each other."""
    counts = dict(zip(COUNTS, saved.counts.T, strict=True))
    plays, successes, priced, costs = np.moveaxis(saved.tally, 2, 0)
    target, hints, out, menu = saved.promise.target, saved.hints, saved.out, saved.menu
    waits, last, outcomes = out >= 0, menu.n_arms - 1, counts["outcomes"]
    sound = [
        (hints >= 0.0) & (hints <= 1e300),  # also false where it is not a number
        *(
            (column >= 0) & (column <= MOST_COUNTED * ONE_SUCCESS)
            for name, column in counts.items()
            if name != "expected"
        ),
        (outcomes == plays.sum(axis=1)) & (outcomes <= MOST_COUNTED),
        np.array([owed == target * n for owed, n in zip(_totals(counts, "owed"), outcomes.tolist(), strict=True)]),
        (counts["shortfall"] <= counts["worst_shortfall"]) & (counts["worst_shortfall"] <= target * outcomes),
        np.array(
            [won <= ONE_SUCCESS * n for won, n in zip(_totals(counts, "successes"), outcomes.tolist(), strict=True)]
        ),
        (plays >= 0.0) & (plays == np.floor(plays)) & (successes >= 0.0) & (successes <= plays),
        (priced >= 0.0) & (priced <= plays) & (costs >= 0.0) & (costs <= priced * menu.safe_cost * (1 + 1e-9)),
        (out >= -2) & (out <= last),
        counts["pending"] == waits,
        counts["outstanding"] == (counts["reserved"] > 0),
        (counts["reserved"] == 0) | (waits & (counts["reserved"] == target)),
        (counts["expected"] == 0) | (waits & (np.abs(counts["expected"]) <= ONE_SUCCESS)),
    ]
    if not all(np.all(test) for test in sound):
        raise StateError("the numbers of the fleet contradict each other")


def _totals(counts: dict[str, Ints], name: str) -> list[int]:
    """Sums with what was carried over, as whole numbers of any length."""
    pairs = zip(counts[name].tolist(), counts["carried"].tolist(), strict=True)
    return [value + carried * CARRIED for value, carried in pairs]
