"""Millions of hostile steps of the account, compiled, beside a compiled checker that shares no arithmetic with it."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from suffice.kernels.compiler import available, compiled
from suffice.kernels.rows import Rows, to_rows
from suffice.promise.record import Account
from suffice.promise.rules import Promise
from tests.support.storm import OK, RESULTS, storm

pytestmark = pytest.mark.skipif(not available(), reason="there is no compiler")

WORLDS: list[dict[str, Any]] = [
    {"target": 0.9, "max_debt": 5, "in_flight": 200},
    {"target": 0.9, "max_debt": 0, "in_flight": 0, "max_surplus": 5},
    {"target": 0.999, "max_debt": 1, "in_flight": 0, "max_surplus": 200, "forgiving": True},
    {"target": 0.5, "max_debt": 0.25, "in_flight": 10_000, "max_surplus": 0.3, "forgiving": True},
    {"target": 2 / 3, "max_debt": 12.345678901, "in_flight": 37, "max_surplus": 1000},
    {"target": 0.01, "max_debt": 100, "in_flight": 3, "max_surplus": 2, "forgiving": True},
]
STEPS = 10**7


Limits = tuple[int, int, int]


def opened(arguments: dict[str, Any]) -> tuple[Rows, Limits]:
    """An account, and its limits as the user wrote them: they are not read from the account."""
    given = {"max_surplus": 40, **arguments}
    limits = math.floor(Fraction(str(given["max_debt"])) * 10**9), given["in_flight"]
    banked = math.floor(given["max_surplus"] * (1 - 2.0**-40) * 10**9)
    return to_rows(Account, [Promise.make(given.pop("target"), **given).open()]), (*limits, banked)


def attack(total: int) -> dict[str, int]:
    """So many steps over all worlds, with safe options that succeed and that fail, and with limits that change."""
    seen, runs = np.zeros(len(RESULTS), np.int64), [
        (place, honest, changes) for place in range(len(WORLDS)) for honest in (True, False) for changes in (False, True)
    ]  # fmt: skip
    for number, (place, honest, changes) in enumerate(runs):
        steps, most = total // len(runs) + 1, (10_000, 100, 2)[number % 3]
        accounts, limits = opened(WORLDS[place])
        told = compiled(storm)(accounts, *limits, 1000 + number, steps, most, honest, changes, seen)
        assert told == OK, (WORLDS[place], honest, changes, told)
    return dict(zip(RESULTS, seen.tolist(), strict=True))


def test_ten_million_hostile_steps_break_nothing() -> None:
    seen = attack(STEPS)
    assert seen["steps"] >= STEPS
    assert seen["most outstanding"] == 10_000
    assert all(seen[name] > 1_000 for name in ("asks", "forced", "insisted", "skipped", "lost", "limits changed"))


@pytest.mark.long
def test_a_billion_hostile_steps_break_nothing() -> None:
    assert attack(10**9)["steps"] >= 10**9


@pytest.mark.parametrize(
    ("name", "by"),
    [
        ("max_debt", 1), ("max_debt", -1), ("max_exposure", 1), ("max_exposure", -1), ("target", 1), ("most_outstanding", 2),
        ("uncovered", -1), ("uncovered", 1), ("reserved", -1), ("owed", -1), ("max_surplus", 900_000_000),
    ],
)  # fmt: skip
def test_the_checker_notices(name: str, by: int) -> None:
    """An account that is wrong by a billionth, or by one decision, is caught."""
    accounts, limits = opened(WORLDS[0])
    accounts[name] += by
    seen = np.zeros(len(RESULTS), np.int64)
    assert compiled(storm)(accounts, *limits, 7, 10**6, 10_000, True, False, seen) != OK
