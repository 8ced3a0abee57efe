"""What cyclopts finds wrong with a command, in one sentence: what must be, what was given, and what may have been meant."""

import difflib
from collections.abc import Iterable
from typing import Any, Literal, get_args, get_origin

from cyclopts import exceptions as found
from cyclopts.exceptions import CycloptsError

from suffice.errors import quoted

KINDS = {int: "a whole number", float: "a number", bool: "true or false"}


def sentence(error: CycloptsError) -> str:
    """What is wrong, and where to look."""
    if isinstance(error, found.UnknownCommandError):
        return _no_command(error)
    if isinstance(error, found.UnknownOptionError):
        return _no_option(error)
    if isinstance(error, found.MissingArgumentError):
        return _missing(error)
    if isinstance(error, found.CoercionError):
        return _not_so(error)
    if isinstance(error, found.RepeatArgumentError):
        return f"{error.token.keyword} must be given once, not several times"
    if isinstance(error, found.UnusedCliTokensError):
        said = " ".join(error.unused_tokens or ())
        return f"{_command(error)} takes nothing more, got {quoted(said)}{_see(error)}"
    return f"{str(error).rstrip('.')}{_see(error)}"


def _command(error: CycloptsError) -> str:
    return " ".join(error.command_chain or ("suffice",))


def _see(error: CycloptsError) -> str:
    return f"; see {' '.join(['suffice', *(error.command_chain or ())])} --help"


def _meant(word: str, words: Iterable[str]) -> str | None:
    near = difflib.get_close_matches(word, list(words), 1)
    return near[0] if near else None


def _no_command(error: found.UnknownCommandError) -> str:
    word = (error.unused_tokens or [""])[0]
    app: Any = error.app
    option = word.startswith("-")
    names = [name for name in app or () if name.startswith("-") == option]
    meant = _meant(word, names)
    said = f"there is no {'option' if option else 'command'} {quoted(word)}"
    said += f" of {_command(error)}" if error.command_chain else ""
    return f"{said}; did you mean {meant}?" if meant else f"{said}, only {', '.join(names)}"


def _no_option(error: found.UnknownOptionError) -> str:
    word = (error.token.keyword or error.token.value).split("=")[0]
    names = [name for argument in error.argument_collection if argument.parse for name in argument.names]
    return _unknown(error, word, _meant(word, names))


def _unknown(error: CycloptsError, word: str, meant: str | None) -> str:
    return f"there is no option {word} of {_command(error)}" + (f"; did you mean {meant}?" if meant else _see(error))


def _missing(error: found.MissingArgumentError) -> str:
    argument: Any = error.argument
    if error.keyword is not None:
        return f"{error.keyword} needs a value{_see(error)}"
    for word in error.unused_tokens or ():
        if word.startswith("-") and _meant(word.split("=")[0], argument.names):
            return _unknown(error, word.split("=")[0], argument.name)
    name = argument.name if argument.field_info.is_keyword else argument.name.lstrip("-").upper()
    return f"{_command(error)} needs {name}{_see(error)}"


def _not_so(error: found.CoercionError) -> str:
    """A value that is not of the kind wanted."""
    token, argument = error.token, error.argument
    if token is None:
        return f"{str(error).rstrip('.')}{_see(error)}"
    name = token.keyword or ("the value" if argument is None else argument.name.lstrip("-").upper())
    kind: Any = error.target_type or (None if argument is None else argument.hint)
    kinds = [one for one in get_args(kind) if one is not type(None)] if kind not in KINDS else []
    if get_origin(kind) is not Literal and len(kinds) == 1:
        kind = kinds[0]  # of a value that may be left out
    if get_origin(kind) is Literal:
        names = [str(one) for one in get_args(kind)]
        meant = _meant(token.value, names)
        must = f"one of {', '.join(names)}" + (f" (did you mean {meant}?)" if meant else "")
    else:
        must = KINDS.get(kind, "another kind of value")
    return f"{name} must be {must}, got {quoted(token.value)}"
