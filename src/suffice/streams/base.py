"""What a stream is: a world that judges the arm played in each step and shows nothing else."""

import inspect
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from suffice.menu import Menu

Floats = NDArray[np.float64]


class Windows(NamedTuple):
    """A stream in which an arm succeeds where the latent lies in its window: one window and one cost per arm."""

    low: Floats
    high: Floats
    costs: Floats


class Table(NamedTuple):
    """A stream with finitely many kinds of steps, of which the latent says which: how every arm would do in each.

    `successes` has a row per kind and a column per arm, and so have `costs`.
    """

    successes: Floats
    costs: Floats


class Cases(NamedTuple):
    """A stream with finitely many kinds of contexts: how likely each is, and how every arm does in it.

    `weights` has a number per kind; `success`, the exact probability, and `cost`, the mean, have a row per kind and a
    column per arm. What looking costs is part of `cost`. The three are what `contextual_optimum` takes.
    """

    weights: Floats
    success: Floats
    cost: Floats


class Stream(Protocol):
    """Where outcomes come from.

    `draw` fixes the world for some steps before anything is played, so that methods can be compared on the same one; a
    long run draws it block by block, `start` being the first step of the block. `judge` says how an arm does in one
    step; a hostile stream may look at the dual. A stream may also have a method `windows()`, see `Windows`, or `table()`,
    see `Table`; then whole runs on it are compiled. And it may have `truth()`: the exact success probability and mean
    cost of every arm, two arrays, where steps are independent and alike.

    Where something is known before choosing, the stream has `context(latent)`: a mapping or a row of it, for the step with
    this latent. Methods that are `contextual` are shown it. If looking is not free, `look(latent, arm)` is what it costs
    beside the arm: those who look pay it with every decision, and those who do not look never. And the stream may have
    `cases()`, see `Cases`; its `truth()` is that of a method that does not look.

    A class with a `name` that stands in a file of this package is found by `suffice run NAME`; so is one in a file of
    your own. `named(**settings)` makes one, all settings having defaults.

    >>> import suffice
    >>> class Coins:
    ...     '''The more is spent, the more often it works.'''
    ...
    ...     menu = suffice.Menu({"a": 0.2, "b": 0.6}, everything="all", nothing="none")
    ...
    ...     def draw(self, rng, count, start=0):
    ...         return rng.random(count)
    ...
    ...     def judge(self, latent, arm, dual):
    ...         cost = self.menu.known_cost(arm)
    ...         return latent < cost, cost
    >>> trace = suffice.simulate(suffice.Selector(Coins.menu, target=0.5), Coins(), horizon=500)
    >>> bool(trace.largest_debt <= 0.5)
    True
    """

    menu: Menu

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Any:
        """One latent per step, in something that can be indexed."""
        ...

    def judge(self, latent: Any, arm: int, dual: float) -> tuple[float, float]:
        """The success and the cost of an arm, given the step's latent."""
        ...


def drawn(stream: Stream, rng: np.random.Generator, count: int, start: int) -> Any:
    """Latents of a stream; one that does not care for the time may have a `draw` without a start."""
    timed = len(inspect.signature(stream.draw).parameters) > 2
    return stream.draw(rng, count, start) if timed else stream.draw(rng, count)
