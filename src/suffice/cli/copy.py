"""`suffice copy`: one store into another, empty one: a move from SQLite to PostgreSQL or back, or a backup."""

import asyncio
from typing import Annotated

from cyclopts import App, Parameter
from rich.text import Text

from suffice.cli.commands import AsJson, command, require
from suffice.cli.terminal import console, interruptible, progress, write_json


def copy(
    source: Annotated[str, Parameter(help="The address of the store to copy, as in `suffice serve --store`.")],
    target: Annotated[str, Parameter(help="The address of the store to fill. It must be empty.")],
    /,
    *,
    as_json: AsJson = False,
) -> None:
    """Copy a store into an empty one: a move, or a backup.

    Its selectors, decisions and keys: all of it or nothing, as it is at one instant. Its server may go on. Stop the server
    first if the copy is to replace the store: later changes are not in the copy.
    """
    require("copy", "service")
    from suffice.service.http.logs import masked
    from suffice.service.stores.copying import copy as run

    where = console(as_json)
    with interruptible(), progress(where) as report:
        counts = asyncio.run(run(source, target, report))
    if as_json:
        write_json(counts)
        return
    copied = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    where.print(Text(f"Copied {masked(source)} to {masked(target)}: {copied}."), soft_wrap=True)


app: App = command(
    copy,
    "suffice copy sqlite:///suffice.db sqlite:///backup.db",
    "suffice copy sqlite:///suffice.db postgresql://suffice@db/suffice",
)
