"""`suffice list`: what there is. Everything is discovered; there is no list to maintain."""

from collections.abc import Mapping
from typing import Annotated, Literal

from cyclopts import App, Parameter
from rich.text import Text

from suffice.cli.commands import AsJson, command
from suffice.cli.tables import table_of
from suffice.cli.terminal import console, write_json
from suffice.lab import discovery as experiments
from suffice.lab import streams
from suffice.lab.method_specs import rivals
from suffice.lab.run_stream import about, defaults, first_line
from suffice.learning import bounds, choosers

Kind = Literal["streams", "rivals", "bounds", "choosers", "experiments"]
Rows = list[dict[str, str]]


def listing(
    what: Annotated[Kind | None, Parameter(help="One of them; all if left out.")] = None, /, *, as_json: AsJson = False
) -> None:
    """List the streams, rivals, bounds, choosers and experiments."""
    where = console(as_json)
    wanted = {kind: rows() for kind, rows in KINDS.items() if what in (None, kind)}
    if as_json:
        write_json(wanted)
        return
    for kind, rows in wanted.items():
        lines = [[Text(text, style="" if place else "bold") for place, text in enumerate(row.values())] for row in rows]
        table = table_of(list(rows[0]), lines, left=len(rows[0]))
        table.columns[0].no_wrap = True
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
    auto = "interval-closure for intervals, ordered for other menus with an order, half-log for the rest"
    return _named(auto, bounds.NAMED)


def _choosers() -> Rows:
    auto = "thompson for chains, intervals and subsets, the optimist for the rest or if bounds are named"
    return _named(auto, choosers.NAMED)


def _named(auto: str, kinds: Mapping[str, object]) -> Rows:
    named = [{"name": name, "about": first_line(kind)} for name, kind in kinds.items()]
    return [{"name": "auto", "about": auto}, *named]


def _experiments() -> Rows:
    return [{"name": name, "about": kind.title} for name, kind in experiments.available().items()]


KINDS = {
    "streams": _streams, "rivals": _rivals, "bounds": _bounds, "choosers": _choosers, "experiments": _experiments,
}  # fmt: skip

app: App = command(listing, "suffice list", "suffice list rivals", "suffice list streams --json", name="list")
