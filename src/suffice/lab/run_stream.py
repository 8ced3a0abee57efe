"""Streams by what a user types: a name, a recorded log, or a Python file, and settings."""

import ast
import difflib
import inspect
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from suffice.errors import InvalidArgument, SufficeError, quoted
from suffice.lab.streams import Log, available, from_file
from suffice.lab.streams.discover import maker
from suffice.menu.menu import Menu
from suffice.simulator import Stream

HORIZON: Final = 20_000
SETTING: Final = re.compile(r":(?=[A-Za-z_][\w-]*\s*=)")  # the colon before the first setting
WORDS: Final = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False, "none": None}


@dataclass(frozen=True, slots=True)
class Opened:
    """A stream that is ready to run."""

    name: str
    about: str
    stream: Stream
    horizon: int  # how long to run it if the user gives no horizon


def open_stream(what: str, texts: Iterable[str] = ()) -> Opened:
    """The stream that a name, a log or a Python file stands for; `texts` are settings, `key=value`.

    Settings may also stand in the text itself, as in `trap:first=10,last=20`; those take precedence.

    >>> open_stream("trap:first=10", ["first=5", "last=20"]).stream.first
    10
    """
    what, inside = parts(what)
    kind, implied = _kind(what)
    given = {**implied, **settings(kind, (*texts, *inside))}
    _check_names(kind, given)
    if kind is Log and given.get("path") is None:
        raise InvalidArgument("log must be named by its file, as in `suffice compare FILE.csv`")
    try:
        stream: object = maker(kind)(**given)
    except SufficeError as error:
        # An error of a log is mostly one of its file, for which a list of settings would be no help.
        raise InvalidArgument(f"{error}{'' if implied else _listed(kind)}") from error
    except (TypeError, ValueError, ArithmeticError) as error:  # a user's stream may not check its settings
        raise InvalidArgument(
            f"settings must suit {kind.name!r}, got {type(error).__name__}: {error}{_listed(kind)}"
        ) from error
    if not isinstance(getattr(stream, "menu", None), Menu):
        raise InvalidArgument(
            f"stream {kind.name!r} must have a menu, a suffice.Menu, got {quoted(getattr(stream, 'menu', None))}"
        )
    rows = len(stream.table().costs) if isinstance(stream, Log) else HORIZON
    return Opened(what if implied else kind.name, about(kind), cast(Stream, stream), rows)


def parts(text: str) -> tuple[str, tuple[str, ...]]:
    """A stream and the settings in its text. A comma that no setting follows belongs to a value.

    >>> parts("ranks:ks=5,10,least=2"), parts("shop.py:shop:mondays=0.2"), parts("shop.py:shop")
    (('ranks', ('ks=5,10', 'least=2')), ('shop.py:shop', ('mondays=0.2',)), ('shop.py:shop', ()))
    """
    written = None if Path(text).is_file() else SETTING.search(text)
    if written is None:
        return text, ()
    pieces: list[str] = []
    for piece in text[written.end() :].split(","):
        if "=" in piece or not pieces:
            pieces.append(piece.strip())
        else:
            pieces[-1] += f",{piece}"
    return text[: written.start()], tuple(pieces)


def _kind(what: str) -> tuple[type[Any], dict[str, Any]]:
    """The class of a stream, and the settings that its text implies."""
    known = available()
    if what in known:
        return known[what], {}
    if Path(what).suffix.lower() == ".csv":
        return Log, {"path": what}
    path, _, name = what.partition(".py:")
    if what.endswith(".py") or name:
        kinds = from_file(path + ".py" if name else path)
        if not name and len(kinds) > 1:
            raise InvalidArgument(f"stream must say which of {', '.join(kinds)}, as in {path}:{next(iter(kinds))}")
        if name and name not in kinds:
            raise InvalidArgument(f"stream must be one of {', '.join(kinds)} in {path}.py, got {quoted(name)}")
        return kinds[name or next(iter(kinds))], {}
    raise InvalidArgument(
        f"stream must be one of {', '.join(known)}, a .csv log, or a .py file, got {quoted(what)}{meant(what, known)}"
    )


def meant(what: str, known: Iterable[str]) -> str:
    """The known names that are similar, as the end of an error message."""
    close = difflib.get_close_matches(what.lower(), list(known), n=3)
    return f": did you mean {' or '.join(close)}?" if close else ""


def about(kind: type[Any]) -> str:
    """A line on a stream: its `description`, or the first line of its docstring."""
    return str(getattr(kind, "description", None) or first_line(kind)).rstrip(".")


def first_line(thing: object) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(thing) or "").split("\n")[0].rstrip(".")


def parameters(kind: type[Any]) -> dict[str, inspect.Parameter]:
    """The settings of a stream: what its `from_settings`, or its constructor, takes."""
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {n: p for n, p in inspect.signature(maker(kind)).parameters.items() if p.kind not in kinds}


def defaults(kind: type[Any]) -> str:
    """The settings of a stream with their defaults, in a line.

    >>> defaults(available()["trap"])
    'first=800, last=1300, cost=0.05'
    """
    return ", ".join(
        name if parameter.default is inspect.Parameter.empty else f"{name}={_word(parameter.default)}"
        for name, parameter in parameters(kind).items()
    )


def _word(value: object) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else repr(value)


def _listed(kind: type[Any]) -> str:
    return f" (settings of {kind.name}: {defaults(kind) or 'none'})"


def _check_names(kind: type[Any], given: Iterable[str]) -> None:
    names = parameters(kind)
    own = inspect.signature(maker(kind)).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in own):
        return
    for name in given:
        if name not in names:
            raise InvalidArgument(f"set must name a setting, got {quoted(name)}{meant(name, names)}{_listed(kind)}")


def settings(kind: type[Any], texts: Iterable[str]) -> dict[str, Any]:
    """Settings from `key=value`; `ks=5,10` are several numbers.

    >>> settings(available()["confidence"], ["at=500", "shuffled=true"])
    {'at': 500, 'shuffled': True}
    """
    given: dict[str, Any] = {}
    known = parameters(kind)
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise InvalidArgument(f"set must be written key=value, got {quoted(text)}{_listed(kind)}")
        wanted = known[name].annotation if name in known else None
        given[name] = value if wanted in (str, str | None, "str", "str | None") else parsed(value)
    return given


def parsed(text: str) -> object:
    """An int, a float, a bool, None, several numbers, or the text itself.

    >>> [parsed(text) for text in ("3", "1e-2", "true", "none", "5,10", "hover")]
    [3, 0.01, True, None, (5, 10), 'hover']
    """
    plain = text.strip()
    if plain.lower() in WORDS:
        return WORDS[plain.lower()]
    try:
        value: object = ast.literal_eval(plain)
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, int | float | tuple) else text
