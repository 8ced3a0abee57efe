"""Phases: one stream after another, for a world that shifts."""

from typing import Any, NamedTuple

import numpy as np

from suffice.checks import whole
from suffice.streams.base import Floats, Stream
from suffice.streams.joined import Joined, streams_of
from suffice.streams.ranks import LabelRanks


class Phase(NamedTuple):
    """How long a phase lasts, and the exact success probability and mean cost of every arm in it."""

    length: int
    success: Floats
    cost: Floats


class Phases(Joined):
    """Each (stream, length) in turn, from its own first step; the last goes on for as long as it is asked.

    See `Joined` for which streams go together. There is no one truth; `truths()` gives that of each phase, where all
    streams know theirs, and `streams` holds them, with the `cases()` of those that have contexts.

    >>> from suffice.streams import LabelRanks
    >>> stream = Phases((LabelRanks.cifar100(most=5), 3), (LabelRanks.cifar100(least=80), 3))
    >>> [bool(rank <= 5) for rank in stream.draw(np.random.default_rng(0), 6)]
    [True, True, True, False, False, False]
    >>> import suffice
    >>> [round(suffice.optimum(phase.success, phase.cost, target=0.9).cost, 3) for phase in stream.truths()]
    [0.045, 0.9]
    """

    name = "phases"
    about = "CIFAR-100 labels, first easy, then hard (the paper's shift), perhaps easy again"

    def __init__(self, *phases: tuple[Stream, int]) -> None:
        super().__init__("phases", streams_of("phases", "length", phases))
        self.ends = np.cumsum([whole("length", length) for _, length in phases])
        if all(hasattr(stream, "truth") for stream in self.streams):
            self.truths = self._truths

    @classmethod
    def named(cls, *, easy: int = 20_000, hard: int = 10_000, again: int = 0) -> "Phases":
        """So many images with the true label among the first five, then ones with it at rank 80 or beyond.

        The shift ends where `again` is above 0: so many easy ones follow the hard ones.
        """
        simple, difficult = LabelRanks.cifar100(most=5), LabelRanks.cifar100(least=80)
        back = [(simple, again)] if whole("again", again, 0) else []
        return cls((simple, easy), (difficult, hard), *back)

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Any:
        """One latent per step, from the phase that the step is in."""
        drawn, step, begins = [], start, 0
        for place, ends in enumerate(self.ends.tolist()):
            end = start + count if place == len(self.streams) - 1 else min(ends, start + count)
            if end > step:
                drawn.append(self._draw(place, rng, end - step, step - begins))
                step = end
            begins = ends
        return np.concatenate(drawn) if drawn else self._draw(0, rng, 0, 0)

    def _truths(self) -> list[Phase]:
        """The truth of each phase."""
        lengths = np.diff(self.ends, prepend=0).tolist()
        truths = [stream.truth() for stream in self.streams]  # type: ignore[attr-defined]
        return [Phase(length, *truth) for length, truth in zip(lengths, truths, strict=True)]
