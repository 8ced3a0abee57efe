"""What was measured of the service, as Markdown."""

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchmarks.report import table

if TYPE_CHECKING:
    from benchmarks.service import Contest, Effort, Ratio


def opening(effort: "Effort") -> str:
    """How it was measured."""
    return (
        "Real servers over loopback HTTP, 32 clients with connections that stay open, in a process of their own: "
        "`python -m benchmarks.service` (`--deep` for the full size). Servers run as `suffice serve` does by default: "
        "metrics, and a line in the log for each request, go to nowhere. "
        f"All take turns in blocks of {effort.block:g} s, {effort.rounds} rounds; ratios are taken within a round: the "
        "median round, and in brackets the lowest and the highest. CPU is that of the server's own process. Rates and "
        "times depend on the machine and its disk."
    )


def rates(contest: "Contest", stores: Sequence[str]) -> str:
    """Asks, and asks and tells by turns, beside the bare route."""
    called = {
        "bare": "a bare Starlette route: reads JSON, answers with JSON of the same size",
        "memory, unlogged": "ask, memory, no log of requests",
    }
    for store in stores:
        called |= {f"{store}, ask": f"ask, {store}", f"{store}, pair": f"ask and tell by turns, {store}"}
    lines = [[called[name], *_speed(contest, name, "bare")] for name in contest.entrants if name in called]
    alone = []
    for name in ("bare, alone", *(f"{store}, alone" for store in stores)):
        what = "the bare route" if name == "bare, alone" else f"ask, {name.removesuffix(', alone')}"
        alone.append([what, *_speed(contest, name, "bare, alone")])
    head = ["requests/s", "of the bare route's", "CPU, times the bare route's", "half within", "99% within"]
    return (
        "**Asks and tells at 32 clients.** Wanted: asks with the memory store at least 0.25 of the bare route.\n\n"
        f"{_right(['', *head], lines)}\n\n**One client**, which waits for each answer:\n\n{_right(['', *head], alone)}"
    )


def _speed(contest: "Contest", name: str, base: str) -> list[str]:
    one = contest.entrants[name]
    beside = ["1", "1"] if name == base else [_ratio(contest.ratio(name, base)), f"{contest.work(name, base):.2f}"]
    return [f"{statistics.median(one.rates):,.0f}", *beside, _ms(one.halves), _ms(one.mosts)]


def commits(contest: "Contest", stores: Sequence[str], sync: float) -> str:
    """Many requests to a commit, beside one."""
    lines = []
    for store in stores:
        group, singly = contest.entrants[f"{store}, ask"], contest.entrants[f"{store}, singly"]
        lines.append(
            [
                store, f"{statistics.median(group.rates):,.0f}", f"{statistics.median(singly.rates):,.0f}",
                _ratio(contest.ratio(f"{store}, ask", f"{store}, singly")), _ms(group.mosts), _ms(singly.mosts),
            ]
        )  # fmt: skip
    head = ["", "asks/s", "one commit per request", "ratio", "99% within", "one commit per request"]
    return (
        "**Group commit.** What comes in while a transaction runs is the next one; beside it the same store with a "
        f"transaction for each request, 32 clients. To force 4 KiB to this disk takes {sync * 1e3:.2f} ms.\n\n"
        f"{_right(head, lines)}"
    )


def lists(contest: "Contest", stores: Sequence[str], length: int) -> str:
    """Lists beside single calls."""
    lines = []
    for store in stores:
        for what in ("ask", "tell"):
            one, many = f"{store}, {what}", f"{store}, {what}s"
            lines.append(
                [
                    f"{what}, {store}",
                    f"{statistics.median(contest.entrants[one].rates):,.0f}",
                    f"{statistics.median(contest.entrants[many].rates):,.0f}",
                    _ratio(contest.ratio(many, one)),
                    f"{1 / contest.work(many, one):.1f}",
                ]
            )
    head = ["decisions/s", "single calls", f"lists of {length}", "ratio", "CPU per decision, single / list"]
    return f"**Lists of {length}** at 32 clients. Wanted: 20 times the decisions per second.\n\n{_right(head, lines)}"


def memory(marks: Sequence[int], found: dict[str, list[int]]) -> str:
    """What a server takes."""
    lines = [
        [store, *(f"{one / 2**20:.0f}" for one in sizes), f"{sizes[-1] / sizes[0]:.2f}"]
        for store, sizes in found.items()
    ]
    head = ["MiB after", *(f"{mark:,}" for mark in marks), "last / first"]
    return (
        "**Memory** of the server's process after so many decisions, asked and told in lists of 1,000. Wanted: flat.\n\n"
        f"{_right(head, lines)}"
    )


def rows(contest: "Contest", few: str, many: str) -> str:
    """The past."""
    lines = [_beside(contest, f"{count} rows", count, few) for count in (few, many)]
    lines += [_beside(contest, f"{one} rows, one client", f"{one}, alone", f"{few}, alone") for one in (few, many)]
    return (
        "**Asks by the number of past decisions** of the selector, SQLite. Wanted: no difference.\n\n"
        f"{_right(['asks/s', *_HEAD], lines)}"
    )


def selectors(contest: "Contest", count: str) -> str:
    """The others."""
    called = {"1": "of the only selector", count: f"of one selector among {count}"}
    turns = [name for name in contest.entrants if name.endswith("in turn")]
    called |= {name: f"of {name}, among {count}" for name in turns}
    lines = [_beside(contest, text, name, "1") for name, text in called.items()]
    return (
        "**Asks by the number of selectors**, SQLite. Wanted: no difference. In turn, each of 32 clients asks another "
        "selector each time, so that a commit is of 32 of them; one that is asked for the first time is loaded first, which "
        "is what the last line shows.\n\n"
        f"{_right(['asks/s', *_HEAD], lines)}"
    )


_HEAD = ["rate", "times the first's", "CPU, times the first's", "half within", "99% within"]


def _beside(contest: "Contest", called: str, name: str, base: str) -> list[str]:
    return [called, *_speed(contest, name, base)]


def _ratio(one: "Ratio") -> str:
    return f"{_short(one.median)} ({_short(one.low)}–{_short(one.high)})"


def _short(value: float) -> str:
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _ms(times: Sequence[float]) -> str:
    return f"{statistics.median(times) * 1e3:.2f} ms"


def _right(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    return table(head, lines, right=True)
