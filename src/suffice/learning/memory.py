"""How much of the past counts when arms are judged. The promise remembers everything, whatever is chosen here.

"full" is the whole history. "reset" is the same until the history contradicts itself, which in an unchanging world hardly
ever happens; then learning begins anew (docs/memory.md has the proof). `Window` and `Discount`
forget as time goes by: good in a world that never rests, and without a theorem on what they cost.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Final

from suffice.errors import InvalidArgument, quoted
from suffice.learning import records
from suffice.numbers import positive_int

# Outcomes between two moments of the nearest level; more for large menus, where looking takes longer.
NEAREST: Final = 32
FURTHEST: Final = 16_384  # outcomes between those of the furthest
LONGEST: Final = 1_000_000  # outcomes in a window, which keeps them all, or in a half-life


@dataclass(frozen=True, slots=True)
class Full:
    """The whole history."""

    name: ClassVar[str] = "full"
    way: ClassVar[int] = records.FULL
    span: ClassVar[int] = 0


@dataclass(frozen=True, slots=True)
class Reset:
    """The whole history until it contradicts itself; then learning begins anew."""

    name: ClassVar[str] = "reset"
    way: ClassVar[int] = records.RESET
    span: ClassVar[int] = 0


@dataclass(frozen=True, slots=True)
class Window:
    """The last outcomes between the rails, so many of them and up to a sixteenth more.

    >>> Window(2000)
    Window(length=2000)
    """

    length: int
    name: ClassVar[str] = "window"
    way: ClassVar[int] = records.WINDOW

    def __post_init__(self) -> None:
        _span("length", self.length)

    @property
    def span(self) -> int:
        return int(self.length)


@dataclass(frozen=True, slots=True)
class Discount:
    """Every outcome counts half as much after so many others between the rails."""

    half_life: int
    name: ClassVar[str] = "discount"
    way: ClassVar[int] = records.DISCOUNT

    def __post_init__(self) -> None:
        _span("half_life", self.half_life)

    @property
    def span(self) -> int:
        return int(self.half_life)


def _span(name: str, value: Any) -> None:
    if positive_int(name, value) > LONGEST:
        raise InvalidArgument(f"{name} must be at most {LONGEST:,}, got {quoted(value)}")


Memory = Full | Reset | Window | Discount
FULL: Final = Full()
SPANS: Final[dict[str, type[Window | Discount]]] = {"window": Window, "discount": Discount}


def named_memory(memory: Any, automatic: str = "reset") -> Memory:
    """Memory by name, "window 2000" and "discount 2000" included, or as an object.

    >>> named_memory("window 2000"), named_memory("full").name
    (Window(length=2000), 'full')
    """
    if isinstance(memory, Full | Reset | Window | Discount):
        return memory
    if isinstance(memory, str):
        name, _, span = (automatic if memory == "auto" else memory).partition(" ")
        if not span and name in ("full", "reset"):
            return Full() if name == "full" else Reset()
        if name in SPANS and span.strip().isdecimal() and len(span) < 100:
            return SPANS[name](int(span))
    raise InvalidArgument(
        f'memory must be "auto", "full", "reset", "window 2000", "discount 2000", Window or Discount, got {quoted(memory)}'
    )


def written(memory: Memory) -> str:
    """A memory as it is written down, and read by `named_memory`."""
    return f"{memory.name} {memory.span}" if memory.span else memory.name


def levels_of(memory: Memory, arms: int) -> tuple[int, int]:
    """How many levels of moments are kept, and how many outcomes lie between those of the nearest.

    >>> levels_of(Reset(), 211), levels_of(Reset(), 125_251), levels_of(Full(), 211)
    ((10, 32), (2, 8192), (0, 0))
    """
    if memory.way != records.RESET:
        return 0, 0
    nearest, levels = NEAREST, 1
    while 16 * nearest < arms:
        nearest *= 2
    while nearest << levels <= FURTHEST:
        levels += 1
    return levels, nearest
