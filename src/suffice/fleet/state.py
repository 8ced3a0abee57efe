"""Fleets in files: what was told, as arrays; all else is worked out anew from it."""

import io
import json
import os
from dataclasses import fields
from typing import Any, Final

import numpy as np

from suffice.errors import StateError
from suffice.fleet.fleet import Fleet
from suffice.kernels.rows import Rows, to_rows
from suffice.learning.arm_blocks import MOST_COUNTED
from suffice.menu.menu import Menu
from suffice.numbers import ONE_SUCCESS
from suffice.promise.account import CARRIED, Account, grow, merge_of
from suffice.promise.rules import Promise
from suffice.selector.state import HINTS, KEPT
from suffice.state_files import FORMAT, VERSION, check_version, write_bytes

COUNTS: Final = tuple(one.name for one in fields(Account) if merge_of[one.name] != "own" or one.name in KEPT)
TALLY: Final = ("plays", "successes", "priced", "costs")


def write_fleet(fleet: Fleet, path: str | os.PathLike[str]) -> None:
    """Write a fleet. A crash in the middle leaves the file as it was before."""
    about = {
        "format": FORMAT, "version": VERSION, "kind": "Fleet", "menu": fleet._menu.recipe(), "bounds": fleet._bounds,
        "horizon": fleet._horizon, "promise": fleet._promise.state(),
    }  # fmt: skip
    rows = fleet._rows
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


def _columns(rows: Rows, names: tuple[str, ...]) -> Any:
    return np.stack([rows[name] for name in names], axis=-1)


def read_fleet(cls: type[Fleet], path: str | os.PathLike[str]) -> Fleet:
    """The fleet in a file, or a StateError that says what is wrong with it."""
    try:
        with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as file:
            about = json.loads(str(file["about"]))
            if about["format"] != FORMAT or about["kind"] != "Fleet":
                raise StateError(f"{path} is not a fleet of suffice")
            check_version(path, about["version"])
            promise = Promise.from_state(about["promise"])
            fleet = cls(
                Menu.from_recipe(about["menu"]), promise.rate, len(file["out"]), about["horizon"],
                max_surplus=promise.max_surplus if promise.step is None else None, cap=promise.cap, step=promise.step,
                start=promise.start, bounds=about["bounds"],
            )  # fmt: skip
            _restore(fleet, promise, file["counts"], file["hints"], file["tally"], file["out"])
    except (FileNotFoundError, StateError):
        raise
    except Exception as error:
        raise StateError(f"{path} is not a fleet that can be read: {type(error).__name__} {error}") from error
    return fleet


def _restore(fleet: Fleet, promise: Promise, counts: Any, hints: Any, tally: Any, out: Any) -> None:
    """Take over what was saved."""
    size, arms = len(fleet), fleet._menu.n_arms
    shapes = (counts.shape, hints.shape, tally.shape, out.shape)
    if shapes != ((size, len(COUNTS)), (size, len(HINTS)), (size, arms, len(TALLY)), (size,)):
        raise StateError("the numbers do not fit the menu")
    if counts.dtype.kind not in "iu" or out.dtype.kind not in "iu":
        raise StateError("counts must be whole numbers")
    check_numbers(fleet, promise, dict(zip(COUNTS, counts.T, strict=True)), hints, np.moveaxis(tally, 2, 0), out)
    accounts = to_rows(Account, [_account(promise, row) for row in counts.tolist()])
    pricings, rows = fleet._rows.pricings.copy(), fleet._rows.arms.copy()
    for place, name in enumerate(HINTS):
        pricings[name] = hints[:, place]
    for place, name in enumerate(TALLY):
        rows[name] = tally[:, :, place]
    unplayed = (tally[:, int(fleet._menu.has_skip) : -1, 0] == 0.0).sum(axis=1)
    fleet._promise = promise
    steps = np.array(accounts["outcomes"])
    fleet._rows.restore(accounts, pricings, rows, steps, unplayed, np.asarray(out, dtype=np.int64))


def _account(promise: Promise, counts: list[int]) -> Account:
    account = promise.open()
    for name, value in zip(COUNTS, counts, strict=True):
        setattr(account, name, value)
    grow(account)
    return account


def check_numbers(fleet: Fleet, promise: Promise, counts: dict[str, Any], hints: Any, tally: Any, out: Any) -> None:
    """Refuse numbers that contradict each other: compiled code takes them as they are."""
    plays, successes, priced, costs = tally
    waits, last, told = out >= 0, fleet._menu.n_arms - 1, counts["outcomes"]
    skips = (out == 0) & fleet._menu.has_skip
    sound = [
        (hints >= 0.0) & (hints <= 1e300),  # also false where it is not a number
        *((column >= 0) & (column <= MOST_COUNTED * ONE_SUCCESS) for column in counts.values()),
        (told == plays.sum(axis=1)) & (told <= MOST_COUNTED),
        [owed == promise.target * int(n) for owed, n in zip(_totals(counts, "owed"), told.tolist(), strict=True)],
        (counts["shortfall"] <= counts["worst_shortfall"]) & (counts["worst_shortfall"] <= promise.target * told),
        [won <= ONE_SUCCESS * int(n) for won, n in zip(_totals(counts, "successes"), told.tolist(), strict=True)],
        (plays >= 0.0) & (plays == np.floor(plays)) & (successes >= 0.0) & (successes <= plays),
        (priced >= 0.0) & (priced <= plays) & (costs >= 0.0) & (costs <= priced * fleet._menu.safe_cost * (1 + 1e-9)),
        (out >= -1) & (out <= last),
        counts["outstanding"] == (waits & (out != last)),
        counts["not_skips"] == (waits & ~skips),
    ]
    if not all(np.all(test) for test in sound):
        raise StateError("the numbers of the fleet contradict each other")


def _totals(counts: dict[str, Any], name: str) -> list[int]:
    """Sums with what was carried over, as whole numbers of any length."""
    pairs = zip(counts[name].tolist(), counts["carried"].tolist(), strict=True)
    return [value + carried * CARRIED for value, carried in pairs]
