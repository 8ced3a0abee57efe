"""The command line. It only parses and prints; what it shows is computed elsewhere. One file per command."""

import sys
import warnings
from collections.abc import Sequence
from typing import Any

from cyclopts import App
from rich.console import Console
from rich.text import Text

import suffice
from suffice.cli.compare import compare
from suffice.cli.copy import copy
from suffice.cli.demo import demo
from suffice.cli.keys import keys
from suffice.cli.listing import listing
from suffice.cli.replay import replay
from suffice.cli.reproduce import reproduce
from suffice.cli.run import run
from suffice.cli.serve import serve
from suffice.errors import SufficeError, SufficeWarning

app = App(
    name="suffice",
    version=suffice.__version__,
    help="Hold a success rate at the least cost when all you ever see is whether it worked.",
)
app.command(demo)
app.command(run)
app.command(compare)
app.command(replay)
app.command(reproduce)
app.command(listing, name="list")
app.command(serve, help_flags=[], version_flags=[])  # it has flags of its own, read when it is called
app.command(keys)
app.command(copy)


def main(tokens: Sequence[str] | None = None) -> None:
    """Run; an error of ours is one sentence, not a traceback, and so is a warning."""
    errors = Console(stderr=True, soft_wrap=True)
    with warnings.catch_warnings():
        before = warnings.showwarning

        def show(message: Any, category: type[Warning], *rest: Any) -> None:
            if issubclass(category, SufficeWarning):
                errors.print(Text(f"suffice: {message}", style="yellow"))
            else:
                before(message, category, *rest)

        warnings.showwarning = show  # type: ignore[assignment]
        try:
            app(tokens)
        except SufficeError as error:
            errors.print(Text(f"suffice: {error}", style="red"))
            sys.exit(2)
        except KeyboardInterrupt:
            sys.exit(130)
