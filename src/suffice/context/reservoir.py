"""A uniform random sample of rows, of bounded size."""

import math
from typing import Final

from suffice.errors import StateError, quoted
from suffice.kernels.rows import Floats
from suffice.learning.rng import MASK, WORDS, seed_state, uniform
from suffice.numbers import positive_int

SIZE: Final = 512


class Reservoir:
    """At most SIZE of the rows offered, each as likely as any other.

    Once it is full, it draws which row it takes next and skips those before (Li 1994, algorithm L): `next_at` is the number
    of that row, `threshold` the largest of the SIZE smallest uniform numbers that the rows are thought to carry.
    """

    def __init__(self) -> None:
        self.rows: list[Floats] = []
        self.next_at, self.threshold = 0, 1.0
        self._random = [0.0] * WORDS
        seed_state(self._random, 0, 1)

    def offer(self, row: Floats, number: int) -> None:
        """Offer a row, the `number`-th of all."""
        if len(self.rows) < SIZE:
            self.rows.append(row.copy())
            if len(self.rows) < SIZE:
                return
        elif number < self.next_at:
            return
        else:
            self.rows[int(uniform(self._random, 0) * SIZE)] = row.copy()
        self.threshold *= math.exp(math.log(uniform(self._random, 0)) / SIZE)
        skipped = math.log(uniform(self._random, 0)) / math.log1p(-self.threshold)
        self.next_at = number + 1 + int(min(skipped, 1e15))

    def words(self) -> list[int]:
        """The state of the random generator."""
        return [int(word) for word in self._random]

    def restore(self, rows: list[Floats], next_at: object, threshold: float, words: list[int]) -> None:
        """Take over a saved sample."""
        if len(rows) > SIZE:
            raise StateError(f"sample must have at most {SIZE} rows, got {len(rows)}")
        if not 0.0 < threshold <= 1.0:
            raise StateError(f"threshold must be above 0 and at most 1, got {quoted(threshold)}")
        numbers = [positive_int("random", word, 0) for word in words]
        if len(numbers) != WORDS or max(numbers) > MASK or not any(numbers[:-1]):
            raise StateError(
                f"random must be {WORDS} numbers below 2^32, the first five not all 0, got {quoted(words)}"
            )
        self.rows, self.next_at, self.threshold = rows, positive_int("next_at", next_at, 0), float(threshold)
        self._random = [float(number) for number in numbers]
