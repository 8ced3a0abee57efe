"""Phases: one stream after another, for a world that shifts."""

from typing import Any

import numpy as np

from suffice.errors import InvalidArgument
from suffice.streams.base import Stream


class Phases:
    """Each (stream, length) in turn; the last goes on for as long as it is asked."""

    def __init__(self, *phases: tuple[Stream, int]) -> None:
        if not phases:
            raise InvalidArgument("phases must hold at least one (stream, length)")
        self.phases = phases
        self.menu = phases[0][0].menu
        if any(stream.menu.recipe() != self.menu.recipe() for stream, _ in phases):
            raise InvalidArgument("phases must share one menu")

    def draw(self, rng: np.random.Generator, count: int) -> list[tuple[Stream, Any]]:
        drawn: list[tuple[Stream, Any]] = []
        for place, (stream, length) in enumerate(self.phases):
            left = count - len(drawn)
            steps = left if place == len(self.phases) - 1 else min(length, left)
            drawn.extend((stream, latent) for latent in stream.draw(rng, steps))
        return drawn

    def judge(self, latent: tuple[Stream, Any], arm: int, dual: float) -> tuple[float, float]:
        stream, inner = latent
        return stream.judge(inner, arm, dual)
