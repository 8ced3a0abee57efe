"""The records that suffice hands out: frozen, small, and readable when printed."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do now. Keep it, or its id, and tell how it went."""

    id: int  # UNAUDITED if it was asked with audit=False
    arm: int
    option: Any
    kind: int = field(repr=False, compare=False, default=0)
    dual: float = field(repr=False, compare=False, default=0.0)  # the price of a success when it was asked
    selector: str = field(repr=False, default="")  # the key of the selector that was asked

    @property
    def is_everything(self) -> bool:
        """Whether it is the menu's everything, the option that is sure to succeed."""
        return self.kind == 1

    @property
    def is_nothing(self) -> bool:
        """Whether it is the menu's nothing: skip this one."""
        return self.kind == -1


UNAUDITED = -1


@dataclass(frozen=True, slots=True)
class Arm:
    """One row of `Selector.arms()`."""

    arm: int
    option: Any
    plays: int  # outcomes told
    share: float  # of all outcomes told
    success: float | None  # mean told; None if never played
    cost: float | None
    upper_success: float
    lower_cost: float
