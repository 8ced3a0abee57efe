"""Traces: made of runs, kept in a file, and compared."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from .reading import NAMES, number
from .records import Moment, Number, Numbers, Run, Trace

FILE: Final = Path(__file__).parent / "traces.json"
SAMPLES: Final = 20
NEAR: Final = 1e-6


# --- made of runs


def places(asks: int) -> list[int]:
    """The asks whose price is kept."""
    return (
        sorted({min(asks - 1, (2 * sample + 1) * asks // (2 * SAMPLES)) for sample in range(SAMPLES)}) if asks else []
    )


def trace_of(run: Run) -> Trace:
    """What is kept of a run."""
    asks = len(run.arms)
    prices = [number(run.prices[place]) for place in places(asks)]
    return Trace(hashlib.sha256(text_of(run).encode()).hexdigest(), asks, prices, tuple(run.moments))


def text_of(run: Run) -> str:
    """The sequence of arms, one a line."""
    return "".join(f"{arm}\n" for arm in run.arms)


# --- kept in a file


def read() -> dict[str, Trace]:
    """The recorded traces by name."""
    if not FILE.exists():
        return {}
    found: dict[str, Any] = json.loads(FILE.read_text())
    return {name: _again(*row) for name, row in found.items()}


def _again(arms: str, asks: int, prices: Numbers, moments: list[list[Numbers]]) -> Trace:
    return Trace(arms, asks, prices, tuple(Moment(tuple(_whole(part) for part in parts)) for parts in moments))


def _whole(part: Numbers) -> Numbers:
    """Zeros at the end are left out of the file."""
    return part + [0] * (len(NAMES) - len(part))


def _short(part: Numbers) -> Numbers:
    end = len(part)
    while end and part[end - 1] == 0 and isinstance(part[end - 1], int):
        end -= 1
    return part[:end]


def write(traces: dict[str, Trace]) -> None:
    """Record: one line for each configuration, so that differences between versions read well."""
    rows = []
    for name, trace in traces.items():
        moments = [[_short(part) for part in moment.parts] for moment in trace.moments]
        row = json.dumps([trace.arms, trace.asks, trace.prices, moments], separators=(",", ":"), allow_nan=False)
        rows.append(f"{json.dumps(name)}:{row}")
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n")


# --- compared


def difference(recorded: Trace, now: Trace) -> str | None:
    """The first difference, or None. Prices come before arms: they say where arms begin to differ."""
    return next(differences(recorded, now), None)


def differences(recorded: Trace, now: Trace) -> Iterator[str]:
    """Every difference, in words."""
    if recorded.asks != now.asks:
        yield f"{recorded.asks} arms recorded, {now.asks} now"
    if len(recorded.prices) != len(now.prices):
        yield f"{len(recorded.prices)} prices recorded, {len(now.prices)} now"
    arms = "arms differ, " if recorded.arms != now.arms else ""
    for place, was, is_ in zip(places(recorded.asks), recorded.prices, now.prices, strict=False):
        if not near(was, is_):
            yield f"{arms}price at ask {place}: {was} recorded, {is_} now"
    if arms:
        yield "arms differ, and none of the sampled prices"
    if len(recorded.moments) != len(now.moments):
        yield f"{len(recorded.moments)} moments recorded, {len(now.moments)} now"
    for place, (then, later) in enumerate(zip(recorded.moments, now.moments, strict=False), 1):
        yield from _between(place, then, later)


def _between(place: int, then: Moment, later: Moment) -> Iterator[str]:
    if len(then.parts) != len(later.parts):
        yield f"moment {place}: {len(then.parts)} parts recorded, {len(later.parts)} now"
    for part, (old, new) in enumerate(zip(then.parts, later.parts, strict=False)):
        if len(old) != len(new):
            yield f"moment {place}, part {part}: {len(old)} numbers recorded, {len(new)} now"
        for name, was, is_ in zip(NAMES, old, new, strict=False):
            if not near(was, is_):
                yield f"moment {place}, part {part}, {name}: {was} recorded, {is_} now"


def near(was: Number, is_: Number) -> bool:
    """Whether a number is as it was recorded: whole numbers exactly, others to NEAR, absolute or relative."""
    if isinstance(was, float) and isinstance(is_, int | float):
        return abs(was - is_) <= NEAR * max(1.0, abs(was))
    return was == is_
