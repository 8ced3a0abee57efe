"""Logs: one line for each event, as JSON or as text, on stderr. No secret is written: no header, no query, no password."""

import contextlib
import json
import logging
import re
import sys
import time
from contextvars import ContextVar
from typing import Final, NamedTuple, TextIO

request_id: ContextVar[str] = ContextVar("request_id", default="")  # of the request that is being answered

events: Final = logging.getLogger("suffice.service")  # what happens to the server
access: Final = logging.getLogger("suffice.service.access")  # a line for each request

# A password in the address of a store, as part of it or as a parameter; and the secret part of a key.
_PASSWORD: Final = re.compile(r"(://[^/@:\s]*:)[^\s\"]*@")
_PARAMETER: Final = re.compile(r"((?:password|passwd|pwd)=)[^&\s'\"]*", re.IGNORECASE)
_KEY: Final = re.compile(r"(suffice_[0-9a-f]{8}_)[A-Za-z0-9_-]+")

_quoted = json.encoder.encode_basestring_ascii  # the fastest way to a JSON string
_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}


def masked(text: str) -> str:
    """The text with its passwords and keys replaced by ***.

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


class Answered(NamedTuple):
    """A request that was answered."""

    request_id: str
    method: str
    path: str
    status: int
    ms: float
    key: str
    client: str


class Formatter(logging.Formatter):
    """The parts that both formats share."""

    def __init__(self) -> None:
        super().__init__()
        self._second, self._text = -1, ""

    def clock(self, at: float) -> str:
        """A time without its fraction of a second; the text is made once per second."""
        if int(at) != self._second:
            self._second, self._text = int(at), self.second(int(at))
        return self._text

    def second(self, at: int) -> str:
        """A time as text."""
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at))

    def extras(self, record: logging.LogRecord) -> dict[str, object]:
        """What was passed as `extra`, and the id of the current request."""
        extras = {name: value for name, value in vars(record).items() if name not in _STANDARD}
        if "request_id" not in extras and (current := request_id.get()):
            extras["request_id"] = current
        return extras

    def trace(self, record: logging.LogRecord) -> str | None:
        """The traceback, if there is one."""
        return self.formatException(record.exc_info) if record.exc_info and record.exc_info[0] else None


class Json(Formatter):
    """One JSON object in one line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": f"{self.clock(record.created)}.{int(record.created % 1.0 * 1000):03d}Z",
            "level": record.levelname.lower(), "event": record.getMessage(), "logger": record.name,
            **self.extras(record),
        }  # fmt: skip
        if (trace := self.trace(record)) is not None:
            line["traceback"] = trace
        return masked(json.dumps(line, default=str))

    def request(self, at: float, level: str, answered: Answered) -> str:
        """The most frequent event, without `json.dumps`: three times as fast."""
        return masked(
            f'{{"time": "{self.clock(at)}.{int(at % 1.0 * 1000):03d}Z", "level": "{level.lower()}", "event": "request", '
            f'"request_id": "{answered.request_id}", "method": {_quoted(answered.method)}, "path": {_quoted(answered.path)}, '
            f'"status": {answered.status}, "ms": {answered.ms:.2f}, '
            f'"key": {_quoted(answered.key) if answered.key else "null"}, '
            f'"client": {_quoted(answered.client) if answered.client else "null"}}}'
        )


class Text(Formatter):
    """A line for people, in local time."""

    def second(self, at: int) -> str:
        """A time of the day."""
        return time.strftime("%H:%M:%S", time.localtime(at))

    def format(self, record: logging.LogRecord) -> str:
        extras = (f"{name}={value}" for name, value in self.extras(record).items())
        line = self.line(record.created, record.levelname, " ".join([record.getMessage(), *extras]))
        trace = self.trace(record)
        return line if trace is None else masked(f"{line}\n{trace}")

    def line(self, at: float, level: str, message: str) -> str:
        """One event in one line; control characters are escaped."""
        if not (message.isascii() and message.isprintable()):
            message = message.encode("unicode_escape").decode()
        return masked(f"{self.clock(at)} {level.lower():<7} {message}")

    def request(self, at: float, level: str, answered: Answered) -> str:
        """A request."""
        called = f"client={answered.client or '-'} key={answered.key or '-'} request_id={answered.request_id}"
        return self.line(
            at, level, f"{answered.method} {answered.path} {answered.status} {answered.ms:.1f} ms  {called}"
        )


class _AccessLog(logging.Handler):
    """Writes the lines of requests directly: the usual way through `logging` takes most of the time."""

    def __init__(self, out: TextIO, formatter: Json | Text) -> None:
        super().__init__()
        self._out, self._formatter = out, formatter

    def emit(self, record: logging.LogRecord) -> None:
        """Nothing: other records of this logger go to the handler of all."""

    def write(self, level: int, answered: Answered) -> None:
        """Write a line. A failure to write must not prevent the response."""
        with contextlib.suppress(OSError, ValueError):
            self._out.write(self._formatter.request(time.time(), logging.getLevelName(level), answered) + "\n")
            self._out.flush()


def setup(level: str, form: str, stream: TextIO | None = None) -> None:
    """Log the service and uvicorn to a stream, stderr if left out. `form`: json, text, or auto."""
    out = sys.stderr if stream is None else stream
    if form == "auto":
        form = "text" if out.isatty() else "json"
    handler = logging.StreamHandler(out)
    formatter: Json | Text = Json() if form == "json" else Text()
    handler.setFormatter(formatter)
    access.handlers = [_AccessLog(out, formatter)]
    # asyncio logs the failures of tasks that nothing awaits.
    for name, lowest in (("suffice", level), ("uvicorn", "warning"), ("asyncio", "warning")):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(max(_number(lowest), _number(level)))
        logger.propagate = False


def _number(level: str) -> int:
    return logging.getLevelNamesMapping()[level.upper()]


def request(answered: Answered, level: int) -> None:
    """Log a request that was answered. Without `setup`, as where another server runs the app, it is an ordinary record."""
    if not access.isEnabledFor(level):
        return
    if access.handlers and isinstance(handler := access.handlers[0], _AccessLog):
        handler.write(level, answered)
    else:
        access.log(level, "%s %s %s %s %.1f %s %s", *answered)
