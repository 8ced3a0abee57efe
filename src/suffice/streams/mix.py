"""Mixes: each step comes from one of several streams, at random."""

from fractions import Fraction
from typing import Any

import numpy as np

from suffice.checks import positive
from suffice.streams.base import Floats, Stream
from suffice.streams.forms import shares
from suffice.streams.joined import Joined, streams_of
from suffice.streams.ranks import LabelRanks


class Mix(Joined):
    """Each step from one of the streams, picked with a probability in proportion to its weight.

    See `Joined` for which streams go together. All streams move on with every step, picked or not. There are no `cases()`:
    a context need not say which stream it is from.

    >>> from suffice.streams import LabelRanks
    >>> stream = Mix((LabelRanks.cifar100(most=5), 3), (LabelRanks.cifar100(least=80), 1))
    >>> stream.truth()[0].tolist()
    [0.0, 0.75, 0.75, 0.75, 0.75, 1.0]
    """

    name = "mix"
    about = "CIFAR-100 labels, easy or hard at random"

    def __init__(self, *parts: tuple[Stream, float | Fraction]) -> None:
        super().__init__("parts", streams_of("parts", "weight", parts))
        weights = [positive("weight", weight) for _, weight in parts]
        self.weights = np.array([float(weight / sum(weights)) for weight in weights])
        if all(hasattr(stream, "truth") for stream in self.streams):
            self.truth = self._truth

    @classmethod
    def named(cls, *, easy: float = 0.8, hard: float = 0.2) -> "Mix":
        """Images with the true label among the first five and ones with it beyond rank 20, by these weights."""
        return cls((LabelRanks.cifar100(most=5), easy), (LabelRanks.cifar100(least=21), hard))

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Any:
        """One latent per step."""
        picked = rng.choice(len(self.streams), size=count, p=self.weights)
        return pick(picked, [self._draw(place, rng, count, start) for place in range(len(self.streams))])

    def _truth(self) -> tuple[Floats, Floats]:
        """The exact success probability and mean cost of every arm."""
        truths = [stream.truth() for stream in self.streams]  # type: ignore[attr-defined]
        success, cost = (sum(w * truth[part] for w, truth in zip(self.weights, truths, strict=True)) for part in (0, 1))
        return shares(success), cost


def pick(picked: Any, drawn: list[Any]) -> Any:
    """For each step the latent of the stream that was picked."""
    latents = drawn[0].copy()
    for place, own in enumerate(drawn):
        latents[picked == place] = own[picked == place]
    return latents
