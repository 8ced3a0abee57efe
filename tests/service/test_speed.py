"""What the service's time grows with, as ratios of the CPU time of server processes that take turns; nothing absolute.

CPU is that of the server alone, so that a busy machine spoils little; and a ratio that fails is measured again.
"""

import contextlib
import statistics
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from tests.support.recount import Shape, check, read_sqlite

pytest.importorskip("uvloop")
from benchmarks.service_world import NAME, PLAN, Clients, Server, clients, fill, serving

ASKS, TELLS = 10.0, 5.0  # times the CPU of a decision in a list of 100 that a single call takes, at least

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads CPU times from /proc")


@pytest.fixture(scope="module")
def some() -> Iterator[Clients]:
    with clients() as found:
        yield found


def spent(some: Clients, server: Server, what: str, **more: object) -> float:
    """Seconds of CPU that the server takes for a decision."""
    before = server.cpu
    done = some.do(server, what, seconds=60.0, **more)
    return (server.cpu - before) / done.decisions


def holds(least: float, measure: Callable[[], float], tries: int = 4) -> bool:
    """Whether a ratio is at least so large, in one of several tries."""
    return any(measure() >= least for _ in range(tries))


def ratio(one: Callable[[], float], other: Callable[[], float], rounds: int = 5) -> float:
    """How many times the other the one takes: the median of some rounds, in each of which both have a turn."""
    return statistics.median(one() / other() for _ in range(rounds))


@pytest.fixture(scope="module")
def server(some: Clients) -> Iterator[Server]:
    with serving("memory:") as found:
        some.do(found, "put", names=(NAME,), plan=PLAN, clients=1)
        spent(some, found, "pair", most=500)
        yield found


def test_asks_in_lists_are_cheap(some: Clients, server: Server) -> None:
    def once() -> float:
        return ratio(
            lambda: spent(some, server, "ask", most=400), lambda: spent(some, server, "ask", size=100, most=4_000)
        )

    assert holds(ASKS, once)


def test_outcomes_in_lists_are_cheap(some: Clients, server: Server) -> None:
    def tell(size: int, count: int) -> float:
        some.do(server, "ask", size=100, most=count, stock=True, seconds=60.0)
        return spent(some, server, "tell", size=size)

    assert holds(TELLS, lambda: ratio(lambda: tell(0, 400), lambda: tell(100, 4_000)))


def test_a_long_past_costs_nothing(some: Clients, tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        found = []
        for count in (1_000, 100_000):
            fill(tmp_path / f"{count}.db", count)
            found.append(stack.enter_context(serving(f"sqlite:///{tmp_path / f'{count}.db'}")))
            spent(some, found[-1], "ask", most=400)
        short, long = found
        assert holds(
            1 / 1.5,
            lambda: ratio(lambda: spent(some, short, "ask", most=400), lambda: spent(some, long, "ask", most=400)),
        )


def test_the_past_is_one_that_could_have_been(tmp_path: Path) -> None:
    fill(tmp_path / "past.db", 3_000, selectors=3)
    found = read_sqlite(tmp_path / "past.db")
    [verdict] = check(found, {NAME: Shape(Fraction("0.9"), (0.0, 0.05, 0.1, 0.2, 0.5, 1.0))})
    assert verdict.outcomes == 3_000
