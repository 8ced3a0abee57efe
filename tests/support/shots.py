"""Pictures of the page, for people to look at: `python tests/shots.py OUT`.

A real server with decisions flowing; list, a selector that keeps its promise, one that does not, and the form; light and dark,
on a phone and on a desk.
"""

import argparse
import itertools
import random
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser

from tests.support.browser import find, launched
from tests.support.sites import Judge, Site, fail_until, serving
from tests.support.visiting import Visitor
from tests.support.watching import NARROW, WIDE, sticking_out

MODELS: dict[str, Any] = {
    "menu": {
        "kind": "options",
        "options": {"small model": 0.02, "medium model": 0.1, "large model": 0.35},
        "safe": "a person",
        "skip": "no answer",
    },
    "target": 0.9,
}
RANKS: dict[str, Any] = {"menu": {"kind": "top_k", "ks": [1, 2, 3, 5, 10, 20, 50], "classes": 100}, "target": 0.95}
APIS: dict[str, Any] = {
    "menu": {"kind": "subsets", "prices": {"aurora": 0.2, "borealis": 0.3, "cirrus": 0.5}, "safe": "all and a person",
             "safe_cost": 4},
    "target": 0.85,
}  # fmt: skip


def skilled(rates: dict[str, float], seed: int) -> Judge:
    """Options succeed at these rates, by the text of the option; halfway the first of them gets worse."""
    draw, count = random.Random(seed), 0

    def judge(asked: dict[str, Any]) -> float:
        nonlocal count
        count += 1
        if asked["safe"] or asked["skip"]:
            return float(asked["safe"])
        rate = rates.get(str(asked["option"]), 0.8)
        return float(
            draw.random() < (rate * 0.8 if count > 2_000 and str(asked["option"]) == next(iter(rates)) else rate)
        )

    return judge


def seed(site: Site) -> None:
    """Selectors in all states."""
    site.make("support-answers", MODELS)
    site.make("search-results", RANKS)
    site.make("vision-apis", APIS)
    site.make("translation", MODELS, target=0.97)
    for name in ("moderation", "refunds"):
        site.make(name, MODELS, target=0.99 if name == "refunds" else 0.9)
    site.make("invoices", MODELS, expire_after=1)
    site.make("new-in-town", RANKS)
    site.make("by-region", MODELS, model="auto")


def keep_flowing(site: Site, broken: threading.Event, ended: threading.Event) -> Callable[[], None]:
    """What asks and tells until it has ended; some of it only until it breaks."""
    streams = [
        ("support-answers", skilled({"small model": 0.85, "medium model": 0.92, "large model": 0.96}, 3)),
        ("search-results", skilled({"5": 0.9, "10": 0.95, "20": 0.97}, 4)),
        ("vision-apis", skilled({"['aurora']": 0.8, "['borealis']": 0.86}, 5)),
        ("translation", skilled({"large model": 0.98, "medium model": 0.95, "small model": 0.8}, 6)),
    ]

    turns = itertools.cycle(("north", "south", "islands"))
    contexts = [{"length": 10 * number, "task": "summary"} for number in range(4)]
    doubtful, clumsy = skilled({"small model": 0.8}, 7), skilled({"small model": 0.7}, 8)

    def flow() -> None:
        while not ended.wait(0.05):
            for name, judge in streams:
                site.flow(name, 12, judge, at_once=4)
            site.flow("by-region", 4, doubtful, at_once=4, group=next(turns), contexts=contexts)
            if not broken.is_set():
                site.flow("moderation", 4, clumsy)
                site.flow("refunds", 2, lambda one: float(one["decision"] % 3 != 0))
                site.ask("invoices", 1)

    return flow


VIEWS = {
    "list": "",
    "kept": "selectors/support-answers",
    "breach": "selectors/moderation",
    "infeasible": "selectors/refunds",
    "feedback": "selectors/invoices",
    "groups": "selectors/by-region",
    "new": "new",
}


def shoot(browser: Browser, site: Site, folder: Path) -> None:
    """Take them all."""
    for scheme in ("light", "dark"):
        for window in (NARROW, WIDE):
            visitor = Visitor(browser, site, viewport=window, color_scheme=scheme)
            for name, route in VIEWS.items():
                page = visitor.go(route)
                page.wait_for_timeout(1_500)  # for what is live to come in
                path = folder / f"{name}-{scheme}-{window['width']}.png"
                page.screenshot(path=path, full_page=True)
                print(path.name, *sticking_out(page), sep="\n  ")
            for trouble in visitor.close():
                print(f"  {trouble}")


def main() -> None:
    """Seed a server, let it flow, take the pictures."""
    parser = argparse.ArgumentParser(prog="python tests/shots.py", description="Pictures of the page.")
    parser.add_argument("out", type=Path, help="the folder to write them to")
    parser.add_argument("--seconds", type=float, default=30.0, help="how long decisions flow before the first one")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as site:
        seed(site)
        broken, ended = threading.Event(), threading.Event()
        flowing = threading.Thread(target=keep_flowing(site, broken, ended))
        flowing.start()
        try:
            time.sleep(given.seconds)
            broken.set()
            time.sleep(1)  # what was under way
            fail_until(site, "moderation", "breach")
            with launched(find()) as browser:
                shoot(browser, site, given.out)
        finally:
            ended.set()
            flowing.join()


if __name__ == "__main__":
    main()
