"""`suffice list`: what there is. Everything is discovered; there is no list to maintain."""

from typing import Annotated, Literal

from cyclopts import App, Parameter
from rich.text import Text

from suffice.cli.commands import AsJson, command
from suffice.cli.tables import table_of
from suffice.cli.terminal import console, write_json
from suffice.lab import discovery as experiments
from suffice.lab import streams
from suffice.lab.method_specs import rivals
from suffice.lab.run_stream import about, defaults

Kind = Literal["streams", "rivals", "experiments"]
Rows = list[dict[str, str]]


def listing(
    what: Annotated[Kind | None, Parameter(help="One of them; all if left out.")] = None, /, *, as_json: AsJson = False
) -> None:
    """List the streams, rivals and experiments."""
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


def _experiments() -> Rows:
    return [{"name": name, "about": kind.title} for name, kind in experiments.available().items()]


KINDS = {"streams": _streams, "rivals": _rivals, "experiments": _experiments}

app: App = command(listing, "suffice list", "suffice list rivals", "suffice list streams --json", name="list")
