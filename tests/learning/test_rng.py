"""The random generator: against its author's description, plain against compiled, and by statistical tests."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from suffice.kernels.compiler import compiled
from suffice.kernels.rows import Floats
from suffice.learning.rng import WORDS, normals, seed_state, uniform
from tests.support.tables import needs_compiler


class Marsaglia:
    """xorwow as its author wrote it down, on whole numbers of 32 bits."""

    def __init__(self, words: list[int]) -> None:
        self.x, self.y, self.z, self.w, self.v, self.d = words

    def next(self) -> int:
        t = self.x ^ (self.x >> 2)
        self.x, self.y, self.z, self.w = self.y, self.z, self.w, self.v
        self.v = ((self.v ^ (self.v << 4)) ^ (t ^ (t << 1))) % 2**32
        self.d = (self.d + 362437) % 2**32
        return (self.d + self.v) % 2**32


def seeded(seed: int) -> list[float]:
    words = [0.0] * WORDS
    seed_state(words, 0, seed)
    return words


def normal(seed: int, count: int) -> Floats:
    words = np.concatenate([seeded(seed), np.zeros(count)])
    compiled(normals)(words, 0, WORDS, count)
    return words[WORDS:]


@given(seed=st.integers(0, 2**40))
@settings(max_examples=60, deadline=None)
def test_the_state_is_the_authors_in_whole_numbers_of_32_bits(seed: int) -> None:
    words = seeded(seed)
    assert any(words[:5])  # all zero would stay so
    author = Marsaglia([int(word) for word in words])
    for _ in range(50):
        assert uniform(words, 0) == (author.next() + 0.5) / 2**32
        assert all(word == int(word) and 0 <= word < 2**32 for word in words)


@needs_compiler
@pytest.mark.parametrize("seed", [0, 1, 77, 2**32 - 1])
def test_plain_and_compiled_draw_the_same_numbers(seed: int) -> None:
    room = 301  # odd: the last pair is cut in half
    plain: Any = seeded(seed) + [0.0] * room
    twin: Any = np.zeros(WORDS + room)
    compiled(seed_state)(twin, 0, seed)
    for _ in range(500):
        assert uniform(plain, 0) == compiled(uniform)(twin, 0)
    normals(plain, 0, WORDS, room)
    compiled(normals)(twin, 0, WORDS, room)
    assert plain == twin.tolist()


@pytest.mark.parametrize("seed", [0, 12345])
def test_normals_are_normal(seed: int) -> None:
    numbers = normal(seed, 60_001)
    assert stats.kstest(numbers, "norm").pvalue > 1e-3
    deviation = 1 / math.sqrt(numbers.size)
    assert abs(numbers.mean()) < 4 * deviation
    assert abs(numbers.var() - 1) < 4 * math.sqrt(2) * deviation
    assert abs((numbers**3).mean()) < 4 * math.sqrt(15) * deviation
    assert abs((numbers**4).mean() - 3) < 4 * math.sqrt(96) * deviation
    assert abs(np.corrcoef(numbers[:-1:2], numbers[1::2])[0, 1]) < 4 * math.sqrt(2) * deviation  # the two of a pair


def test_the_statistical_tests_can_fail() -> None:
    """A generator that is off by one part in twenty does not pass."""
    assert stats.kstest(normal(0, 60_000) * 1.05, "norm").pvalue < 1e-3
