"""The records that suffice hands out: frozen, small, and readable when printed."""

from dataclasses import dataclass
from typing import Any, NamedTuple


class Decision(NamedTuple):
    """The option to play. Keep the decision, or its id, and tell its outcome.

    A tuple underneath: a frozen dataclass takes five times as long to make, and asks are made of little else.
    """

    id: int  # UNAUDITED if it was asked with audit=False
    arm: int
    option: Any
    role: int = 0  # 1: the safe option, -1: the skip, 0: any other
    price: float = 0.0  # the price of a success when it was asked
    selector: str = ""  # the key of the selector that was asked

    @property
    def is_safe(self) -> bool:
        """Whether it is the menu's safe option, which is sure to succeed."""
        return self.role == 1

    @property
    def is_skip(self) -> bool:
        """Whether it is the menu's skip option."""
        return self.role == -1

    def __repr__(self) -> str:
        return f"Decision(id={self.id}, arm={self.arm}, option={self.option!r})"

    # Without the option: it may be an array, whose comparison has no truth value, or a dict, which has no hash.

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decision):
            return False
        return (self.id, self.arm, self.selector) == (other.id, other.arm, other.selector)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.id, self.arm, self.selector))


UNAUDITED = -1


@dataclass(frozen=True, slots=True)
class OptionReport:
    """One row of `Selector.options()`."""

    arm: int
    option: Any
    plays: int  # outcomes told
    share: float  # of all outcomes told
    success: float | None  # mean told; None if never played
    cost: float | None
    upper_success: float
    lower_cost: float
