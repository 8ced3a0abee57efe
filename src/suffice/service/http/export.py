"""Decisions as CSV: for an audit, for a spreadsheet, and for `suffice replay`. They are read a page at a time."""

import asyncio
import csv
import io
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Final

import pydantic_core

from suffice.menu.menu import Menu
from suffice.service.http.serializers import decision_row
from suffice.service.records import STATES, DecisionRow
from suffice.service.selectors import SelectorService

PAGE: Final = 5_000
COLUMNS: Final = (
    "decision", "asked_at", "told_at", "state", "group", "arm", "option", "success", "cost", "price", "late", "context",
)  # fmt: skip

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet reads text that begins so as a formula


async def lines(
    service: SelectorService, name: str, menu: Menu, first: list[DecisionRow], state: str | None
) -> AsyncIterator[bytes]:
    """The header, and then page after page; `first` is the first page."""
    yield (",".join(COLUMNS) + "\r\n").encode()
    page = first
    while page:
        last = page[-1].id
        wanted = page if state is None else [row for row in page if STATES[row.state] == state]
        if wanted:
            yield await asyncio.to_thread(_csv, wanted, menu)  # so that asks need not wait for a whole page
        page = await service.decisions(name, last, PAGE) if len(page) == PAGE else []


def _csv(rows: list[DecisionRow], menu: Menu) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    for row in rows:
        cells = decision_row(row, menu)
        cells["asked_at"], cells["told_at"] = _iso(row.asked_at), _iso(row.told_at)
        cells["group"], cells["option"] = _safe(row.group), option_cell(cells["option"])
        cells["late"] = "true" if cells["late"] else "false"
        cells["context"] = "" if cells["context"] is None else _json(cells["context"])
        writer.writerow([cells[name] for name in COLUMNS])
    return out.getvalue().encode()


def _iso(at: float | None) -> str:
    """A time in ISO 8601, UTC."""
    return "" if at is None else (EPOCH + timedelta(seconds=at)).isoformat(timespec="microseconds")


def option_cell(option: object) -> str:
    """An option as it is written: text that is not blank as it is, everything else as JSON."""
    return _safe(option) if isinstance(option, str) and option.strip() else _json(option)


def _safe(text: str) -> str:
    """The text; one that a spreadsheet would read as a formula has a ' before it."""
    return "'" + text if text.startswith(FORMULA) else text


def _json(value: object) -> str:
    return pydantic_core.to_json(value).decode()
