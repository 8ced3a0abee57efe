"""Worlds that change, made of several streams: one after another, at random, or one turning into another."""

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from suffice.lab.streams.base import Floats, Stream, clipped
from suffice.lab.streams.combined import CombinedStream, Latents, streams_of
from suffice.lab.streams.ranks import LabelRanks
from suffice.numbers import positive, positive_int


class Phase(NamedTuple):
    """The length of a phase, and the exact success probability and mean cost of every arm in it."""

    length: int
    success: Floats
    cost: Floats


class Phases(CombinedStream):
    """Each (stream, length) in turn, from its own first step; the last continues for as many steps as are drawn.

    See `CombinedStream` for which streams can be combined. There is no single truth; `truths()` gives that of each phase,
    where all streams know theirs, and `streams` holds them, with the `cases()` of those that have contexts.

    >>> from suffice.lab.streams import LabelRanks
    >>> stream = Phases((LabelRanks.cifar100(most=5), 3), (LabelRanks.cifar100(least=80), 3))
    >>> [bool(rank <= 5) for rank in stream.draw(np.random.default_rng(0), 6)]
    [True, True, True, False, False, False]
    >>> import suffice
    >>> [round(suffice.optimum(phase.success, phase.cost, target=0.9).cost, 3) for phase in stream.truths()]
    [0.045, 0.9]
    """

    name = "phases"
    description = "CIFAR-100 labels, first easy, then hard (the paper's shift), perhaps easy again"

    def __init__(self, *phases: tuple[Stream, int]) -> None:
        super().__init__("phases", streams_of("phases", "length", phases))
        self.ends = np.cumsum([positive_int("length", length) for _, length in phases])
        if self.truths_of_streams() is not None:
            self.truths = self._truths

    @classmethod
    def from_settings(cls, *, easy: int = 20_000, hard: int = 10_000, again: int = 0) -> "Phases":
        """So many images with the true label among the first five, then ones with it at rank 80 or beyond.

        The shift ends where `again` is above 0: so many easy ones follow the hard ones.
        """
        simple, difficult = LabelRanks.cifar100(most=5), LabelRanks.cifar100(least=80)
        back = [(simple, again)] if positive_int("again", again, 0) else []
        return cls((simple, easy), (difficult, hard), *back)

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Latents:
        """One latent per step, from the phase that the step is in."""
        latents, begins = [], [0, *self.ends[:-1].tolist()]
        for place, (begin, end) in enumerate(itertools.zip_longest(begins, begins[1:], fillvalue=start + count)):
            first, last = max(begin, start), min(end, start + count)
            if first < last:
                latents.append(self._draw_from(place, rng, last - first, first - begin))
        return np.concatenate(latents) if latents else self._draw_from(0, rng, 0, 0)

    def _truths(self) -> list[Phase]:
        """The truth of each phase."""
        lengths = np.diff(self.ends, prepend=0).tolist()
        return [Phase(length, *truth) for length, truth in zip(lengths, self.truths_of_streams() or [], strict=True)]


class Mix(CombinedStream):
    """Each step from one of the streams, drawn with a probability in proportion to its weight.

    See `CombinedStream` for which streams can be combined. There are no `cases()`: a context need not tell which stream it
    is from.

    >>> from suffice.lab.streams import LabelRanks
    >>> stream = Mix((LabelRanks.cifar100(most=5), 3), (LabelRanks.cifar100(least=80), 1))
    >>> stream.truth()[0].tolist()
    [0.0, 0.75, 0.75, 0.75, 0.75, 1.0]
    """

    name = "mix"
    description = "CIFAR-100 labels, easy or hard at random"

    def __init__(self, *parts: tuple[Stream, float | Fraction]) -> None:
        super().__init__("parts", streams_of("parts", "weight", parts))
        weights = [positive("weight", weight) for _, weight in parts]
        self.weights = np.array([float(weight / sum(weights)) for weight in weights])
        if self.truths_of_streams() is not None:
            self.truth = self._truth

    @classmethod
    def from_settings(cls, *, easy: float = 0.8, hard: float = 0.2) -> "Mix":
        """Images with the true label among the first five and ones with it beyond rank 20, by these weights."""
        return cls((LabelRanks.cifar100(most=5), easy), (LabelRanks.cifar100(least=21), hard))

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Latents:
        """One latent per step."""
        return self._pick(rng.choice(len(self.streams), size=count, p=self.weights), rng, start)

    def _truth(self) -> tuple[Floats, Floats]:
        """The exact success probability and mean cost of every arm."""
        truths: Sequence[tuple[Floats, Floats]] = self.truths_of_streams() or []
        success, cost = (sum(w * truth[part] for w, truth in zip(self.weights, truths, strict=True)) for part in (0, 1))
        return clipped(np.asarray(success)), np.asarray(cost)


class Drift(CombinedStream):
    """A step t comes from the second stream with probability t/length, and from `length` on always.

    See `CombinedStream` for which streams can be combined.

    >>> from suffice.lab.streams import LabelRanks
    >>> stream = Drift(LabelRanks.cifar100(most=5), LabelRanks.cifar100(least=80), length=1000)
    >>> drawn = stream.draw(np.random.default_rng(0), 2000)
    >>> int((drawn[:100] > 5).sum()), int((drawn[900:1000] > 5).sum()), int((drawn[1000:] > 5).sum())
    (3, 96, 1000)
    """

    name = "drift"
    description = "CIFAR-100 labels that grow harder little by little"

    def __init__(self, first: Stream, second: Stream, length: int) -> None:
        super().__init__("first and second", [first, second])
        self.length = positive_int("length", length)

    @classmethod
    def from_settings(cls, *, length: int = 10_000) -> "Drift":
        """From images with the true label among the first five to ones with it beyond."""
        return cls(LabelRanks.cifar100(most=5), LabelRanks.cifar100(least=6), length)

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Latents:
        """One latent per step."""
        second = rng.random(count) < np.arange(start, start + count) / self.length
        return self._pick(second.astype(np.int64), rng, start)
