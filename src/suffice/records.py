"""The records that suffice hands out: frozen, small, and readable when printed."""

from dataclasses import dataclass
from typing import Any, NoReturn


class _Open:
    """A decision while it is being made. Filling slots here and freezing afterwards is five times as fast as a frozen
    dataclass, which sets every field through `object.__setattr__`; asks are made of little else."""

    __slots__ = ("arm", "dual", "id", "kind", "option", "selector")

    id: int
    arm: int
    option: Any
    kind: int
    dual: float
    selector: str

    def __init__(self, id: int, arm: int, option: Any, kind: int = 0, dual: float = 0.0, selector: str = "") -> None:
        self.id = id
        self.arm = arm
        self.option = option
        self.kind = kind
        self.dual = dual
        self.selector = selector


class Decision(_Open):
    """What to do now. Keep it, or its id, and tell how it went.

    `id` is UNAUDITED if it was asked with audit=False; `dual` is the price of a success when it was asked; `selector`
    the key of the selector that was asked.
    """

    __slots__ = ()

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError("decisions come from ask")

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a Decision never changes, {name} neither")

    @property
    def is_everything(self) -> bool:
        """Whether it is the menu's everything, the option that is sure to succeed."""
        return self.kind == 1

    @property
    def is_nothing(self) -> bool:
        """Whether it is the menu's nothing: skip this one."""
        return self.kind == -1

    def __repr__(self) -> str:
        return f"Decision(id={self.id}, arm={self.arm}, option={self.option!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decision):
            return NotImplemented
        return (self.id, self.arm, self.selector) == (other.id, other.arm, other.selector)

    def __hash__(self) -> int:
        return hash((self.id, self.arm, self.selector))

    def __reduce__(self) -> Any:
        return decide, (self.id, self.arm, self.option, self.kind, self.dual, self.selector)


def decide(id: int, arm: int, option: Any, kind: int = 0, dual: float = 0.0, selector: str = "") -> Decision:
    """A decision, made and frozen."""
    decision = _Open(id, arm, option, kind, dual, selector)
    decision.__class__ = Decision
    return decision  # type: ignore[return-value]


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
