"""The page in a real Chromium on a store with a past: `python -m benchmarks.page` (`--deep`: ten million decisions).

First paint is what the browser itself reports. What an update costs the server is the CPU of its process with the page open,
less that without it, in turns, while three decisions a second flow; divided by how often the page has shown something new.
"""

import argparse
import importlib
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx

from benchmarks.measure import why
from benchmarks.service_world import NAME, Server, fill, serving

SELECTORS: Final = 50
chromium: Any = importlib.import_module("tests.support.browser")  # which a checker must not see under two names
FRAMES: Final = """() => {
    window.gaps = [];
    let last = performance.now();
    const frame = (now) => { window.gaps.push(now - last); last = now; requestAnimationFrame(frame); };
    requestAnimationFrame(frame);
}"""
CHANGES: Final = """() => {
    window.changes = 0;
    const observer = new MutationObserver(() => { window.changes += 1; });
    const tile = document.querySelector("[data-test=tile-outcomes]");
    observer.observe(tile, { subtree: true, childList: true, characterData: true });
}"""
PAINT: Final = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to measure."""

    decisions: int = 1_000_000
    loads: int = 9
    rounds: int = 5
    block: float = 6.0  # seconds


QUICK: Final = Effort(decisions=100_000, loads=3, rounds=2, block=3.0)
DEEP: Final = Effort(decisions=10_000_000)


@contextmanager
def flow(server: Server, pace: float = 3.0) -> Iterator[None]:
    """Decisions, so many a second, while something else is looked at."""
    ended = threading.Event()

    def go() -> None:
        with httpx.Client(base_url=f"http://127.0.0.1:{server.port}/v1/selectors/{NAME}") as http:
            while not ended.wait(1.0 / pace):
                number = http.post("/ask").json()["decision"]
                http.post("/tell", json={"decision": number, "success": True})

    thread = threading.Thread(target=go, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def opened(browser: Any, server: Server, route: str) -> tuple[Any, float, float]:
    """A page as a new visitor sees it; milliseconds to its first paint, and until its data is shown."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.goto(f"http://127.0.0.1:{server.port}/{route}")
    page.wait_for_selector("body[data-ready=true]", timeout=60_000)
    if route != "#/":
        page.wait_for_selector("[data-test=chart-shares][data-points]:not([data-points='0'])")
    shown = float(page.evaluate("performance.now()"))
    while (paint := page.evaluate(PAINT)) is None:  # the page's policy lets nobody evaluate a text in it
        page.wait_for_timeout(20)
    return page, float(paint), shown


def visits(browser: Any, server: Server, route: str, count: int) -> tuple[list[float], list[float]]:
    """The same of several visitors."""
    paints, shows = [], []
    for _ in range(count):
        page, paint, shown = opened(browser, server, route)
        page.context.close()
        paints.append(paint)
        shows.append(shown)
    return paints, shows


def updates(browser: Any, server: Server, route: str, effort: Effort) -> tuple[list[float], float, list[float]]:
    """Milliseconds of the server's CPU per update, by rounds; updates a second; milliseconds between two frames."""
    costs, seconds, counted, gaps = [], 0.0, 0, []
    alone = "selectors/" in route  # the list may have nothing new to show: there a look is an update
    with flow(server):
        for _ in range(effort.rounds):
            before = server.cpu
            time.sleep(effort.block)
            without = server.cpu - before
            page, _, _ = opened(browser, server, route)
            page.wait_for_timeout(1500)  # until all is drawn that is drawn once
            page.evaluate(FRAMES)
            seen: list[str] = []
            page.on("request", lambda request, seen=seen: seen.append(request.url))
            if alone:
                page.evaluate(CHANGES)
            before = server.cpu
            page.wait_for_timeout(1000.0 * effort.block)
            spent = server.cpu - before
            gaps += page.evaluate("window.gaps")
            done = page.evaluate("window.changes") if alone else len(seen)
            page.context.close()
            costs.append(1e3 * (spent - without) / max(1, done))
            counted, seconds = counted + done, seconds + effort.block
    return costs, counted / seconds, gaps


def spread(values: list[float]) -> str:
    """The median, and the lowest and the highest."""
    return f"{statistics.median(values):.1f} ({min(values):.1f}–{max(values):.1f})"


def measure(effort: Effort) -> str:
    """All of it, as Markdown."""
    lines = [
        f"`python -m benchmarks.page`. A store with {SELECTORS} selectors, of "
        f"which one has {effort.decisions:,} decisions behind it; Chromium without a "
        "screen, nothing in its cache. The median, and in brackets the lowest and the highest.\n",
        "| | the list | one selector |",
        "|---|---:|---:|",
    ]
    routes = ("#/", f"#/selectors/{NAME}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "suffice.db"
        fill(path, effort.decisions, SELECTORS)
        with serving(f"sqlite:///{path}") as server, chromium.launched(chromium.find()) as browser:
            opened(browser, server, routes[1])[0].context.close()  # what was learned is loaded at the first look
            found = [visits(browser, server, route, effort.loads) for route in routes]
            for place, what in enumerate(("first paint, ms", "all data shown, ms")):
                lines.append(f"| {what} | {spread(found[0][place])} | {spread(found[1][place])} |")
            live = [updates(browser, server, route, effort) for route in routes]
    lines.append(f"| CPU of the server per update, ms | {spread(live[0][0])} | {spread(live[1][0])} |")
    lines.append(f"| updates a second | {live[0][1]:.1f} | {live[1][1]:.1f} |")
    for share in (50, 99):
        worst = [statistics.quantiles(one[2], n=100)[share - 1] for one in live]
        lines.append(f"| {share}% of frames within, ms | {worst[0]:.1f} | {worst[1]:.1f} |")
    return "\n".join(lines)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page", description="The page: first paint and updates.")
    parser.add_argument("--quick", action="store_true", help="half a minute, rough numbers")
    parser.add_argument("--deep", action="store_true", help="ten million decisions instead of one")
    given = parser.parse_args()
    try:
        print(measure(QUICK if given.quick else DEEP if given.deep else Effort()))
    except chromium.NoBrowser as error:
        print(error, file=sys.stderr)
        return 1
    except Exception as error:
        print(f"the page could not be measured: {why(error)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
