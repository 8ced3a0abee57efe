"""How the CPU time of a server grows, as ratios between servers or requests that are measured in turn.

Only the CPU time of the server counts, so other load matters little; a ratio that fails is measured again.
"""

import statistics
import sys
from collections.abc import Callable, Iterator

import pytest

pytest.importorskip("uvloop")
from benchmarks.service_world import NAME, PLAN, Clients, Server, clients, serving

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads CPU times from /proc")


@pytest.fixture(scope="module")
def load() -> Iterator[Clients]:
    with clients() as processes:
        yield processes


def cpu_of(load: Clients, server: Server, what: str, **more: object) -> float:
    """Seconds of CPU that the server takes for a decision."""
    before = server.cpu
    done = load.do(server, what, seconds=60.0, **more)
    return (server.cpu - before) / done.decisions


def exceeds(least: float, first: Callable[[], float], second: Callable[[], float]) -> bool:
    """Whether the first takes at least so many times as much as the second: the median of 5 rounds, in one of 4 tries."""
    return any(statistics.median(first() / second() for _ in range(5)) >= least for _ in range(4))


def test_lists_are_cheaper_than_single_calls(load: Clients) -> None:
    with serving("memory:") as server:
        load.do(server, "put", names=(NAME,), plan=PLAN, clients=1)
        cpu_of(load, server, "pair", most=500)

        def ask(**more: object) -> float:
            return cpu_of(load, server, "ask", **more)

        def tell(size: int, count: int) -> float:
            load.do(server, "ask", size=100, most=count, stock=True, seconds=60.0)
            return cpu_of(load, server, "tell", size=size)

        assert exceeds(10.0, lambda: ask(most=400), lambda: ask(size=100, most=4_000))
        assert exceeds(5.0, lambda: tell(0, 400), lambda: tell(100, 4_000))
