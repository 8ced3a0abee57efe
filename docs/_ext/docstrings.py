"""Docstrings as they are written, plain text that reads well in `help()`, as the reference wants them.

In them a single backtick marks code, a bar is a bar, and a property's sentence may hold a colon. reStructuredText and napoleon
read all three otherwise.
"""

import inspect
import re
from typing import Any

FOLLOWED = re.compile(r"(?<!`)`([^`\n]+)`(?=\w)")  # `Selector`s
BAR = re.compile(r"\|")
CODE = re.compile(r"(`+[^`]*`+)")

# NumPy's aliases come out written in full.
ARRAY = re.compile(r"numpy\.ndarray\[tuple\[(?:typing\.)?Any, \.\.\.\], numpy\.dtype\[([\w.]+)\]\]")
LIKE = re.compile(r"numpy\._typing\._array_like\._Buffer \| .*?_NestedSequence\[complex \| bytes \| str\]")


def plain(line: str) -> str:
    """A line of prose in which marks stand for themselves.

    >>> plain("as many `Selector`s as |debt| allows, `a | b`")
    'as many `Selector`\\\\ s as \\\\|debt\\\\| allows, `a | b`'
    """
    parts = CODE.split(FOLLOWED.sub(r"`\1`\\ ", line))
    return "".join(part if part.startswith("`") else BAR.sub(r"\|", part) for part in parts)


def before(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Before napoleon: what stands in examples stays as it is."""
    lines[:] = [line if line.lstrip().startswith((">>>", "...")) else plain(line) for line in lines]


def after(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """After napoleon, which takes what stands before a colon for the type of a property."""
    if lines and lines[0].startswith("Alias for field number"):  # of a named tuple: its name says more
        lines.clear()
    if isinstance(thing, property) and thing.__doc__:
        lines[:] = [*map(plain, inspect.cleandoc(thing.__doc__).splitlines()), ""]


def short(signature: str) -> str:
    """A signature with arrays by the names that people use.

    >>> short("(x: numpy.ndarray[tuple[typing.Any, ...], numpy.dtype[numpy.float64]])")
    '(x: numpy.typing.NDArray[numpy.float64])'
    """
    return ARRAY.sub(r"numpy.typing.NDArray[\1]", LIKE.sub("numpy.typing.ArrayLike", signature))


def named(app: Any, what: str, name: str, thing: Any, options: Any, said: str | None, gives: str | None) -> Any:
    """What a call takes and gives, short."""
    return said and short(said), gives and short(gives)


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("autodoc-process-signature", named)
    app.connect("autodoc-process-docstring", before, priority=400)
    app.connect("autodoc-process-docstring", after, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
