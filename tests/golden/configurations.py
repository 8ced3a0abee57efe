"""All configurations, and the drivers that run them."""

import warnings
from typing import Final

import suffice

from . import drive_fleets, drive_selectors, drive_service, making, reading
from .of_fleets import FLEETS
from .of_selectors import SELECTORS
from .of_service import SERVICE
from .of_streams import STREAMS
from .records import Configuration, Fleeting, Run, Selecting, Simulating

ALL: Final[list[Configuration]] = [*SELECTORS, *STREAMS, *FLEETS, *SERVICE]


def run(one: Configuration) -> Run:
    """Run a configuration, without warnings: some have choosers that fail, and costs above the largest."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(one, Selecting):
            return drive_selectors.run(one)
        if isinstance(one, Simulating):
            return run_on_stream(one)
        return drive_fleets.run(one) if isinstance(one, Fleeting) else drive_service.run(one)


def run_on_stream(one: Simulating) -> Run:
    world = making.stream(one.stream)
    method = making.on_stream(one.kind, world, one.stream, one.target, one.settings)
    if one.summarized:
        marks = (one.steps // 3, 2 * one.steps // 3, one.steps)
        return reading.summarized(suffice.summarize(method, world, one.steps, one.seed, marks=marks))
    return reading.simulated(suffice.simulate(method, world, one.steps, one.seed))


def chosen(part: str) -> list[Configuration]:
    """The configurations with this part in their names."""
    return [one for one in ALL if part in one.name]
