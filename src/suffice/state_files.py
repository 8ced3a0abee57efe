"""State files: versioned JSON with a digest. A crash at any instant leaves the old file or the new one."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, NoReturn

from suffice.errors import InvalidArgument, StateError, StateTooNew, SufficeError, quoted

VERSION: Final = 3  # earlier ones had one limit, and no reserves: they are not read
FORMAT: Final = "suffice"
State = dict[str, Any]  # an object in JSON's terms, checked field by field by the part that reads it


def write_state(path: str | os.PathLike[str], state: State) -> None:
    """Write a state, with its version and digest."""
    text = json.dumps({"format": FORMAT, "version": VERSION, "digest": _digest(state), "state": state}, allow_nan=False)
    write_bytes(path, (text + "\n").encode())


def write_bytes(path: str | os.PathLike[str], content: bytes | memoryview) -> None:
    """Write a file so that a crash at any instant leaves the old one or the new one."""
    target = os.fspath(path)
    folder, name = os.path.split(target)
    if name in ("", ".", ".."):
        raise InvalidArgument(f"path must name a file, got {quoted(path)}")
    beside = os.path.join(folder, f".{name}.{os.urandom(6).hex()}.tmp")
    try:
        with open(beside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(beside)
        raise
    _sync_folder(folder or ".")


def read_state(path: str | os.PathLike[str]) -> State:
    """The state in a file; a StateError names what is wrong with the file."""
    with open(path, "rb") as file:
        raw = file.read()
    try:
        document = json.loads(raw, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise StateError(f"{path} is not a whole state file: it is cut short or damaged") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise StateError(f"{path} is not a state file of suffice")
    check_version(path, document.get("version"))
    state = document.get("state")
    if not isinstance(state, dict) or document.get("digest") != _digest(state):
        raise StateError(f"{path} is damaged: its contents do not match their digest")
    return state


def check_version(path: str | os.PathLike[str], version: object) -> None:
    """Refuse a file that another version wrote."""
    if type(version) is not int or version < 1:
        raise StateError(f"{path} has no valid version, got {quoted(version)}")
    if version > VERSION:
        raise StateTooNew(
            f"{path} was written by a later suffice (format {version}, this one reads up to {VERSION}): upgrade suffice"
        )
    if version < VERSION:
        raise StateError(
            f"{path} was written by an earlier suffice (format {version}, this one reads format {VERSION}): begin anew"
        )


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _digest(state: State) -> str:
    import hashlib  # here, because a selector that saves nothing should not wait for it

    text = json.dumps(state, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _sync_folder(folder: str) -> None:
    """Make the rename itself durable, where the system lets a folder be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def reading(state: object, kind: str) -> Iterator[None]:
    """Turn every error that a wrong state causes, while an object is built from it, into a StateError."""
    found_kind = state.get("kind") if isinstance(state, dict) else state
    if found_kind != kind:
        raise StateError(f"the state must be one of a {kind}, got {quoted(found_kind)}")
    try:
        yield
    except SufficeError as error:
        raise StateError(f"the state does not describe a {kind}: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        raise StateError(f"the state does not describe a {kind}: {type(error).__name__} {error}") from error
