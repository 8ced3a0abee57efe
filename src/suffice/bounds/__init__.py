"""What is certain: from a tally to (upper success, lower cost) per arm."""

from typing import Any

from suffice.bounds.base import Bounds, LineBounds, Tally
from suffice.bounds.closed import Closed
from suffice.bounds.contained import Contained
from suffice.bounds.half_log import HalfLog
from suffice.bounds.hoeffding import Hoeffding, Paper
from suffice.bounds.kl import KL
from suffice.errors import InvalidArgument, shown

__all__ = [
    "KL",
    "Bounds",
    "Closed",
    "Contained",
    "HalfLog",
    "Hoeffding",
    "LineBounds",
    "Paper",
    "Tally",
    "named_bounds",
]

NAMED: dict[str, type[LineBounds]] = {kind.name: kind for kind in (Closed, Contained, HalfLog, KL, Hoeffding, Paper)}


def named_bounds(bounds: Any) -> Bounds:
    """Bounds by name, or a user's own object as it is."""
    if isinstance(bounds, str):
        kind = NAMED.get(HalfLog.name if bounds == "auto" else bounds)  # what suits any menu
        if kind is not None:
            return kind()
    elif not isinstance(bounds, type) and all(
        callable(getattr(bounds, m, None)) for m in ("open", "update", "refresh")
    ):
        own: Bounds = bounds
        return own
    names = ", ".join(f'"{name}"' for name in ("auto", *NAMED))
    raise InvalidArgument(
        f"bounds must be one of {names} or an object with open, update and refresh, got {shown(bounds)}"
    )
