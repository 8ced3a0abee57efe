"""Fleets in files: one NumPy file (.npz) each, of counts and sums; all else is worked out anew from them."""

import io
import json
import math
import os
from typing import Any

import numpy as np

from suffice.book import COUNTED, LENGTH, OUT, OUT_MIRROR, PARTS, SUCCESSES, TOLD
from suffice.checks import WHOLE
from suffice.errors import NewerState, StateError
from suffice.fleet import Fleet, Floats, Ints, compiled
from suffice.fleet_looking import restore
from suffice.guided import KAPPA
from suffice.kernels import layout as flat
from suffice.kernels import step as kernel
from suffice.kernels.step import OUT_ARM, OUT_CHOSEN
from suffice.learner import HINTS
from suffice.ledger import MOST_COUNTED
from suffice.menu import Menu
from suffice.promise import Promise
from suffice.recipes import again
from suffice.saving import FORMAT, VERSION, write_bytes


def write_fleet(fleet: Fleet, path: str | os.PathLike[str]) -> None:
    """Write a fleet. A crash in the middle leaves the file as it was before."""
    about = {
        "format": FORMAT, "version": VERSION, "kind": "Fleet", "menu": fleet._menu.recipe(), "bounds": fleet._bounds,
        "horizon": fleet._horizon, "promise": fleet._promise.state(),
        "model": None if fleet._looking is None else fleet._looking.recipe(),
        "guard": None if math.isinf(fleet._guard) else fleet._guard,
        "looking": None if fleet._looking is None else fleet._looking.kept(),
    }  # fmt: skip
    buffer = io.BytesIO()
    counts, out = fleet._cells[:, TOLD:COUNTED], fleet._cells[:, OUT_ARM].astype(np.int64)
    hints = fleet._cells[:, [LENGTH + cell for cell in HINTS]]
    text = np.array(json.dumps(about, allow_nan=False))
    chosen = fleet._cells[:, OUT_CHOSEN]
    np.savez(buffer, about=text, counts=counts, tally=fleet._tally(), hints=hints, out=out, chosen=chosen)
    write_bytes(path, buffer.getbuffer())


def read_fleet(cls: type[Fleet], path: str | os.PathLike[str], model: Any) -> Fleet:
    """The fleet in a file, or a StateError that says what is wrong with it."""
    try:
        with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as file:
            about = json.loads(str(file["about"]))
            if about["format"] != FORMAT or about["kind"] != "Fleet":
                raise StateError(f"{path} is not a fleet of suffice")
            if about["version"] > VERSION:
                raise NewerState(f"{path} was written by a later suffice: upgrade suffice")
            if "model" not in about:  # as it was before there were contexts
                about = {"model": None, "guard": KAPPA, "looking": None, **about}
            promise = Promise.from_state(about["promise"])
            fleet = cls(
                Menu.from_recipe(about["menu"]), promise.target, len(file["out"]), about["horizon"],
                cap=promise.cap, step=promise.fixed_step, start=promise.start, bounds=about["bounds"],
                model=again("model", model, about["model"]), guard=about["guard"],
            )  # fmt: skip
            _fill(fleet, promise, file["counts"], file["tally"], file["hints"], file["out"])
            if fleet._looking is not None:
                restore(fleet, fleet._looking, file.get("chosen", 0.0), about["looking"])
    except (FileNotFoundError, StateError):
        raise
    except Exception as error:
        raise StateError(f"{path} is not a fleet that can be read: {type(error).__name__} {error}") from error
    return fleet


def _fill(fleet: Fleet, promise: Promise, counts: Floats, tally: Floats, hints: Floats, out: Ints) -> None:
    """Take over what was saved: the counts and sums that were told. All else is worked out anew from them."""
    shapes = (counts.shape, tally.shape, hints.shape)
    if shapes != ((len(fleet), COUNTED - TOLD), fleet._tally().shape, (len(fleet), len(HINTS))):
        raise StateError("the numbers do not fit the menu")
    if not ((hints >= 0.0) & (hints <= 1e300)).all():
        raise StateError("the numbers of the fleet contradict each other")
    fleet._cells[:, [LENGTH + cell for cell in HINTS]] = hints
    fleet._promise = promise
    fleet._cells[:, :LENGTH] = promise.open()
    fleet._cells[:, TOLD:COUNTED] = counts
    fleet._cells[:, OUT_ARM] = fleet._out[:] = out
    fleet._tally()[:] = tally
    _check(fleet)
    first = int(fleet._menu.has_nothing)
    unseen = fleet._tally()[:, first:-1, 0] == 0.0
    fleet._cells[:, LENGTH + flat.UNSEEN] = unseen.sum(axis=1)
    compiled(kernel.refresh_fleet)(fleet._cells)


def _check(fleet: Fleet) -> None:
    """Refuse numbers that contradict each other: compiled code takes them as they are."""
    book, tally = fleet._cells[:, :COUNTED].T, np.moveaxis(fleet._tally(), 2, 0)
    plays, successes, priced, costs = tally
    counts, waits, last = book[TOLD:COUNTED], fleet._out >= 0, fleet._menu.arms - 1
    nothing = (fleet._out == 0) & fleet._menu.has_nothing
    sound = [
        (counts >= -1.0) & (counts <= MOST_COUNTED),  # also false where it is not a number
        (book[TOLD] >= 0.0) & (book[TOLD] == np.floor(book[TOLD])) & (book[TOLD] >= plays.sum(axis=1)),
        (book[TOLD] == plays.sum(axis=1)) | (fleet._looking is not None),  # what a model chose is not learned from
        (book[SUCCESSES] >= 0.0) & (book[SUCCESSES] + (book[PARTS] > 0) <= book[TOLD]),
        (book[PARTS] >= 0.0) & (book[PARTS] < WHOLE),
        (plays >= 0.0) & (plays == np.floor(plays)) & (successes >= 0.0) & (successes <= plays),
        (priced >= 0.0) & (priced <= plays) & (costs >= 0.0) & (costs <= priced * fleet._menu.max_cost * (1 + 1e-9)),
        (fleet._out >= -1) & (fleet._out <= last),
        book[OUT] == (waits & (fleet._out != last)),
        book[OUT_MIRROR] == (waits & ~nothing),
    ]
    if not all(test.all() for test in sound):
        raise StateError("the numbers of the fleet contradict each other")
