"""Decisions as CSV: for an audit, for a spreadsheet, and for `suffice replay`. A page at a time, however many there are."""

import asyncio
import csv
import io
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pydantic_core

from suffice.menu.menu import Menu
from suffice.service.http.serializers import row
from suffice.service.records import STATES, DecisionRow
from suffice.service.selectors import SelectorService

PAGE: Final = 5_000
COLUMNS: Final = (
    "decision", "asked_at", "told_at", "state", "group", "arm", "option", "success", "cost", "price", "late", "context",
)  # fmt: skip

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets take for a formula at the beginning of a text


async def lines(
    service: SelectorService, name: str, menu: Menu, first: list[DecisionRow], state: str | None
) -> AsyncIterator[bytes]:
    """The header, and then page after page; `first` is the first page."""
    yield (",".join(COLUMNS) + "\r\n").encode()
    page = first
    while page:
        last = page[-1].id
        wanted = page if state is None else [one for one in page if STATES[one.state] == state]
        if wanted:
            yield await asyncio.to_thread(_text, wanted, menu)  # so that asks need not wait for a whole page
        page = await service.decisions(name, last, PAGE) if len(page) == PAGE else []


def _text(rows: list[DecisionRow], menu: Menu) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    for one in rows:
        found = row(one, menu)
        found["asked_at"], found["told_at"] = _moment(one.asked_at), _moment(one.told_at)
        found["group"], found["option"] = _safe(one.group), _option(found["option"])
        found["late"] = "true" if found["late"] else "false"
        found["context"] = "" if found["context"] is None else _json(found["context"])
        writer.writerow([found[name] for name in COLUMNS])
    return out.getvalue().encode()


def _moment(at: float | None) -> str:
    """ISO 8601, UTC."""
    return "" if at is None else (EPOCH + timedelta(seconds=at)).isoformat(timespec="microseconds")


def _option(option: Any) -> str:
    """A text as it is, if there is one; all else as JSON."""
    return _safe(option) if isinstance(option, str) and option.strip() else _json(option)


def _safe(text: str) -> str:
    """A text that no spreadsheet takes for a formula: one that begins like one has a ' before it."""
    return "'" + text if text.startswith(FORMULA) else text


def _json(value: Any) -> str:
    return pydantic_core.to_json(value).decode()
