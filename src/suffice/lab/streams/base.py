"""What streams have in common beside the protocol, which is in `simulate`: kinds of contexts, and settings."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from suffice.kernels.rows import Floats as Floats
from suffice.simulator import Stream as Stream
from suffice.simulator import Table as Table
from suffice.simulator import Windows as Windows
from suffice.simulator import drawn as drawn


class Cases(NamedTuple):
    """A stream with finitely many kinds of contexts: how likely each is, and how every arm does in it.

    `weights` has a number per kind; `success`, the exact probability, and `cost`, the mean, have a row per kind and a
    column per arm. What looking costs is part of `cost`. The three are what `contextual_optimum` takes.
    """

    weights: Floats
    success: Floats
    cost: Floats


Maker = TypeVar("Maker", bound=Callable[..., Any])


def with_settings_of(other: Callable[..., Any]) -> Callable[[Maker], Maker]:
    """Says that **settings are the keyword arguments of `other`, which the command line offers."""

    def say(maker: Maker) -> Maker:
        setattr(maker, "settings_of", getattr(other, "__func__", other))  # noqa: B010  # mypy knows no such attribute
        return maker

    return say
