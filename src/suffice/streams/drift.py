"""Drifts: one stream turns into another, little by little."""

from typing import Any

import numpy as np

from suffice.checks import whole
from suffice.streams.base import Stream
from suffice.streams.joined import Joined
from suffice.streams.mix import pick
from suffice.streams.ranks import LabelRanks


class Drift(Joined):
    """A step t comes from the second stream with probability t/length, and from `length` on always.

    See `Joined` for which streams go together.

    >>> from suffice.streams import LabelRanks
    >>> stream = Drift(LabelRanks.cifar100(most=5), LabelRanks.cifar100(least=80), length=1000)
    >>> drawn = stream.draw(np.random.default_rng(0), 2000)
    >>> int((drawn[:100] > 5).sum()), int((drawn[900:1000] > 5).sum()), int((drawn[1000:] > 5).sum())
    (3, 96, 1000)
    """

    name = "drift"
    about = "CIFAR-100 labels that grow harder little by little"

    def __init__(self, first: Stream, second: Stream, length: int) -> None:
        super().__init__("first and second", [first, second])
        self.length = whole("length", length)

    @classmethod
    def named(cls, *, length: int = 10_000) -> "Drift":
        """From images with the true label among the first five to ones with it beyond."""
        return cls(LabelRanks.cifar100(most=5), LabelRanks.cifar100(least=6), length)

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Any:
        """One latent per step; both streams move on with every step."""
        second = rng.random(count) < np.arange(start, start + count) / self.length
        return pick(second.astype(np.int64), [self._draw(place, rng, count, start) for place in (0, 1)])
