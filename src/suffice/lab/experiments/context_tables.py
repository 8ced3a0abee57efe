"""The tables of docs/context.md: `python -m suffice.lab.experiments.context_tables reproduction/numbers.json` prints them."""

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from suffice.lab.experiment import Numbers
from suffice.lab.experiments.context import PLAIN, RECORDED, SHIFTS, SHUFFLED, TARGETS, TASKS_OF_RIVALS, row_of
from suffice.lab.method_specs import LOOKING
from suffice.lab.report import brief
from suffice.promise.certificate import percent


def tables(numbers: Numbers) -> list[str]:
    """What contexts save; what is left of it after a shift; and the contextual rivals."""
    return [savings(numbers), shifts(numbers), rivals(numbers)]


def savings(numbers: Numbers) -> str:
    """A row per task: costs of the second half as shares of C*."""
    head = ("task, target", "without a look", "with a look", "per-context optimum", "contexts shuffled",
            f"first {numbers['early']:,}, of plain", "decisions by the model", "largest debt")  # fmt: skip
    body = []
    for name in TARGETS:
        row, plain, shuffled = (
            row_of(numbers, name),
            row_of(numbers, name, method=PLAIN),
            row_of(numbers, name, SHUFFLED),
        )
        body.append((
            f"{name}, {percent(row['target'])}", _mean(plain, "of_optimum"), f"**{_mean(row, 'of_optimum')}**",
            f"{row['contextual_optimum']:.2f}", _mean(shuffled, "of_optimum"), _mean(row, "early_of_plain"),
            f"{row['followed']:.0%}", f"{row['largest_debt']:.2f}",
        ))  # fmt: skip
    return _table(head, body)


def shifts(numbers: Numbers) -> str:
    """A row per task: the cost with contexts after a shift, as a share of the cost without."""
    body = []
    for name in TARGETS:
        some = [row_of(numbers, name, world) for world in SHIFTS]
        debt = max(row["largest_debt"] for row in some)
        body.append(
            (f"{name}, {percent(TARGETS[name])}", *(_mean(row, "late_of_plain") for row in some), f"{debt:.2f}")
        )
    return _table(("task, target", *SHIFTS, "largest debt"), body)


def rivals(numbers: Numbers) -> str:
    """A row per method: cost of the second half, its rate and its debt."""
    head = (
        "task",
        "method",
        "cost / C*, second half",
        "rate, second half",
        "debt at the end",
        "largest debt",
        "worst 500",
    )
    body = []
    for name in TASKS_OF_RIVALS:
        others = [r["method"] for r in numbers["rows"] if r["task"] == name and r["world"] == RECORDED]
        order = (LOOKING, PLAIN, *(method for method in others if method not in (LOOKING, PLAIN)))
        for method in order:
            row = row_of(numbers, name, method=method)
            body.append((
                f"{name}, {percent(row['target'])}" if method == LOOKING else "", f"`{method}`", _mean(row, "of_optimum"),
                f"{row['late_rate']:.4f}", brief(row["debt"]), brief(row["largest_debt"]), percent(row["worst_window"]),
            ))  # fmt: skip
    return _table(head, body)


def _mean(row: Numbers, column: str) -> str:
    return f"{row[column]:.2f} ± {(row[f'{column}_high'] - row[f'{column}_low']) / 2:.2f}"


def _table(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


if __name__ == "__main__":
    document = json.loads(Path(sys.argv[1]).read_text())
    print("\n\n".join(tables(document["experiments"]["context"]["numbers"])))
