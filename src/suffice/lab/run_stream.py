"""From what a person types to a stream: a name, a recorded log, or a file of one's own, and its settings."""

import difflib
import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from suffice.errors import InvalidArgument, SufficeError, quoted
from suffice.lab.streams import Log, available, from_file
from suffice.lab.streams.discover import maker
from suffice.menu.menu import Menu

HORIZON: Final = 20_000
LOGS: Final = (".csv", ".parquet", ".pq")
SETTING: Final = re.compile(r":(?=[A-Za-z_][\w.-]*\s*=)")  # the colon before the first setting
WORDS: Final = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False, "none": None}


@dataclass(frozen=True, slots=True)
class Opened:
    """A stream that is ready to run."""

    name: str
    about: str
    stream: Any
    horizon: int  # how long to run it unless somebody says otherwise


def open_stream(what: str, texts: Iterable[str] = (), *, safe: str | None = None) -> Opened:
    """The stream that a name, a log or a Python file stands for; `texts` are settings, `key=value`.

    Settings may also stand in the text itself, as in `trap:first=10,last=20`; those count for more.

    >>> open_stream("trap:first=10", ["first=5", "last=20"]).stream.first
    10
    """
    what, inside = parts(what)
    kind, own = _kind(what)
    given = settings(kind, (*texts, *inside))
    if safe is not None:
        given = {**given, "safe": safe}
    given = {**own, **given}
    _known(kind, given)
    if kind is Log and given.get("path") is None:
        raise InvalidArgument("log must be named by its file: suffice run FILE.csv, or FILE.parquet")
    try:
        stream = maker(kind)(**given)
    except SufficeError as error:
        # What is wrong with a file is seldom a setting: then the list of settings would only be in the way.
        raise InvalidArgument(f"{error}{'' if own else _listed(kind)}") from error
    except (TypeError, ValueError, ArithmeticError) as error:  # a stream of one's own may not check what it is given
        raise InvalidArgument(
            f"settings must suit {kind.name!r}, got {type(error).__name__}: {error}{_listed(kind)}"
        ) from error
    if not isinstance(getattr(stream, "menu", None), Menu):
        raise InvalidArgument(
            f"stream {kind.name!r} must have a menu, a suffice.Menu, got {quoted(getattr(stream, 'menu', None))}"
        )
    rows = len(stream.table().costs) if isinstance(stream, Log) else HORIZON
    return Opened(what if own else kind.name, about(kind), stream, rows)


def parts(text: str) -> tuple[str, tuple[str, ...]]:
    """A stream and the settings that stand in its text. A comma before what is no setting belongs to a value.

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
    """The class of a stream, and the settings that follow from how it was named."""
    known = available()
    if what in known:
        return known[what], {}
    if Path(what).suffix.lower() in LOGS:
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
        f"stream must be one of {', '.join(known)}, a .csv or .parquet log, or a .py file, got {quoted(what)}"
        f"{meant(what, known)}"
    )


def meant(what: str, known: Iterable[str]) -> str:
    """The names that somebody may have meant, as the end of a sentence."""
    close = difflib.get_close_matches(what.lower(), list(known), n=3)
    return f": did you mean {' or '.join(close)}?" if close else ""


def about(kind: type[Any]) -> str:
    """A line on a stream: its own, or the first of its docstring."""
    said = getattr(kind, "about", None) or (inspect.getdoc(kind) or "").split("\n")[0]
    return str(said).rstrip(".")


def parameters(kind: type[Any]) -> dict[str, inspect.Parameter]:
    """The settings of a stream: what its `named`, or its constructor, takes."""
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    own = {n: p for n, p in inspect.signature(maker(kind)).parameters.items() if p.kind not in kinds}
    other = getattr(maker(kind), "settings_of", None)  # it passes on what that one takes
    passed = {} if other is None else inspect.signature(other).parameters
    return own | {n: p for n, p in passed.items() if p.kind is inspect.Parameter.KEYWORD_ONLY}


def defaults(kind: type[Any]) -> str:
    """The settings of a stream with their defaults, in a line.

    >>> defaults(available()["trap"])
    'first=800, last=1300, cost=0.05'
    """
    return ", ".join(
        name if parameter.default is inspect.Parameter.empty else f"{name}={_word(parameter.default)}"
        for name, parameter in parameters(kind).items()
    )


def _word(value: Any) -> str:
    return (
        value
        if isinstance(value, str)
        else str(value).lower()
        if value is None or isinstance(value, bool)
        else repr(value)
    )


def _listed(kind: type[Any]) -> str:
    return f" (settings of {kind.name}: {defaults(kind) or 'none'})"


def _known(kind: type[Any], given: Mapping[str, Any]) -> None:
    names = parameters(kind)
    own = inspect.signature(maker(kind)).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in own) and not hasattr(maker(kind), "settings_of"):
        return
    for name in given:
        if name not in names:
            rule = "safe must be left out" if name == "safe" else "set must name a setting"
            raise InvalidArgument(f"{rule}, got {quoted(name)}{meant(name, names)}{_listed(kind)}")


def settings(kind: type[Any], texts: Iterable[str]) -> dict[str, Any]:
    """Settings from `key=value`; `costs.small=0.1` is one entry of a mapping, `ks=5,10` are several numbers.

    >>> settings(available()["needs"], ["step=0.1", "flat=true"])
    {'step': 0.1, 'flat': True}
    """
    given: dict[str, Any] = {}
    known = parameters(kind)
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise InvalidArgument(f"set must be written key=value, got {quoted(text)}{_listed(kind)}")
        outer, dot, _ = name.partition(".")
        if not dot:
            wanted = known[name].annotation if name in known else None
            given[name] = value if wanted in (str, str | None, "str", "str | None") else parsed(value)
            continue
        inside = given.setdefault(outer, {})
        if not isinstance(inside, dict):
            raise InvalidArgument(f"set must give {outer} once, got {quoted(text)}")
        inside[text.partition("=")[0].partition(".")[2].strip()] = parsed(value)
    return given


def parsed(text: str) -> Any:
    """An int, a float, a bool, None, several numbers, or the text itself.

    >>> [parsed(text) for text in ("3", "1e-2", "true", "none", "5,10", "hover")]
    [3, 0.01, True, None, (5, 10), 'hover']
    """
    plain = text.strip()
    if plain.lower() in WORDS:
        return WORDS[plain.lower()]
    number = _number(plain)
    if number is not None:
        return number
    parts = [_number(part.strip()) for part in plain.rstrip(",").split(",")]
    return tuple(parts) if "," in plain and None not in parts else text


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None
