"""The working tree beside another commit, in one run: `python -m benchmarks.against COMMIT`, or `make bench AGAINST=COMMIT`.

Both versions take turns block by block, in processes of their own, and the result is the ratio of their CPU times with a
95% interval. Times of two runs tell little: a machine changes by more than what is looked for.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.against_cases import PARTS, Case
from benchmarks.against_cold import Start, starts
from benchmarks.against_stats import LIMIT, Ratio, ratio_of
from benchmarks.against_versions import Failed, Version, Worker, versions

Say = Callable[[str], None]
SEED: Final = 20_262
MARK: Final = "**slower**"


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to measure."""

    sessions: int = 8  # in each both versions are started anew
    pairs: int = 10  # of blocks, of each case in each session
    longest: float = 0.4  # seconds for the blocks of a case in a session, where that leaves a pair
    cold: int = 3  # repeats of a cold start


QUICK: Final = Effort(sessions=4, pairs=10, longest=0.15, cold=1)


@dataclass(slots=True)
class Row:
    """A case and what was found; times in seconds per decision."""

    case: Case
    steps: int = 0  # in a block; 0 if that is not known yet
    unit: int = 1
    sessions: list[list[tuple[float, float]]] = field(default_factory=list)
    trouble: str = ""

    def of(self, version: int) -> list[float]:
        """All times of one version: 0 the old one, 1 the new one."""
        return [pair[version] for session in self.sessions for pair in session]

    def median(self, version: int) -> float:
        """Microseconds per decision."""
        return statistics.median(self.of(version)) * 1e6

    @property
    def ratio(self) -> Ratio:
        """New divided by old."""
        return ratio_of(self.sessions)

    def beside(self, other: "Row", version: int) -> Ratio:
        """This case divided by another of the same sessions, within one version."""
        return ratio_of(
            [
                [(theirs[version], ours[version]) for ours, theirs in zip(mine, others, strict=False)]
                for mine, others in zip(self.sessions, other.sessions, strict=True)
            ]
        )


Pair = tuple[Worker, Worker]


class Contest:
    """Rows that are measured in turns."""

    def __init__(self, rows: Sequence[Row], old: Version, new: Version, effort: Effort, say: Say) -> None:
        self._rows, self._versions, self._effort, self._say = rows, (old, new), effort, say
        self._order = random.Random(SEED)

    def run(self) -> None:
        """All sessions."""
        for session in range(self._effort.sessions):
            for plain in (False, True):
                rows = [row for row in self._rows if row.case.plain == plain]
                if rows:
                    self._say(f"session {session + 1} of {self._effort.sessions}{', without a compiler' * plain}")
                    self._run_session(rows, plain)

    def _run_session(self, rows: Sequence[Row], plain: bool) -> None:
        workers: list[Worker] = []
        try:
            workers += [Worker(version, plain=plain) for version in self._versions]
            for worker in workers:
                worker.ready()
            old, new = workers
            for scene in scenes(rows):
                self._play(scene, (old, new))
        finally:
            for worker in workers:
                worker.stop()

    def _play(self, scene: Sequence[Row], pair: Pair) -> None:
        """The rows of one scene in turns."""
        self._say(f"  {scene[0].case.part}")
        ready = [row for row in scene if not row.trouble and self._attempt(row, lambda row: self._make(row, pair))]
        for row in ready:
            row.sessions.append([])
        most = self._effort.pairs
        for turn in range(most):
            # Each row has its blocks of both versions one after the other; the rows take turns in any order.
            for row in self._order.sample(ready, len(ready)):
                if not row.trouble and turn < max(1, min(most, self._pairs(row))):
                    self._attempt(row, lambda row: self._blocks(row, pair))
        for row in scene:
            for worker in pair:
                self._attempt(row, lambda row, worker=worker: self._drop(row, worker))  # type: ignore[misc]

    def _attempt(self, row: Row, what: Callable[[Row], None]) -> bool:
        try:
            what(row)
        except Failed as error:
            row.trouble = row.trouble or str(error)
        return not row.trouble

    def _make(self, row: Row, pair: Pair) -> None:
        """Set up, in both at once; find how many steps make a block, the same for both; and let one block go by.

        The faster version's block is as long as it says: a shorter one would measure the caches that the turn has left cold.
        """
        for worker in pair:
            worker.order("make", row.case.key)
        units = _answers(pair)
        if units[0] != units[1]:
            raise Failed(f"a step is {units[0]} decisions in one version and {units[1]} in the other")
        row.unit = int(units[0])
        if row.steps:
            for worker in pair:
                worker.time(row.case.key, row.steps)
            return
        steps = 1
        while min(spent := [worker.time(row.case.key, steps) for worker in pair]) < row.case.block / 2:
            steps *= 2
        row.steps = max(1, round(steps * row.case.block / min(spent)))

    def _pairs(self, row: Row) -> int:
        """How many pairs there is time for."""
        done = row.sessions[-1]
        return int(self._effort.longest / max(1e-9, sum(done[0]) * row.steps * row.unit)) if done else 1

    def _blocks(self, row: Row, pair: Pair) -> None:
        found = [0.0, 0.0]
        for version in self._order.sample((0, 1), 2):
            found[version] = pair[version].time(row.case.key, row.steps) / (row.steps * row.unit)
        if min(found) <= 0.0:
            raise Failed("a block took no time that the system's clock can tell")
        row.sessions[-1].append((found[0], found[1]))

    def _drop(self, row: Row, worker: Worker) -> None:
        worker.order("drop", row.case.key)
        worker.answer()


def _answers(pair: Pair) -> list[float]:
    """Both answers, also if one of them is an error: each must be read."""
    found, trouble = [], None
    for worker in pair:
        try:
            found.append(float(worker.answer()))
        except Failed as error:
            trouble = trouble or error
    if trouble is not None:
        raise trouble
    return found


def scenes(rows: Iterable[Row]) -> list[list[Row]]:
    """The rows that are timed in turns: those of a part, so that no short burst of other work hits all blocks of one row."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.case.part, []).append(row)
    return list(found.values())


# --- the report


def page(rows: Sequence[Row], begun: Sequence[Start], old: Version, new: Version, seconds: float) -> str:
    """All that was found, in Markdown."""
    parts = [
        f"# {new.name} against {old.name}",
        f"One run of {seconds / 60:.1f} minutes. New divided by old: above 1 is slower.",
    ]
    if rows:
        parts += [
            "CPU time per decision (per item in the parts create and import), in microseconds, medians of all blocks; the "
            f"ratio with its 95% interval. {MARK}: the whole interval lies above {LIMIT:g}.",
            table(("case", old.name, "new", "ratio", "95% interval", ""), [_line(row) for row in rows]),
        ]
        parts += _within(rows)
        parts.append(_summary(rows))
    if begun:
        parts += [
            "## Cold start",
            "Seconds of CPU of a fresh process until something runs compiled; medians, and all runs.",
            table(("what", old.name, "new", "ratio", "runs"), [_cold(one) for one in begun]),
        ]
    return "\n\n".join(parts) + "\n"


def _line(row: Row) -> tuple[str, ...]:
    if row.trouble or not any(row.sessions):
        return row.case.key, "–", "–", "–", "–", row.trouble
    ratio = row.ratio
    interval = f"{ratio.low:.3f} to {ratio.high:.3f}"
    return (
        row.case.key,
        f"{row.median(0):.4g}",
        f"{row.median(1):.4g}",
        f"{ratio.value:.3f}",
        interval,
        MARK * ratio.slower,
    )


def _within(rows: Sequence[Row]) -> list[str]:
    """What a case costs beside another, in each version."""
    known = {row.case.key: row for row in rows}
    lines = []
    for row in rows:
        base = known.get(f"{row.case.part}: {row.case.beside}")
        if base is None or row.trouble or base.trouble:
            continue
        before, after = row.beside(base, 0), row.beside(base, 1)
        lines.append((f"{row.case.label} / {base.case.label}", str(before), str(after)))
    if not lines:
        return []
    return ["## Beside, within each version", table(("what", "old", "new"), lines)]


def _summary(rows: Sequence[Row]) -> str:
    ratios = [row.ratio for row in rows if not row.trouble and any(row.sessions)]
    if not ratios:
        return "Nothing was measured."
    same, slower = sum(ratio.same for ratio in ratios), sum(ratio.slower for ratio in ratios)
    widths = sorted(ratio.width for ratio in ratios)
    return (
        f"{same} of {len(ratios)} intervals contain 1; {slower} lie above {LIMIT:g}. They are {statistics.median(widths):.1%} "
        f"wide in the median, {widths[0]:.1%} to {widths[-1]:.1%}."
    )


def _cold(start: Start) -> tuple[str, ...]:
    old, new = statistics.median(start.old), statistics.median(start.new)
    runs = " beside ".join(", ".join(f"{one:.2f}" for one in some) for some in (start.old, start.new))
    return start.label, f"{old:.2f}", f"{new:.2f}", f"{start.ratio:.3f}", runs


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, its columns aligned so that it can be read as it is."""
    rows = [tuple(head), *(tuple(line) for line in lines)]
    widths = [max(3, *(len(row[place]) for row in rows)) for place in range(len(head))]
    made = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    return "\n".join([made[0], "| " + " | ".join("-" * width for width in widths) + " |", *made[1:]])


def chosen(only: Sequence[str], quick: bool) -> list[Case]:
    """The cases whose name contains one of these words, in order; a case that others stand beside comes with them."""
    cases = [case for part in PARTS.values() for case in part() if case.quick or not quick or only]
    found = {case.key for case in cases if not only or any(word in case.key for word in only)}
    found |= {f"{case.part}: {case.beside}" for case in cases if case.key in found and case.beside}
    return [case for case in cases if case.key in found]


def main() -> int:
    """Compare, and print or write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description="Two versions in one run.")
    parser.add_argument("commit", help="what the working tree is held against")
    parser.add_argument(
        "--only", action="append", default=[], metavar="PART", help=f"of {', '.join(PARTS)}; or a word of it"
    )
    parser.add_argument("--quick", action="store_true", help="about 90 seconds: fewer cases, wider intervals")
    parser.add_argument("--cold", action="store_true", help="cold starts instead: what compiling and loading cost")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where to write the page, beside printing it")
    given = parser.parse_args()
    begin, effort = time.monotonic(), QUICK if given.quick else Effort()

    def say(what: str) -> None:
        print(f"{time.monotonic() - begin:6.1f} s  {what}", file=sys.stderr, flush=True)

    rows: list[Row] = []
    begun: list[Start] = []
    try:
        old, new = versions(given.commit)
        if given.cold:
            begun = list(starts(old, new, effort.cold, given.only, say))
        else:
            rows = [Row(case) for case in chosen(given.only, given.quick)]
            if not rows:
                parser.error(f"--only must be part of a case's name, such as {', '.join(PARTS)}")
            Contest(rows, old, new, effort, say).run()
    except Failed as error:
        print(error, file=sys.stderr)
        return 1
    text = page(rows, begun, old, new, time.monotonic() - begin)
    if given.out is not None:
        given.out.write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
