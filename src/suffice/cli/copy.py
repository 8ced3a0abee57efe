"""`suffice copy`: one store into another, empty one: a move from SQLite to PostgreSQL or back, or a backup."""

import asyncio
from typing import Any

from cyclopts import App
from rich.text import Text

from suffice.cli.commands import AsJson, command, require_service
from suffice.cli.terminal import bars, console, interruptible, write_json


def copy(source: str, target: str, /, *, as_json: AsJson = False) -> None:
    """Copy a store into an empty one: a move, or a backup.

    Its selectors, decisions and keys: all of it or nothing, as it is at one instant. Its server may go on. Stop that first if
    the copy is to take its place: what happens later is not in the copy.

    Parameters
    ----------
    source
        The address of the store to copy, as in `suffice serve --store`.
    target
        The address of the store to fill. It must be empty.
    as_json
        Print how many rows of each table were copied as JSON and nothing else.
    """
    require_service("copy")
    from suffice.service.http.logs import masked
    from suffice.service.stores.copying import copy as run

    where = console(as_json)
    with interruptible(), bars(where, left=True) as moving:
        tasks: dict[str, Any] = {}

        def progress(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = moving.add_task(name, total=total)
            moving.update(tasks[name], completed=done, total=total)

        counts = asyncio.run(run(source, target, progress))
    if as_json:
        write_json(counts)
        return
    said = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    where.print(Text(f"Copied {masked(source)} to {masked(target)}: {said}."), soft_wrap=True)


app: App = command(
    copy,
    "suffice copy sqlite:///suffice.db sqlite:///backup.db",
    "suffice copy sqlite:///suffice.db postgresql://suffice@db/suffice",
)
