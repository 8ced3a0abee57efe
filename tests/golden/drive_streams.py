"""Runs on streams of the package."""

from . import making, reading
from .records import Run, Simulating


def run(one: Simulating) -> Run:
    """What happens."""
    world = making.stream(one.stream)
    method = making.on_stream(one.kind, world, one.stream, one.target, one.settings)
    if one.summarized:
        return Run(*reading.summarized(making.summarize(method, world, one.steps, one.seed)))
    return Run(*reading.simulated(making.simulate(method, world, one.steps, one.seed)))
