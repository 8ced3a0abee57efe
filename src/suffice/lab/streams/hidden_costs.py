"""Told costs: a stream whose costs are hidden, and told with every outcome, more or less what they are on average."""

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.errors import InvalidArgument, quoted
from suffice.lab.streams.base import Cases, Floats, Stream, Table, drawn
from suffice.lab.streams.compiled_forms import known_costs
from suffice.lab.streams.discover import available, maker
from suffice.menu.menu import Menu
from suffice.numbers import between

NOISE: Final = np.linspace(-1.0, 1.0, 8)  # equally likely; finitely many, so that a run can be compiled from a table
MOST: Final = 1 << 21  # numbers in a table


@dataclass(frozen=True, slots=True)
class Step:
    """A latent: the stream's own, which is what a method may be shown of it, and its row in the table or its noise."""

    own: Any
    place: int

    def __float__(self) -> float:
        return float(self.own)

    def __index__(self) -> int:
        return self.place


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """Latents of some steps; to compiled code they are rows of the table."""

    own: Any
    places: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, place: int) -> Step:
        return Step(self.own[place], int(self.places[place]))

    def __iter__(self) -> Iterator[Step]:
        return map(Step, self.own, self.places.tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.places, dtype=dtype)


class HiddenCosts:
    """A stream whose menu knows no costs: what was played is told to have cost its known cost, give or take.

    An arm of cost c is told c + spread·min(c, safe_cost − c)·noise, with one noise of mean 0 between −1 and 1 per step:
    for options of up to half of safe_cost that is c times a factor between 1 − spread and 1 + spread, and dearer ones
    have as much less as leaves room below safe_cost. Nothing is cut off, so that the mean is c exactly; the skip and
    the safe option cost what they always cost. The points are those of the stream itself with the same seed, and so are
    contexts.

    Args:
        stream: any stream whose menu knows its costs.
        spread: how far the noise reaches, from 0 to 1.
        tie: how far the noise follows success, from −1 to 1: at 0 not at all, at 1 a success costs more than a failure,
            at −1 less, and there is no other noise. The mean stays; the stream must know its `truth()`.

    >>> from suffice.lab.streams import LabelRanks
    >>> stream = HiddenCosts(LabelRanks.cifar100(), spread=0.5)
    >>> rng = np.random.default_rng(0)
    >>> sorted({round(stream.judge(step, 3, 0.0)[1], 3) for step in stream.draw(rng, 100)})
    [0.1, 0.129, 0.157, 0.186, 0.214, 0.243, 0.271, 0.3]
    >>> stream.menu.costs is None, stream.truth()[1].tolist()
    (True, [0.0, 0.05, 0.1, 0.2, 0.5, 1.0])
    """

    name = "told"
    about = "another stream (beta, ranks, ...) whose costs are hidden, and told with noise"

    def __init__(self, stream: Stream, *, spread: float = 0.5, tie: float = 0.0) -> None:
        if not all(hasattr(stream, part) for part in ("menu", "draw", "judge")) or stream.menu.costs is None:
            raise InvalidArgument(
                f"stream must have menu, draw and judge, and a menu that knows costs, got {quoted(stream)}"
            )
        self.stream, self.menu = stream, hidden(stream.menu)
        self.spread, self.tie = between("spread", spread, 0.0, 1.0), between("tie", tie, -1.0, 1.0)
        if self.tie and not hasattr(stream, "truth"):
            raise InvalidArgument(f"tie must be 0 where the stream does not know its truth, got {quoted(tie)}")
        self._costs = known_costs(stream.menu)
        self._room = self.spread * np.minimum(self._costs, self.menu.safe_cost - self._costs)
        self._mean = stream.truth()[0] if hasattr(stream, "truth") else np.zeros(self._costs.size)
        # A row of windows does not say the latent, which the context depends on.
        self._kinds = None if hasattr(stream, "context") and hasattr(stream, "windows") else Kinds.of(stream)
        self._table: Table | None = None
        # A stream has these methods only where they have an answer: that is how the simulator knows.
        if self._kinds is not None:
            successes = np.repeat(self._kinds.successes, NOISE.size, axis=0)
            noise = np.tile(NOISE, len(self._kinds.successes))[:, None]
            self._table = Table(successes, self._noisy(slice(None), successes, noise))
            self.table = self._written
        for part in ("truth", "context", "look", "cases"):
            if hasattr(stream, part):
                setattr(self, part, getattr(self, f"_{part}"))

    @classmethod
    def named(cls, *, of: str = "beta", spread: float = 0.5, tie: float = 0.0) -> "HiddenCosts":
        """Another stream by its name, with its usual settings."""
        streams = {name: kind for name, kind in available().items() if kind is not cls}
        if of not in streams:
            raise InvalidArgument(f"of must be one of {', '.join(streams)}, got {quoted(of)}")
        return cls(maker(streams[of])(), spread=spread, tie=tie)

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Steps:
        """The stream's latents, and how noisy the cost of each step is."""
        # From a generator of its own: the stream's points are then the same with noise and without.
        places = rng.spawn(1)[0].integers(NOISE.size, size=count)
        own = drawn(self.stream, rng, count, start)
        if self._kinds is not None:
            places += self._kinds.rows(own) * NOISE.size
        return Steps(own, places)

    def judge(self, latent: Any, arm: int, price: float) -> tuple[float, float]:
        """The success and what is told of the cost of an arm, given the step's latent."""
        place = operator.index(latent)
        if self._table is not None:
            return float(self._table.successes[place, arm]), float(self._table.costs[place, arm])
        success, _ = self.stream.judge(latent.own, arm, price)
        return success, float(self._noisy(arm, success, NOISE[place]))

    def _noisy(self, arm: Any, success: Any, noise: Any) -> Any:
        swing = (1.0 - abs(self.tie)) * noise + self.tie * (success - self._mean[arm])
        # Only rounding can lead beyond the ends.
        return np.clip(self._costs[arm] + self._room[arm] * swing, 0.0, self.menu.safe_cost)

    def _own(self, latent: Any) -> Any:
        """The stream's own latent; one of phases or a mix is a row of the table and no more."""
        return latent.own if isinstance(latent, Step) else operator.index(latent) // NOISE.size

    def _context(self, latent: Any) -> Any:
        return self.stream.context(self._own(latent))  # type: ignore[attr-defined]

    def _look(self, latent: Any, arm: int) -> float:
        return float(self.stream.look(self._own(latent), arm))  # type: ignore[attr-defined]

    def _cases(self) -> Cases:
        """Where the noise follows success, so do the mean costs in a kind of context that succeeds more than others."""
        cases: Cases = self.stream.cases()  # type: ignore[attr-defined]
        return cases._replace(cost=cases.cost + self._room * self.tie * (cases.success - self._mean))

    def _written(self) -> Table | None:
        return self._table

    def _truth(self) -> tuple[Floats, Floats]:
        return self._mean.copy(), self._costs.copy()


@dataclass(frozen=True, slots=True, eq=False)
class Kinds:
    """The finitely many kinds of steps of a stream with windows or a table: how each arm does, and which a latent is."""

    successes: Floats
    ends: Floats | None  # of windows: a latent is known by how many ends lie below it, and by whether it is on one

    @staticmethod
    def of(stream: Any) -> "Kinds | None":
        """None where the stream can only be asked, or its kinds with all their noises are too many for a table."""
        most = MOST // NOISE.size
        if hasattr(stream, "windows"):
            low, high, _ = stream.windows()
            ends = np.unique(np.concatenate([low, high]))
            ends = ends[np.isfinite(ends)]
            if (2 * ends.size + 1) * low.size > most:
                return None
            middles = np.concatenate([ends[:1] - 1.0, (ends[1:] + ends[:-1]) / 2.0, ends[-1:] + 1.0])
            latents = np.zeros(2 * ends.size + 1)
            latents[::2], latents[1::2] = middles, ends
            return Kinds(((low <= latents[:, None]) & (latents[:, None] <= high)).astype(np.float64), ends)
        if not hasattr(stream, "table") or stream.table().successes.size > most:
            return None
        return Kinds(stream.table().successes, None)

    def rows(self, latents: ArrayLike) -> NDArray[np.int64]:
        """The kind of each step."""
        if self.ends is None:
            return np.asarray(latents, dtype=np.int64)
        places = np.asarray(latents, dtype=np.float64)
        return self.ends.searchsorted(places, "left") + self.ends.searchsorted(places, "right")


def hidden(menu: Menu) -> Menu:
    """The same options, of which nobody knows the costs."""
    return Menu(
        menu.options,
        safe=menu.safe,
        skip=menu.skip,
        safe_cost=menu.safe_cost,
        safe_success=menu.safe_success,
        order=menu.order,
    )
