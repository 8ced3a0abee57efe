"""What is proposed at the current price: which arm to play between the rails."""

from typing import Any

from suffice.choosers.base import Chooser
from suffice.choosers.optimist import Optimist
from suffice.choosers.thompson import Thompson
from suffice.errors import InvalidArgument, shown

__all__ = ["Chooser", "Optimist", "Thompson", "named_chooser"]

NAMED: dict[str, type[Optimist | Thompson]] = {"optimist": Optimist, "thompson": Thompson}


def named_chooser(chooser: Any) -> Chooser | Optimist | Thompson:
    """A chooser by name, or a user's own object as it is."""
    if isinstance(chooser, str):
        kind = NAMED.get(chooser)
        if kind is not None:
            return kind()
    elif isinstance(chooser, Thompson):
        return chooser
    elif not isinstance(chooser, type) and callable(getattr(chooser, "choose", None)):
        own: Chooser = chooser
        return own
    names = ", ".join(f'"{name}"' for name in ("auto", *NAMED))
    raise InvalidArgument(f"chooser must be one of {names} or an object with a method choose, got {shown(chooser)}")
