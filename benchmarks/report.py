"""What was measured, as a page of Markdown and a figure."""

import importlib.metadata
import os
import platform
import re
import subprocess
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.contestants import Holder, Plain, SufficeHalfLog, SufficeHoeffding
from benchmarks.extras import Row
from benchmarks.measure import Kind, Plan, Timing

OURS = SufficeHalfLog  # what ratios are taken to: the default


def page(
    timings: Sequence[Timing], created: list[Row], rows: list[Row], service: str, agreed: str, plan: Plan, took: float
) -> str:
    """The whole report."""
    cells = {(timing.kind, timing.n): timing for timing in timings}
    kinds = list(dict.fromkeys(timing.kind for timing in timings))
    parts = [
        "# Benchmarks\n\nWritten by `python -m benchmarks`; do not edit.",
        _machine(kinds, plan, took),
        "## Who is timed\n\n"
        + table(["", "what it is; what feedback it gets; what it guarantees"], [_who(k) for k in kinds]),
        "The bandits solve another problem: they look for the most successes, know nothing of costs and hold no rate. "
        "Their times say what a decision costs in a well-known library, not that one could replace the other.",
        "## Time per decision\n\nMicroseconds of CPU for one decision and its outcome (ask + tell, pull + update, "
        f"predict + fit): the median over blocks.\n\n{_grid(kinds, cells, plan, _time)}\n\n"
        "![time per decision against n](decision_time.svg)",
        f"## Ratios\n\nTime of the row divided by time of {OURS.label}, our default; for NumPy with hoeffding "
        f"bounds, by {SufficeHoeffding.label}, which does the same work. Above 1: slower than ours.\n\n"
        + _grid(kinds, cells, plan, _ratio),
        "The other way round, our time divided by that of the same algorithm in NumPy:\n\n"
        + _grid([kind for kind in kinds if issubclass(kind, Plain)], cells, plan, _inverse),
        _missing(timings),
        "## Beneath the medians\n\nOf the holders of a rate: the quartiles and the mean of the same blocks "
        "(microseconds), and the share of timed asks that were interior, where an arm has to be chosen and neither "
        "the safe option nor a skip is forced.\n\n" + _details(timings),
        f"{agreed} They have no ids, locks, late outcomes, expiry, saving or certificate.",
        "With many arms only few have been played by the time that timing starts, as in real use. River and MABWiser "
        "are given one outcome per arm before it, which is how UCB begins; Vowpal Wabbit and PyBandits start from "
        "their priors.",
        "## Creating\n\n" + table(["n", "menu", "selector"], created),
        "## Other times\n\n" + table(["what", "CPU time or pace", "remark"], rows),
        f"## The service\n\n{service}" if service else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _machine(kinds: list[Kind], plan: Plan, took: float) -> str:
    packages = dict.fromkeys(["suffice", "numpy", "numba", *(kind.package for kind in kinds)])
    versions = ", ".join(f"{package} {_version(package)}" for package in packages)
    kind = "Quick run: rough numbers, for a look only" if plan.quick else "Full run"
    return (
        f"- {kind}, {datetime.now(UTC):%Y-%m-%d}, {took / 60:.1f} minutes.\n"
        f"- Machine: {_processor()}, {os.cpu_count()} cores, {platform.system()}; no GPU is used.\n"
        f"- {platform.python_implementation()} {platform.python_version()}; {versions}.{_commit()}\n"
        f"- One process. The contestants of a size take turns in blocks of about {plan.block * 1e3:g} ms, up to "
        f"{plan.rounds} blocks each; CPU time of the process; garbage collection between the blocks."
    )


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found.group(1).strip() if found else platform.machine()


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"


def _commit() -> str:
    """Which suffice this was: its version alone does not say, while it is being worked on."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", str(here), *words], capture_output=True, text=True, check=True).stdout

    try:
        commit, changes = git("rev-parse", "--short", "HEAD").strip(), git("status", "--porcelain", "--", "../src")
    except (OSError, subprocess.CalledProcessError):
        return ""  # not a checkout
    return f" suffice at commit {commit}{', with changes not committed' if changes else ''}."


def _who(kind: Kind) -> list[str]:
    return [f"**{kind.label}**", (kind.__doc__ or "").splitlines()[0]]


Cells = dict[tuple[Kind, int], Timing]


def _grid(kinds: list[Kind], cells: Cells, plan: Plan, show: Callable[[Cells, Kind, int], str]) -> str:
    head = ["n =", *(f"{n:,}" for n in plan.sizes)]
    return table(head, [[kind.label, *(show(cells, kind, n) for n in plan.sizes)] for kind in kinds], right=True)


def _time(cells: Cells, kind: Kind, n: int) -> str:
    timing = cells[kind, n]
    return "not measured" if timing.reason else number(timing.median)


def _ratio(cells: Cells, kind: Kind, n: int) -> str:
    found = _relative(cells, kind, n)
    return "–" if found is None else number(found)


def _inverse(cells: Cells, kind: Kind, n: int) -> str:
    found = _relative(cells, kind, n)
    return "–" if found is None else number(1.0 / found)


def _relative(cells: Cells, kind: Kind, n: int) -> float | None:
    same = SufficeHoeffding if issubclass(kind, Plain) and kind.bounds == "hoeffding" else OURS
    base, timing = cells.get((same, n)), cells[kind, n]
    if timing.reason or base is None or base.reason:
        return None
    return timing.median / base.median


def _missing(timings: Sequence[Timing]) -> str:
    sizes: dict[tuple[str, str], list[str]] = {}
    for timing in timings:
        if timing.reason:
            sizes.setdefault((timing.kind.label, timing.reason), []).append(f"{timing.n:,}")
    if not sizes:
        return "Every contestant was measured at every n."
    rows = [[label, " and ".join(ns), reason] for (label, reason), ns in sizes.items()]
    return "Not measured, and why:\n\n" + table(["", "n", "reason"], rows)


def _details(timings: Sequence[Timing]) -> str:
    rows = [
        [t.kind.label, f"{t.n:,}", *(number(x) for x in (*t.quartiles, t.mean)), f"{t.steps:,}", t.note]
        for t in timings
        if issubclass(t.kind, Holder) and not t.reason
    ]
    return table(["", "n", "lower quartile", "upper quartile", "mean", "steps", "interior"], rows, right=True)


def number(value: float) -> str:
    """Three digits, never in powers of ten.

    >>> number(0.01234), number(1.5), number(123456.0)
    ('0.0123', '1.50', '123,000')
    """
    rounded = float(f"{value:.3g}")
    if rounded >= 100:
        return f"{rounded:,.0f}"
    if rounded >= 10:
        return f"{rounded:.1f}"
    return f"{rounded:.2f}" if rounded >= 1 else f"{rounded:.3g}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: bool = False) -> str:
    """A table in Markdown."""
    rule = ["---", *(["---:" if right else "---"] * (len(head) - 1))]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *rows))
