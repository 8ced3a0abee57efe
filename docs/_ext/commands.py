"""The help of every `suffice` command, asked of the command itself when the site is built: it cannot go stale.

```{suffice-commands}
``` makes a section for each command, and for each command of a command.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

WIDTH = 88  # characters that fit a page


def commands(app: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command as its words, ("keys", "create") for one, each followed by its own commands."""
    if app is None:
        from suffice.cli import application

        app = application()
    for name in (one for one in app if not one.startswith("-")):
        yield (*path, name)
        yield from commands(app[name], (*path, name))


def help_of(path: tuple[str, ...]) -> str:
    """What `suffice ... --help` prints, without colours."""
    here = {**os.environ, "COLUMNS": str(WIDTH), "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run(
        [sys.executable, "-m", "suffice", *path, "--help"],
        capture_output=True,
        text=True,
        env=here,
        timeout=60,
        check=True,
    )
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


def helps() -> dict[tuple[str, ...], str]:
    """The help of every command, by its words; () is `suffice` itself."""
    paths = [(), *commands()]
    with ThreadPoolExecutor() as pool:
        return dict(zip(paths, pool.map(help_of, paths), strict=True))


class Commands(SphinxDirective):
    """A section per command, with its help as it is printed."""

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()
        return [self._section(path, text) for path, text in helps().items()]

    def _section(self, path: tuple[str, ...], text: str) -> nodes.Node:
        name = " ".join(("suffice", *path))
        section = nodes.section(ids=[nodes.make_id(name)], names=[nodes.fully_normalize_name(name)])
        section += nodes.title(name, "", nodes.literal(name, name))
        section += nodes.literal_block(text, text, language="text")
        self.state.document.note_implicit_target(section, section)
        return section


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("suffice-commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
