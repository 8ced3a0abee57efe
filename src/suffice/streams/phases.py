"""Phases: one stream after another, for a world that shifts."""

from typing import Any

import numpy as np

from suffice.checks import whole
from suffice.errors import InvalidArgument
from suffice.streams.base import Stream, Windows


class Phases:
    """Each (stream, length) in turn; the last goes on for as long as it is asked. All share one menu and one judge.

    >>> from suffice.streams import LabelRanks
    >>> stream = Phases((LabelRanks.cifar100(most=5), 3), (LabelRanks.cifar100(least=80), 3))
    >>> [bool(rank <= 5) for rank in stream.draw(np.random.default_rng(0), 6)]
    [True, True, True, False, False, False]
    """

    def __init__(self, *phases: tuple[Stream, int]) -> None:
        if not phases:
            raise InvalidArgument("phases must hold at least one (stream, length)")
        self.streams = [stream for stream, _ in phases]
        self.ends = np.cumsum([whole("length", length) for _, length in phases])
        self.menu = self.streams[0].menu
        if any(stream.menu.recipe() != self.menu.recipe() for stream in self.streams):
            raise InvalidArgument("phases must share one menu")
        if any(type(stream) is not type(self.streams[0]) for stream in self.streams):
            raise InvalidArgument("phases must be streams of one kind, so that one judge serves all")
        if hasattr(self.streams[0], "windows"):
            self.windows = self._windows

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Any:
        drawn, step = [], start
        for place, stream in enumerate(self.streams):
            end = start + count if place == len(self.streams) - 1 else min(int(self.ends[place]), start + count)
            if end > step:
                drawn.append(stream.draw(rng, end - step, step))
                step = end
        return np.concatenate(drawn)

    def judge(self, latent: Any, arm: int, dual: float) -> tuple[float, float]:
        return self.streams[0].judge(latent, arm, dual)

    def _windows(self) -> Windows:
        windows: Windows = self.streams[0].windows()  # type: ignore[attr-defined]
        return windows
