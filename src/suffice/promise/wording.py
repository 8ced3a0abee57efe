"""Numbers and counts in sentences, and sentences as HTML."""

from collections.abc import Sequence
from html import escape
from typing import Final

COLOURS: Final = {"kept": "#1a7f37", "within": "#1a7f37", "unproven": "#9a6700"}  # by status; red for the others
RED: Final = "#cf222e"


def percent(share: float) -> str:
    """A share in percent, with enough digits to distinguish it from 0% and from 100%.

    >>> percent(0.9), percent(0.90312), percent(0.99999), percent(0.00002)
    ('90%', '90.3%', '99.999%', '0.002%')
    """
    digits = 1
    while digits < 14 and 0.0 < share < 1.0 and round(100.0 * share, digits) in (0.0, 100.0):
        digits += 1
    return f"{100.0 * share:.{digits}f}".rstrip("0").rstrip(".") + "%"


def count(many: int, noun: str) -> str:
    """A number of things.

    >>> count(1, "outcome"), count(2_000, "outcome"), count(0, "play")
    ('1 outcome', '2,000 outcomes', '0 plays')
    """
    return f"{many:,} {noun}{'' if many == 1 else 's'}"


def as_html(status: str, lines: Sequence[str]) -> str:
    """A certificate as a notebook shows it: the verdict in the colour of its status, then the rest."""
    first, *rest = (escape(line) for line in lines)
    colour = COLOURS.get(status, RED)
    verdict = f'<strong style="color: {colour}">{escape(status)}</strong> {first}'
    return "<div>" + "".join(f"<p style='margin: 0.2em 0'>{line}</p>" for line in (verdict, *rest)) + "</div>"
