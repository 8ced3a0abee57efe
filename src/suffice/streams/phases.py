"""Phases: one stream after another, for a world that shifts."""

from typing import Any, ClassVar

import numpy as np

from suffice.checks import whole
from suffice.errors import InvalidArgument, shown
from suffice.streams.base import Stream
from suffice.streams.joined import Joined
from suffice.streams.ranks import LabelRanks


class Phases(Joined):
    """Each (stream, length) in turn, from its own first step; the last goes on for as long as it is asked.

    See `Joined` for which streams go together.

    >>> from suffice.streams import LabelRanks
    >>> stream = Phases((LabelRanks.cifar100(most=5), 3), (LabelRanks.cifar100(least=80), 3))
    >>> [bool(rank <= 5) for rank in stream.draw(np.random.default_rng(0), 6)]
    [True, True, True, False, False, False]
    """

    name: ClassVar[str] = "phases"
    about: ClassVar[str] = "CIFAR-100 labels, first easy, then hard (the paper's shift)"

    def __init__(self, *phases: tuple[Stream, int]) -> None:
        if not phases:
            raise InvalidArgument("phases must hold at least one (stream, length)")
        for phase in phases:
            if not isinstance(phase, tuple) or len(phase) != 2:
                raise InvalidArgument(f"phases must be pairs (stream, length), got {shown(phase)}")
        super().__init__("phases", [stream for stream, _ in phases])
        self.ends = np.cumsum([whole("length", length) for _, length in phases])

    @classmethod
    def named(cls, *, easy: int = 20_000, hard: int = 10_000) -> "Phases":
        """So many images with the true label among the first five, then ones with it at rank 80 or beyond."""
        return cls((LabelRanks.cifar100(most=5), easy), (LabelRanks.cifar100(least=80), hard))

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
