"""A random generator whose state is six numbers below 2^32 in cells of floats, so that it can be saved and compiled.

Marsaglia's xorwow: a linear generator plus a counter, masked to 32 bits, so that plain and compiled integers agree.
"""

import math
from collections.abc import MutableSequence

from suffice.kernels.rows import Floats

MASK = 0xFFFFFFFF
WORDS = 6
WEYL = 362437


def seed_state(cells: MutableSequence[float] | Floats, at: int, seed: int) -> None:
    """Fill in the state from a seed below 2^32: the words of a linear congruence, never all zero."""
    word = seed & MASK
    for place in range(WORDS):
        word = (word * 1664525 + 1013904223) & MASK
        cells[at + place] = float((word ^ (word >> 15)) | (1 if place == 0 else 0))
    for _ in range(16):
        uniform(cells, at)


def uniform(cells: MutableSequence[float] | Floats, at: int) -> float:
    """A number strictly between 0 and 1."""
    last, first = int(cells[at + 4]), int(cells[at])
    first ^= first >> 2
    first ^= (first << 1) & MASK
    first ^= last ^ ((last << 4) & MASK)
    for place in range(4):
        cells[at + place] = cells[at + place + 1]
    cells[at + 4] = float(first)
    counter = (int(cells[at + 5]) + WEYL) & MASK
    cells[at + 5] = float(counter)
    return (float((first + counter) & MASK) + 0.5) / 4294967296.0


def normals(cells: MutableSequence[float] | Floats, at: int, out: int, count: int) -> None:
    """Write `count` independent standard normal numbers from `out` on, by Box and Muller, in pairs."""
    for place in range(0, count, 2):
        radius = math.sqrt(-2.0 * math.log(uniform(cells, at)))
        angle = 2.0 * math.pi * uniform(cells, at)
        cells[out + place] = radius * math.cos(angle)
        if place + 1 < count:
            cells[out + place + 1] = radius * math.sin(angle)
