"""What a first use costs: CPU time, user and system, of a fresh process until something runs compiled.

Until then: with an empty cache all of it is compiled, with a warm one it is loaded. A menu of a handful of options, as in
README, uses compiled code only once `warmup()` was called, in versions where the engine is chosen by the menu's size. So the
kind of menu stands here with 70 options, which every version runs compiled: the same functions are compiled for it.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from benchmarks.against_versions import Failed, Version

STEPS: Final = """
selector = suffice.Selector(menu, 0.9)
for _ in range(2):
    selector.tell(selector.ask(), True)
"""
CALLED: Final = "from benchmarks.against_names import called"
MENUS: Final = {
    "options, as in README": "options = {i: i / 100 for i in range(70)}\n"
    "menu = called(suffice.Menu, options, safe='all', skip='none', safe_cost=1.0)",
    "a chain": "menu = called(suffice.Menu.top_k, range(1, 71), classes=100, skip=True)",
    "intervals": "menu = called(suffice.Menu.intervals, step=0.05, skip=True)",
}
SCRIPTS: Final = {
    **{
        name: f"import suffice\nfrom benchmarks.against_names import called\n{menu}\n{STEPS}"
        for name, menu in MENUS.items()
    },
    "warmup()": "import suffice\nsuffice.warmup()",
}


@dataclass(frozen=True, slots=True)
class Start:
    """One row: seconds of CPU of each run, old and new in turn."""

    label: str
    old: list[float]
    new: list[float]

    @property
    def ratio(self) -> float:
        """New divided by old, of the medians."""
        return statistics.median(self.new) / statistics.median(self.old)


def starts(old: Version, new: Version, repeats: int, only: list[str], say: Callable[[str], None]) -> Iterator[Start]:
    """All rows: with an empty cache, then with the one that this has left."""
    for name, script in SCRIPTS.items():
        if only and not any(part in name for part in only):
            continue
        empty, warm = Start(f"{name}, empty cache", [], []), Start(f"{name}, warm cache", [], [])
        for turn in range(repeats):
            say(f"{name}: {turn + 1} of {repeats}")
            _turn(old, new, script, turn % 2 > 0, empty, warm)
        yield empty
        yield warm


def _turn(old: Version, new: Version, script: str, swapped: bool, empty: Start, warm: Start) -> None:
    """Each version once with an empty cache, and twice with the one that it has left."""
    order = [(old, empty.old, warm.old), (new, empty.new, warm.new)]
    with ExitStack() as stack:
        caches = {id(first): stack.enter_context(tempfile.TemporaryDirectory()) for _, first, _ in order}
        for version, first, _ in order[:: -1 if swapped else 1]:
            first.append(_cpu(version, script, caches[id(first)]))
        for _ in range(2):
            for version, first, later in order[:: -1 if swapped else 1]:
                later.append(_cpu(version, script, caches[id(first)]))


def _cpu(version: Version, script: str, cache: str) -> float:
    environment = version.environment(NUMBA_CACHE_DIR=cache, SUFFICE_NO_COMPILE="")
    process = subprocess.Popen([sys.executable, "-c", script], env=environment)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)  # it is no longer there to be waited for
    if process.returncode:
        raise Failed(f"a process of {version.name} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime
