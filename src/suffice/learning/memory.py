"""Memory: how much of the past counts when arms are judged. The promise always counts all of it.

"full" is the whole history. "reset" is the same until the history contradicts itself, which hardly ever happens in an
unchanging world; then learning starts again (docs/memory.md has the proof). "window 2000" and "discount 2000" forget as
time passes: good in a world that always changes, and without a theorem on their cost.
"""

from dataclasses import dataclass
from typing import Final

from suffice.errors import InvalidArgument, quoted
from suffice.learning import records
from suffice.numbers import positive_int

# Outcomes between two moments of the nearest level; more for large menus, where a comparison takes longer.
NEAREST: Final = 32
FURTHEST: Final = 16_384  # outcomes between two moments of the furthest level
LONGEST: Final = 1_000_000  # outcomes in a window, which stores them all, or in a half-life
CODES: Final = {
    "full": records.FULL, "reset": records.RESET, "window": records.WINDOW, "discount": records.DISCOUNT,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Memory:
    """A kind of memory, and the outcomes that its window or its half-life spans, if it has one.

    A window holds the last `span` outcomes of interior options, and up to a sixteenth more. A discount counts every
    outcome half as much after `span` others.
    """

    name: str
    span: int = 0

    @property
    def code(self) -> int:
        """The code of the kind in `records`."""
        return CODES[self.name]

    def __str__(self) -> str:
        return f"{self.name} {self.span}" if self.span else self.name


FULL: Final = Memory("full")


def resolve_memory(memory: object, automatic: str = "reset") -> Memory:
    """A memory by its name; "auto" is `automatic`.

    >>> resolve_memory("window 2000"), str(resolve_memory("auto"))
    (Memory(name='window', span=2000), 'reset')
    """
    text = memory if isinstance(memory, str) else ""
    name, _, span = (automatic if text == "auto" else text).partition(" ")
    if name in ("full", "reset") and not span:
        return Memory(name)
    if name in ("window", "discount") and span.strip().isdecimal() and len(span) < 100:
        if positive_int(name, int(span)) > LONGEST:
            raise InvalidArgument(f"memory must span at most {LONGEST:,} outcomes, got {quoted(memory)}")
        return Memory(name, int(span))
    raise InvalidArgument(
        f'memory must be "auto", "full", "reset", "window 2000" or "discount 2000", got {quoted(memory)}'
    )


def levels_of(memory: Memory, arms: int) -> tuple[int, int]:
    """How many levels of moments there are, and how many outcomes lie between two moments of the nearest level.

    >>> levels_of(Memory("reset"), 211), levels_of(Memory("reset"), 125_251), levels_of(FULL, 211)
    ((10, 32), (2, 8192), (0, 0))
    """
    if memory.code != records.RESET:
        return 0, 0
    nearest, levels = NEAREST, 1
    while 16 * nearest < arms:
        nearest *= 2
    while nearest << levels <= FURTHEST:
        levels += 1
    return levels, nearest
