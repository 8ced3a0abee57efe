"""Several streams as one: a menu for all, and latents that say which of them a step came from. Phases, mixes and drifts."""

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.lab.streams.base import Floats, Stream, Table, Windows, drawn
from suffice.lab.streams.compiled_forms import shares
from suffice.lab.streams.ranks import LabelRanks
from suffice.menu.menu import Menu
from suffice.numbers import positive, positive_int


class CombinedStream:
    """What phases, mixes and drifts have in common.

    The streams may be of any kinds as long as their menus have equally many arms and the same safe_cost. Where menus
    differ, options are called what the first menu calls them, and costs that are not the same in all are told.

    Streams with the same windows make one with these windows; streams with tables make one whose table is theirs, one
    below the other; in all other cases a latent is a pair (which stream, its latent), and the stream itself judges.
    Where all streams have contexts with the same fields, so has this one, and a step's is that of the stream it is from.
    """

    def __init__(self, what: str, streams: Sequence[Stream]) -> None:
        for stream in streams:
            if not all(hasattr(stream, part) for part in ("menu", "draw", "judge")):
                raise InvalidArgument(f"{what} must be streams, with menu, draw and judge, got {quoted(stream)}")
        self.streams = tuple(streams)
        self.menu = common_menu(what, [stream.menu for stream in streams])
        alike = same_fields(self.streams)
        # Windows in common would leave no trace of which stream a latent is from, and the context depends on it.
        self._same: Windows | None = None if alike else same_windows(self.streams)
        self._rows: list[int] | None = None  # where each stream's table begins in the joined one
        # A stream has these methods only where they have an answer: that is how the simulator knows.
        if self._same is not None:
            self.windows = self._joined_windows
        elif all(hasattr(stream, "table") for stream in streams):
            sizes = [len(stream.table().costs) for stream in streams]  # type: ignore[attr-defined]
            self._rows = [0, *np.cumsum(sizes)[:-1].tolist()]
            self.table = self._joined_table
        if alike:
            self.context = self._joined_context
            if any(hasattr(stream, "look") for stream in streams):
                self.look = self._joined_look

    def judge(self, latent: Any, arm: int, price: float) -> tuple[float, float]:
        """The success and the cost of an arm, given the step's latent."""
        if self._same is not None:
            low, high, costs = self._same
            return float(low[arm] <= latent <= high[arm]), float(costs[arm])
        place, own = self._own(latent)
        return self.streams[place].judge(own, arm, price)

    def _own(self, latent: Any) -> tuple[int, Any]:
        """Which stream a latent is from, and what it is there."""
        if self._rows is not None:
            place = int(np.searchsorted(self._rows, latent, side="right")) - 1
            return place, latent - self._rows[place]
        place, own = latent
        return place, own

    def _draw(self, place: int, rng: np.random.Generator, count: int, start: int) -> Any:
        """Latents of one of the streams, in the form that this one judges."""
        own = drawn(self.streams[place], rng, count, start)
        if self._same is not None:
            return np.asarray(own, dtype=np.float64)
        if self._rows is not None:
            return np.asarray(own, dtype=np.int64) + self._rows[place]
        pairs = np.empty(count, dtype=object)
        for step in range(count):
            pairs[step] = (place, own[step])
        return pairs

    def _joined_context(self, latent: Any) -> Any:
        place, own = self._own(latent)
        return self.streams[place].context(own)  # type: ignore[attr-defined]

    def _joined_look(self, latent: Any, arm: int) -> float:
        place, own = self._own(latent)
        look = getattr(self.streams[place], "look", None)
        return 0.0 if look is None else float(look(own, arm))

    def _joined_windows(self) -> Windows | None:
        return self._same

    def _joined_table(self) -> Table:
        tables = [stream.table() for stream in self.streams]  # type: ignore[attr-defined]
        return Table(np.concatenate([t.successes for t in tables]), np.concatenate([t.costs for t in tables]))


def streams_of(what: str, beside: str, pairs: Sequence[tuple[Stream, Any]]) -> list[Stream]:
    """The streams of pairs, each with something beside it."""
    if not pairs:
        raise InvalidArgument(f"{what} must hold at least one (stream, {beside})")
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise InvalidArgument(f"{what} must be pairs (stream, {beside}), got {quoted(pair)}")
    return [stream for stream, _ in pairs]


def common_menu(what: str, menus: Sequence[Menu]) -> Menu:
    """One menu for streams whose arms correspond; it knows only the costs that are the same in all."""
    first = menus[0]
    for menu in menus:
        if (menu.n_arms, menu.has_skip, menu.safe_cost) != (first.n_arms, first.has_skip, first.safe_cost):
            raise InvalidArgument(
                f"{what} must share one menu, or have menus with as many arms, with or without a skip option, and the same "
                f"safe_cost, got {menu.n_arms} arms at {menu.safe_cost:g} beside {first.n_arms} at {first.safe_cost:g}"
            )
    if all(menu is first or menu.recipe() == first.recipe() for menu in menus):
        return first
    known = {None if menu.costs is None else tuple(menu.costs) for menu in menus}
    return Menu(
        first.options,
        safe=first.safe,
        skip=first.skip,
        costs=first.costs if len(known) == 1 else None,
        safe_cost=first.safe_cost,
        safe_success=min(menu.safe_success for menu in menus),
        order="chain" if all(menu.order == "chain" for menu in menus) else None,
    )


def same_fields(streams: Sequence[Stream]) -> bool:
    """Whether all streams have contexts, with the same fields: one latent of each is drawn to see."""
    if not all(hasattr(stream, "context") for stream in streams):
        return False
    fields = set()
    for stream in streams:
        latent = drawn(stream, np.random.default_rng(0), 1, 0)[0]
        context = stream.context(latent)  # type: ignore[attr-defined]
        fields.add(frozenset(context.keys()) if hasattr(context, "keys") else len(context))
    return len(fields) == 1


def same_windows(streams: Sequence[Stream]) -> Windows | None:
    """The windows that all streams have in common, if they have."""
    if not all(hasattr(stream, "windows") for stream in streams):
        return None
    found: list[Windows] = [stream.windows() for stream in streams]  # type: ignore[attr-defined]
    alike = all(np.array_equal(part, own) for windows in found for part, own in zip(found[0], windows, strict=True))
    return found[0] if alike else None


# --- Phases: one stream after another, for a world that shifts.


class Phase(NamedTuple):
    """How long a phase lasts, and the exact success probability and mean cost of every arm in it."""

    length: int
    success: Floats
    cost: Floats


class Phases(CombinedStream):
    """Each (stream, length) in turn, from its own first step; the last goes on for as long as it is asked.

    See `Joined` for which streams go together. There is no one truth; `truths()` gives that of each phase, where all
    streams know theirs, and `streams` holds them, with the `cases()` of those that have contexts.

    >>> from suffice.lab.streams import LabelRanks
    >>> stream = Phases((LabelRanks.cifar100(most=5), 3), (LabelRanks.cifar100(least=80), 3))
    >>> [bool(rank <= 5) for rank in stream.draw(np.random.default_rng(0), 6)]
    [True, True, True, False, False, False]
    >>> import suffice
    >>> [round(suffice.optimum(phase.success, phase.cost, target=0.9).cost, 3) for phase in stream.truths()]
    [0.045, 0.9]
    """

    name = "phases"
    about = "CIFAR-100 labels, first easy, then hard (the paper's shift), perhaps easy again"

    def __init__(self, *phases: tuple[Stream, int]) -> None:
        super().__init__("phases", streams_of("phases", "length", phases))
        self.ends = np.cumsum([positive_int("length", length) for _, length in phases])
        if all(hasattr(stream, "truth") for stream in self.streams):
            self.truths = self._truths

    @classmethod
    def named(cls, *, easy: int = 20_000, hard: int = 10_000, again: int = 0) -> "Phases":
        """So many images with the true label among the first five, then ones with it at rank 80 or beyond.

        The shift ends where `again` is above 0: so many easy ones follow the hard ones.
        """
        simple, difficult = LabelRanks.cifar100(most=5), LabelRanks.cifar100(least=80)
        back = [(simple, again)] if positive_int("again", again, 0) else []
        return cls((simple, easy), (difficult, hard), *back)

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Any:
        """One latent per step, from the phase that the step is in."""
        latents, begins = [], [0, *self.ends[:-1].tolist()]
        for place, (begin, end) in enumerate(itertools.zip_longest(begins, begins[1:], fillvalue=start + count)):
            first, last = max(begin, start), min(end, start + count)
            if first < last:
                latents.append(self._draw(place, rng, last - first, first - begin))
        return np.concatenate(latents) if latents else self._draw(0, rng, 0, 0)

    def _truths(self) -> list[Phase]:
        """The truth of each phase."""
        lengths = np.diff(self.ends, prepend=0).tolist()
        truths = [stream.truth() for stream in self.streams]  # type: ignore[attr-defined]
        return [Phase(length, *truth) for length, truth in zip(lengths, truths, strict=True)]


# --- Mixes: each step comes from one of several streams, at random.


class Mix(CombinedStream):
    """Each step from one of the streams, picked with a probability in proportion to its weight.

    See `Joined` for which streams go together. All streams move on with every step, picked or not. There are no `cases()`:
    a context need not say which stream it is from.

    >>> from suffice.lab.streams import LabelRanks
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


# --- Drifts: one stream turns into another, little by little.


class Drift(CombinedStream):
    """A step t comes from the second stream with probability t/length, and from `length` on always.

    See `Joined` for which streams go together.

    >>> from suffice.lab.streams import LabelRanks
    >>> stream = Drift(LabelRanks.cifar100(most=5), LabelRanks.cifar100(least=80), length=1000)
    >>> drawn = stream.draw(np.random.default_rng(0), 2000)
    >>> int((drawn[:100] > 5).sum()), int((drawn[900:1000] > 5).sum()), int((drawn[1000:] > 5).sum())
    (3, 96, 1000)
    """

    name = "drift"
    about = "CIFAR-100 labels that grow harder little by little"

    def __init__(self, first: Stream, second: Stream, length: int) -> None:
        super().__init__("first and second", [first, second])
        self.length = positive_int("length", length)

    @classmethod
    def named(cls, *, length: int = 10_000) -> "Drift":
        """From images with the true label among the first five to ones with it beyond."""
        return cls(LabelRanks.cifar100(most=5), LabelRanks.cifar100(least=6), length)

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Any:
        """One latent per step; both streams move on with every step."""
        second = rng.random(count) < np.arange(start, start + count) / self.length
        return pick(second.astype(np.int64), [self._draw(place, rng, count, start) for place in (0, 1)])
