"""`suffice list`: what there is. Everything is discovered; there is no list to maintain."""

import inspect
from typing import Any, Literal

from cyclopts import App
from rich.text import Text

from suffice.cli.commands import AsJson, command
from suffice.cli.terminal import console, plain_table, write_json
from suffice.lab import discovery as experiments
from suffice.lab import streams
from suffice.lab.method_specs import rivals
from suffice.lab.run_stream import about, defaults
from suffice.learning import bounds, choosers

Kind = Literal["streams", "rivals", "bounds", "choosers", "experiments"]
Rows = list[dict[str, str]]


def listing(what: Kind | None = None, /, *, as_json: AsJson = False) -> None:
    """List the streams, rivals, bounds, choosers and experiments.

    Parameters
    ----------
    what
        One of them; all if left out.
    as_json
        Print it as JSON and nothing else.
    """
    where = console(as_json)
    wanted = {kind: rows() for kind, rows in KINDS.items() if what in (None, kind)}
    if as_json:
        write_json(wanted)
        return
    for kind, rows in wanted.items():
        table = plain_table(*(rows[0] if rows else ["name"]), left=len(rows[0]) if rows else 1)
        table.columns[0].no_wrap = True
        for row in rows:
            table.add_row(*(Text(text, style="bold" if place == 0 else "") for place, text in enumerate(row.values())))
        for part in ("", Text(kind, style="bold underline"), table):
            where.print(part)


def _streams() -> Rows:
    return [
        {"name": name, "about": about(kind), "settings": defaults(kind)} for name, kind in streams.available().items()
    ]


def _rivals() -> Rows:
    return [
        {"name": name, "source": kind.source, "feedback": kind.feedback, "guarantee": kind.guarantee}
        for name, kind in rivals().items()
    ]


def _bounds() -> Rows:
    auto = "closed for intervals, contained for other menus with an order, half-log for the rest"
    return [{"name": "auto", "about": auto}, *_named(bounds.NAMED)]


def _choosers() -> Rows:
    auto = "thompson for chains, intervals and subsets, the optimist for the rest or if bounds are named"
    return [{"name": "auto", "about": auto}, *_named(choosers.NAMED)]


def _named(kinds: dict[str, Any]) -> Rows:
    return [{"name": name, "about": _first_line(kind)} for name, kind in kinds.items()]


def _experiments() -> Rows:
    return [{"name": name, "about": kind.title} for name, kind in experiments.available().items()]


def _first_line(kind: Any) -> str:
    return (inspect.getdoc(kind) or "").split("\n")[0].rstrip(".")


KINDS = {
    "streams": _streams, "rivals": _rivals, "bounds": _bounds, "choosers": _choosers, "experiments": _experiments,
}  # fmt: skip

app: App = command(listing, "suffice list", "suffice list rivals", "suffice list streams --json", name="list")
