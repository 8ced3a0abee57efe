"""How the commands print tables and numbers."""

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.table import Table

from suffice.lab import report
from suffice.promise.wording import percent


def plain_table(*headings: str, left: int = 1) -> Table:
    """A table without lines: text columns to the left, which may be broken, then columns of unbroken numbers."""
    table = Table(header_style="bold", box=None, padding=(0, 1, 0, 0))
    for place, heading in enumerate(headings):
        is_text = place < left
        table.add_column(heading, justify="left" if is_text else "right", overflow="fold", no_wrap=not is_text)
    return table


def table_of(headings: Sequence[str], lines: Iterable[Sequence[RenderableType]], left: int = 1) -> Table:
    """A table of these lines."""
    table = plain_table(*headings, left=left)
    for line in lines:
        table.add_row(*line)
    return table


def number(value: float | None) -> str:
    """Four digits, with commas; a dash for None.

    >>> number(0.123456), number(1234567.0), number(-0.0), number(None)
    ('0.1235', '1,234,567', '0', '–')
    """
    return "–" if value is None else report.number(value + 0.0)


def tenths(value: float) -> str:
    """One digit, with commas, and never a negative zero.

    >>> tenths(-0.01), tenths(12345.67)
    ('0.0', '12,345.7')
    """
    return f"{round(value, 1) + 0.0:,.1f}"


def mixed(mix: dict[str, float]) -> str:
    """A mix in words.

    >>> mixed({"small": 0.25, "large": 0.75}), mixed({"small": 1.0})
    ('25% × small + 75% × large', 'small')
    """
    if len(mix) == 1:
        return next(iter(mix))
    return " + ".join(f"{percent(share)} × {name}" for name, share in mix.items())
