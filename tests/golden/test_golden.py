"""Golden traces: a fifth of them in the engine at hand, and tests of the comparison itself. All of them: `make golden`."""

import dataclasses
import subprocess
import sys

import pytest

from tests.golden import __main__ as command_line
from tests.golden.checking import compare
from tests.golden.configurations import ALL, run
from tests.golden.reading import NAMES, number
from tests.golden.records import Configuration, Moment, Numbers, Run, Trace
from tests.golden.traces import difference, places, read, trace_of

EVERY = 5


@pytest.mark.parametrize("begin", range(4))
def test_a_part_of_the_traces_is_as_recorded(begin: int) -> None:
    some = ALL[::EVERY][begin::4]
    assert [(one.name, said) for one, said in compare(some) if said] == []


def test_each_configuration_is_recorded_and_nothing_else() -> None:
    assert list(read()) == [one.name for one in ALL]
    assert len({one.name for one in ALL}) == len(ALL)


# --- a difference is found


@pytest.fixture(scope="module")
def one() -> Configuration:
    return next(one for one in ALL if one.name == "selector: late and lost")


@pytest.fixture(scope="module")
def happened(one: Configuration) -> Run:
    return run(one)


@pytest.mark.parametrize("place", [0, 1, 250, 499])
def test_one_other_arm_is_found(one: Configuration, happened: Run, place: int) -> None:
    arms = happened.arms.copy()
    arms[place] = (arms[place] + 1) % 3
    found = difference(read()[one.name], trace_of(Run(arms, happened.prices, happened.moments)))
    assert found == "arms differ, and none of the sampled prices"


@pytest.mark.parametrize(("change", "is_found"), [(1e-5, True), (-1e-4, True), (1e-8, False)])
def test_another_price_is_found(one: Configuration, happened: Run, change: float, is_found: bool) -> None:
    place = places(len(happened.arms))[7]
    prices = happened.prices.copy()
    prices[place] = (prices[place] or 0.0) * (1.0 + change)
    found = difference(read()[one.name], trace_of(Run(happened.arms, prices, happened.moments)))
    assert (found is not None) == is_found
    assert not is_found or f"price at ask {place}" in str(found)


@pytest.mark.parametrize("place", range(len(NAMES)), ids=NAMES)
def test_any_other_number_of_a_certificate_is_found(one: Configuration, happened: Run, place: int) -> None:
    part: Numbers = happened.moments[-1].parts[0].copy()
    was = part[place]
    part[place] = was + 1 if isinstance(was, int | float) else None
    found = difference(read()[one.name], trace_of(_with_last(happened, part)))
    assert f"moment 3, part 0, {NAMES[place]}: " in str(found)


def _with_last(happened: Run, part: Numbers) -> Run:
    return Run(happened.arms, happened.prices, [*happened.moments[:-1], Moment((part,))])


def test_a_missing_moment_part_or_arm_is_found(one: Configuration, happened: Run) -> None:
    recorded, now = read()[one.name], trace_of(happened)
    for other in (
        dataclasses.replace(now, moments=now.moments[:-1]),
        dataclasses.replace(now, moments=(*now.moments[:-1], Moment(()))),
        dataclasses.replace(now, asks=now.asks - 1),
        dataclasses.replace(now, prices=now.prices[:-1]),
    ):
        assert difference(recorded, other) is not None


def test_numbers_that_json_does_not_know_are_kept() -> None:
    assert [number(value) for value in (float("inf"), float("-inf"), float("nan"), None, True)] == [
        "inf", "-inf", "nan", None, 1,
    ]  # fmt: skip
    same = Trace("", 60, ["inf", None, "nan"], ())
    assert difference(same, same) is None
    others: list[Numbers] = [["inf", 1.0, "nan"], ["-inf", None, "nan"], ["inf", None, 0.0]]
    assert all(difference(same, Trace("", 60, other, ())) for other in others)
    endless = [trace for trace in read().values() if any("inf" in part for m in trace.moments for part in m.parts)]
    assert len(endless) > 10


@pytest.mark.parametrize(("codes", "whole"), [((0, 0), True), ((1, 0), False), ((0, -11), False), ((-11, 0), False)])
def test_an_engine_that_crashes_fails_the_comparison(
    codes: tuple[int, int], whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = list(codes)
    monkeypatch.setattr(sys, "argv", ["tests.golden"])
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, left.pop(0)))
    assert (command_line.main() == 0) is whole
