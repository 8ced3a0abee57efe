"""Logs: one line for each event, as JSON or as text, on stderr. Never a secret: no header, no query string, no password."""

import contextlib
import json
import logging
import re
import sys
import time
from contextvars import ContextVar
from typing import Any, Final, TextIO

request_id: ContextVar[str] = ContextVar("request_id", default="")  # of the request that is being answered

events: Final = logging.getLogger("suffice.service")  # what happens to the server
access: Final = logging.getLogger("suffice.service.access")  # a line for each request

# A password in an address of a store, as part of it or as a parameter; and the secret part of a key.
_PASSWORD: Final = re.compile(r"(://[^/@:\s]*:)[^\s\"]*@")
_PARAMETER: Final = re.compile(r"((?:password|passwd|pwd)=)[^&\s'\"]*", re.IGNORECASE)
_KEY: Final = re.compile(r"(suffice_[0-9a-f]{8}_)[A-Za-z0-9_-]+")

_quoted = json.encoder.encode_basestring_ascii  # the quickest way to a JSON string
_KNOWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}


def masked(text: str) -> str:
    """The text without what nobody should read in it.

    >>> masked("postgresql://ada:lovelace@db/suffice")
    'postgresql://ada:***@db/suffice'
    """
    if "://" in text:
        text = _PASSWORD.sub(r"\1***@", text)
    if "=" in text:
        text = _PARAMETER.sub(r"\1***", text)
    if "suffice_" in text:
        text = _KEY.sub(r"\1***", text)
    return text


class Formatter(logging.Formatter):
    """What both forms share."""

    def __init__(self) -> None:
        super().__init__()
        self._second, self._text = -1, ""

    def clock(self, at: float) -> str:
        """When it was, without parts of a second; the text of a second is made once."""
        if int(at) != self._second:
            self._second, self._text = int(at), self.second(int(at))
        return self._text

    def second(self, at: int) -> str:
        """A time, as this form writes it."""
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at))

    def more(self, record: logging.LogRecord) -> dict[str, Any]:
        """What was passed as `extra`, and the request that this belongs to."""
        found = {name: value for name, value in vars(record).items() if name not in _KNOWN}
        if "request_id" not in found and (current := request_id.get()):
            found["request_id"] = current
        return found

    def trace(self, record: logging.LogRecord) -> str | None:
        """The traceback, if there is one."""
        return self.formatException(record.exc_info) if record.exc_info and record.exc_info[0] else None


class Json(Formatter):
    """One JSON object in one line."""

    def format(self, record: logging.LogRecord) -> str:
        at = f"{self.clock(record.created)}.{int(record.created % 1.0 * 1000):03d}Z"
        if record.name == access.name:
            said: Any = record.args
            return self.request(record.created, record.levelname, *said)
        line: dict[str, Any] = {
            "time": at, "level": record.levelname.lower(), "event": record.getMessage(), "logger": record.name,
            **self.more(record),
        }  # fmt: skip
        if (trace := self.trace(record)) is not None:
            line["traceback"] = trace
        return masked(json.dumps(line, default=str))

    def request(
        self, at: float, level: str, identity: str, method: str, path: str, status: int, ms: float, key: str, client: str
    ) -> str:  # fmt: skip
        """The event that happens most, put together by hand: a third of the time."""
        return masked(
            f'{{"time": "{self.clock(at)}.{int(at % 1.0 * 1000):03d}Z", "level": "{level.lower()}", "event": "request", '
            f'"request_id": "{identity}", "method": {_quoted(method)}, "path": {_quoted(path)}, "status": {status}, '
            f'"ms": {ms:.2f}, "key": {_quoted(key) if key else "null"}, "client": {_quoted(client) if client else "null"}}}'
        )


class Text(Formatter):
    """A line for people, in their own time."""

    def second(self, at: int) -> str:
        """A time of the day."""
        return time.strftime("%H:%M:%S", time.localtime(at))

    def format(self, record: logging.LogRecord) -> str:
        if record.name == access.name:
            args: Any = record.args
            identity, method, path, status, ms, key, client = args
            said = (
                f"{method} {path} {status} {ms:.1f} ms  client={client or '-'} key={key or '-'} request_id={identity}"
            )
        else:
            said = " ".join([record.getMessage(), *(f"{name}={value}" for name, value in self.more(record).items())])
        if not (said.isascii() and said.isprintable()):  # one event, one line, and nothing that moves a cursor
            said = said.encode("unicode_escape").decode()
        said = f"{self.clock(record.created)} {record.levelname.lower():<7} {said}"
        trace = self.trace(record)
        return masked(said if trace is None else f"{said}\n{trace}")


class _Quick(logging.Handler):
    """Writes lines of requests past the machinery of logging, which takes most of the time."""

    def __init__(self, out: TextIO, formatter: Json) -> None:
        super().__init__()
        self._out, self._formatter = out, formatter

    def emit(self, record: logging.LogRecord) -> None:
        """Nothing: a record that comes the usual way is written by the handler of all."""

    def write(self, level: int, *said: Any) -> None:
        """A line; one that cannot be written must not stop an answer."""
        with contextlib.suppress(OSError, ValueError):
            self._out.write(self._formatter.request(time.time(), logging.getLevelName(level), *said) + "\n")
            self._out.flush()


def setup(level: str, form: str, stream: TextIO | None = None) -> None:
    """Write what the service and uvicorn log to a stream, stderr if left out. `form`: json, text, or auto."""
    out = sys.stderr if stream is None else stream
    if form == "auto":
        form = "text" if out.isatty() else "json"
    handler = logging.StreamHandler(out)
    formatter = Json() if form == "json" else Text()
    handler.setFormatter(formatter)
    access.handlers = [_Quick(out, formatter)] if isinstance(formatter, Json) else []
    # uvicorn says little that `events` does not; asyncio, what went wrong in a task that nobody waited for.
    for name, lowest in (("suffice", level), ("uvicorn", "warning"), ("asyncio", "warning")):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(max(_number(lowest), _number(level)))
        logger.propagate = False


def _number(level: str) -> int:
    return logging.getLevelNamesMapping()[level.upper()]


def request(identity: str, method: str, path: str, status: int, ms: float, key: str, client: str, level: int) -> None:
    """Log a request that was answered."""
    if not access.isEnabledFor(level):
        return
    if access.handlers and isinstance(quick := access.handlers[0], _Quick):
        quick.write(level, identity, method, path, status, ms, key, client)
    else:
        # Without looking for the line of code that calls: that is most of what a log record costs.
        args = (identity, method, path, status, ms, key, client)
        access.handle(logging.LogRecord(access.name, level, "", 0, "%s %s %s %s %.1f %s %s", args, None))
