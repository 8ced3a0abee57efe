"""The three scenarios of the live demo. Each repeats its phases, so that a shift can be watched at any time."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from suffice.lab.streams import LabelRanks, Phases, Rides
from suffice.lab.streams.apis import PredictionApis
from suffice.lab.streams.base import Stream
from suffice.menu.menu import Menu


@dataclass(frozen=True, slots=True)
class Phase:
    """A stream for some decisions, in a few words, and the share of outcomes that are lost meanwhile."""

    words: str
    stream: Stream
    length: int
    lost: float = 0.0


@dataclass(frozen=True)
class Scenario:
    """What is to be chosen, how often it must succeed, and which phases follow each other.

    `late` is after how many further decisions an outcome is reported, at least and at most; `overdue` is the share of
    outcomes that come only after so many decisions that they have expired, which is after `expire_after` seconds.
    """

    name: str
    about: str
    target: float
    phases: tuple[Phase, ...]
    late: tuple[int, int] = (0, 0)
    overdue: tuple[float, int] = (0.0, 0)
    expire_after: float | None = None

    @cached_property
    def stream(self) -> Phases:
        """One round of all phases."""
        return Phases(*((phase.stream, phase.length) for phase in self.phases))

    @property
    def menu(self) -> Menu:
        """The options."""
        return self.stream.menu

    def latents(self, rng: np.random.Generator) -> Iterator[tuple[Phase, Any]]:
        """The phase and the latent of each step, without end."""
        length = sum(phase.length for phase in self.phases)
        while True:
            drawn = iter(self.stream.draw(rng, length))
            for phase in self.phases:
                for _ in range(phase.length):
                    yield phase, next(drawn)


def speech() -> Scenario:
    """Which speech APIs to call: spoken digits, first easy for all APIs, then too noisy for most."""
    return Scenario(
        "speech-apis",
        "which of four speech APIs to call, or a person (FrugalML)",
        target=0.9,
        phases=(
            Phase("AudioMNIST: the cheapest API recognises it", PredictionApis("AUDIOMNIST"), 1500),
            Phase("DIGIT: noisy, only the expensive APIs do", PredictionApis("DIGIT"), 900),
        ),
    )


def labels() -> Scenario:
    """How many labels to show: the paper's shift, from easy images to images where only showing all 100 works."""
    return Scenario(
        "image-labels",
        "how many of 100 labels to show (CIFAR-100, the paper's shift)",
        target=0.9,
        phases=(
            Phase("easy images: rank 5 or better", LabelRanks.cifar100(most=5), 1600),
            Phase("hard images: rank 80 or worse", LabelRanks.cifar100(least=80), 400),
        ),
    )


def rides() -> Scenario:
    """How many drivers to ask: outcomes are late, some come after they have expired, and some never come.

    The safe option is a dedicated car that reports by itself: its outcomes are never lost.
    """
    stream = Rides()
    return Scenario(
        "rides",
        "how many drivers to ask: until their chances to accept sum to the option; outcomes come late, or never (simulated)",
        target=0.9,
        phases=(
            Phase("as usual: 1 outcome in 100 is lost", stream, 1600, lost=0.01),
            Phase("a dead spot: 1 in 10 is lost", stream, 300, lost=0.1),
        ),
        late=(4, 40),
        overdue=(0.01, 800),
        expire_after=10.0,
    )


def all_scenarios() -> list[Scenario]:
    """All three, fresh."""
    return [speech(), labels(), rides()]
