"""Hidden costs: a stream whose menu knows no costs; the cost of each outcome is told, with noise around its mean."""

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from suffice.errors import InvalidArgument, quoted
from suffice.kernels.rows import Ints
from suffice.lab.streams.base import Floats, Stream, Table, drawn, known_costs, truth_of
from suffice.lab.streams.discover import available, maker
from suffice.menu.menu import Menu
from suffice.numbers import between

NOISE: Final = np.linspace(-1.0, 1.0, 8)  # equally likely; finitely many, so that a run can be compiled from a table
MOST: Final = 1 << 21  # numbers in a table


@dataclass(frozen=True, slots=True)
class NoisyLatent:
    """A latent: that of the hidden stream, and its row in the table, or the place of its noise where there is none."""

    inner: object
    place: int

    def __index__(self) -> int:
        return self.place


@dataclass(frozen=True, slots=True, eq=False)
class NoisyLatents:
    """Latents of some steps; to compiled code they are rows of the table."""

    inner: Sequence[object]
    places: Ints

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, step: int) -> NoisyLatent:
        return NoisyLatent(self.inner[step], int(self.places[step]))

    def __iter__(self) -> Iterator[NoisyLatent]:
        return map(NoisyLatent, self.inner, self.places.tolist())

    def __array__(self, dtype: "np.dtype[Any] | None" = None, copy: bool | None = None) -> "np.ndarray[Any, Any]":
        return np.array(self.places, dtype=dtype)


class HiddenCosts:
    """A stream whose menu knows no costs: every outcome is told with its known cost and some noise.

    An arm of cost c is told c + spread·min(c, safe_cost − c)·noise, with one noise of mean 0 between −1 and 1 per step:
    for options of up to half of safe_cost that is c times a factor between 1 − spread and 1 + spread, and more expensive ones
    have as much less as leaves room below safe_cost. Nothing is clipped, so that the mean is c exactly; the skip and
    the safe option have no noise. Latents are those of the stream itself with the same seed; contexts are left out.

    Args:
        stream: any stream whose menu knows its costs.
        spread: how far the noise reaches, from 0 to 1.

    >>> from suffice.lab.streams import LabelRanks
    >>> stream = HiddenCosts(LabelRanks.cifar100(), spread=0.5)
    >>> rng = np.random.default_rng(0)
    >>> sorted({round(stream.outcome(step, 3, 0.0)[1], 3) for step in stream.draw(rng, 100)})
    [0.1, 0.129, 0.157, 0.186, 0.214, 0.243, 0.271, 0.3]
    >>> stream.menu.costs is None, stream.truth()[1].tolist()
    (True, [0.0, 0.05, 0.1, 0.2, 0.5, 1.0])
    """

    name = "told"
    description = "another stream (beta, ranks, ...) whose costs are hidden, and told with noise"

    def __init__(self, stream: Stream, *, spread: float = 0.5) -> None:
        if not all(hasattr(stream, part) for part in ("menu", "draw", "outcome")) or stream.menu.costs is None:
            raise InvalidArgument(
                f"stream must have menu, draw and outcome, and a menu that knows costs, got {quoted(stream)}"
            )
        self.stream, self.menu = stream, without_costs(stream.menu)
        self.spread = between("spread", spread, 0.0, 1.0)
        self._costs = known_costs(stream.menu)
        self._room = self.spread * np.minimum(self._costs, self.menu.safe_cost - self._costs)
        self._kinds = Kinds.of(stream)
        self._table: Table | None = None
        # The simulator recognises by its methods what a stream offers: these are set only where there is an answer.
        if self._kinds is not None:
            noise = np.tile(NOISE, len(self._kinds.successes))[:, None]
            successes = np.repeat(self._kinds.successes, NOISE.size, axis=0)
            self._table = Table(successes, self._clipped(self._costs + self._room * noise))
            self.table = self._whole_table
        if hasattr(stream, "truth"):
            self.truth = self._truth

    @classmethod
    def from_settings(cls, *, of: str = "beta", spread: float = 0.5) -> "HiddenCosts":
        """Another stream by its name, with its default settings."""
        streams = {name: kind for name, kind in available().items() if name not in (cls.name, "log")}
        if of not in streams:
            raise InvalidArgument(f"of must be one of {', '.join(streams)}, got {quoted(of)}")
        return cls(maker(streams[of])(), spread=spread)

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> NoisyLatents:
        """The stream's latents, and the noise of the cost of each step."""
        # From a generator of its own: the stream's latents are then the same with noise and without.
        places = rng.spawn(1)[0].integers(NOISE.size, size=count)
        inner = drawn(self.stream, rng, count, start)
        if self._kinds is not None:
            places += self._kinds.rows(inner) * NOISE.size
        return NoisyLatents(inner, places)

    def outcome(self, latent: NoisyLatent, arm: int, price: float) -> tuple[float, float]:
        """The success and the told cost of an arm, given the step's latent."""
        place = operator.index(latent)
        if self._table is not None:
            return float(self._table.successes[place, arm]), float(self._table.costs[place, arm])
        success, _ = self.stream.outcome(latent.inner, arm, price)
        return success, float(self._clipped(self._costs[arm] + self._room[arm] * NOISE[place]))

    def _clipped(self, costs: Floats) -> Floats:
        return np.clip(costs, 0.0, self.menu.safe_cost)  # only rounding can lead beyond the ends

    def _whole_table(self) -> Table | None:
        return self._table

    def _truth(self) -> tuple[Floats, Floats]:
        return truth_of(self.stream)[0].copy(), self._costs.copy()


@dataclass(frozen=True, slots=True, eq=False)
class Kinds:
    """The finitely many kinds of steps of a stream with windows or a table: the successes in each, and which a latent is."""

    successes: Floats
    ends: Floats | None  # of windows: a latent's kind is how many ends lie below it, and whether it is on one

    @staticmethod
    def of(stream: Stream) -> "Kinds | None":
        """None for a stream without windows or table, and where the table of all kinds and noises would be too large."""
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

    def rows(self, latents: ArrayLike) -> Ints:
        """The kind of each step."""
        if self.ends is None:
            return np.asarray(latents, dtype=np.int64)
        places = np.asarray(latents, dtype=np.float64)
        return self.ends.searchsorted(places, "left") + self.ends.searchsorted(places, "right")


def without_costs(menu: Menu) -> Menu:
    """The same options without their costs."""
    return Menu(
        menu.options,
        safe=menu.safe,
        skip=menu.skip,
        safe_cost=menu.safe_cost,
        safe_success=menu.safe_success,
        order=menu.order,
    )
