"""Worlds that shift: one stream after another, and the rules for which of them go together."""

import itertools
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.lab.streams.base import Floats, Stream, Table, Windows, drawn, truth_of
from suffice.lab.streams.ranks import LabelRanks
from suffice.menu.menu import Menu
from suffice.numbers import positive_int

Latents = Any  # arrays of numbers or of pairs (which stream, its latent)


class Phase(NamedTuple):
    """The length of a phase, and the exact success probability and mean cost of every arm in it."""

    length: int
    success: Floats
    cost: Floats


class Phases:
    """Each (stream, length) in turn, from its own first step; the last continues for as many steps as are drawn.

    The streams may be of any kinds as long as their menus have equally many arms and the same safe_cost. Where menus
    differ, options have their names in the first menu, and costs that differ are told.

    Streams with the same windows are combined into one with these windows; streams with tables into one whose table is
    theirs, one below the other; in all other cases a latent is a pair (which stream, its latent), and that stream gives the
    outcome. Where all streams have contexts with the same fields, the context of a step is that of its stream.

    There is no single truth; `truths()` gives that of each phase, where all streams know theirs, and `streams` holds them,
    with the `cases()` of those that have contexts.

    >>> from suffice.lab.streams import LabelRanks
    >>> stream = Phases((LabelRanks.cifar100(most=5), 3), (LabelRanks.cifar100(least=80), 3))
    >>> [bool(rank <= 5) for rank in stream.draw(np.random.default_rng(0), 6)]
    [True, True, True, False, False, False]
    >>> import suffice
    >>> [round(suffice.optimum(phase.success, phase.cost, target=0.9).cost, 3) for phase in stream.truths()]
    [0.045, 0.9]
    """

    name = "phases"
    description = "CIFAR-100 labels, first easy, then hard (the paper's shift), perhaps easy again"

    def __init__(self, *phases: tuple[Stream, int]) -> None:
        self.streams = _streams_of(phases)
        self.ends = np.cumsum([positive_int("length", length) for _, length in phases])
        self.menu = _common_menu([stream.menu for stream in self.streams])
        contextual = _same_fields(self.streams)
        # With common windows a latent does not tell which stream it is from, and the context depends on that.
        self._common_windows: Windows | None = None if contextual else _same_windows(self.streams)
        self._first_rows: list[int] | None = None  # where each stream's table begins in the combined one
        # The simulator recognises by its methods what a stream offers: these are set only where there is an answer.
        if self._common_windows is not None:
            self.windows = self._windows
        elif all(hasattr(stream, "table") for stream in self.streams):
            sizes = [len(stream.table().costs) for stream in self.streams]  # type: ignore[attr-defined]
            self._first_rows = [0, *np.cumsum(sizes)[:-1].tolist()]
            self.table = self._table
        if contextual:
            self.context = self._context
            if any(hasattr(stream, "context_cost") for stream in self.streams):
                self.context_cost = self._context_cost
        if all(hasattr(stream, "truth") for stream in self.streams):
            self.truths = self._truths

    @classmethod
    def from_settings(cls, *, easy: int = 20_000, hard: int = 10_000, again: int = 0) -> "Phases":
        """So many images with the true label among the first five, then ones with it at rank 80 or beyond.

        The shift ends where `again` is above 0: so many easy ones follow the hard ones.
        """
        simple, difficult = LabelRanks.cifar100(most=5), LabelRanks.cifar100(least=80)
        back = [(simple, again)] if positive_int("again", again, 0) else []
        return cls((simple, easy), (difficult, hard), *back)

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Latents:
        """One latent per step, from the phase that the step is in."""
        latents, begins = [], [0, *self.ends[:-1].tolist()]
        for place, (begin, end) in enumerate(itertools.zip_longest(begins, begins[1:], fillvalue=start + count)):
            first, last = max(begin, start), min(end, start + count)
            if first < last:
                latents.append(self._draw_from(place, rng, last - first, first - begin))
        return np.concatenate(latents) if latents else self._draw_from(0, rng, 0, 0)

    def outcome(self, latent: Any, arm: int, price: float) -> tuple[float, float]:
        """The success and the cost of an arm, given the step's latent."""
        if self._common_windows is not None:
            low, high, costs = self._common_windows
            return float(low[arm] <= latent <= high[arm]), float(costs[arm])
        stream, inner = self._inner(latent)
        return stream.outcome(inner, arm, price)

    def _inner(self, latent: Any) -> tuple[Stream, object]:
        """The stream of a latent, and the latent of that stream."""
        if self._first_rows is not None:
            row = operator.index(latent)
            place = int(np.searchsorted(self._first_rows, row, side="right")) - 1
            return self.streams[place], row - self._first_rows[place]
        place, inner = latent
        return self.streams[place], inner

    def _draw_from(self, place: int, rng: np.random.Generator, count: int, start: int) -> Latents:
        """Latents of one of the streams, in the form of the combined one."""
        inner = drawn(self.streams[place], rng, count, start)
        if self._common_windows is not None:
            return np.asarray(inner, dtype=np.float64)
        if self._first_rows is not None:
            return np.asarray(inner, dtype=np.int64) + self._first_rows[place]
        pairs = np.empty(count, dtype=object)
        for step in range(count):
            pairs[step] = (place, inner[step])
        return pairs

    def _context(self, latent: object) -> object:
        stream, inner = self._inner(latent)
        return stream.context(inner)  # type: ignore[attr-defined]

    def _context_cost(self, latent: object, arm: int) -> float:
        stream, inner = self._inner(latent)
        return float(stream.context_cost(inner, arm)) if hasattr(stream, "context_cost") else 0.0

    def _windows(self) -> Windows | None:
        return self._common_windows

    def _table(self) -> Table:
        tables = [stream.table() for stream in self.streams]  # type: ignore[attr-defined]
        return Table(np.concatenate([t.successes for t in tables]), np.concatenate([t.costs for t in tables]))

    def _truths(self) -> list[Phase]:
        """The truth of each phase."""
        lengths = np.diff(self.ends, prepend=0).tolist()
        return [Phase(length, *truth_of(stream)) for length, stream in zip(lengths, self.streams, strict=True)]


def _streams_of(phases: Sequence[tuple[Stream, int]]) -> tuple[Stream, ...]:
    """The streams of phases."""
    if not phases:
        raise InvalidArgument("phases must hold at least one (stream, length)")
    for phase in phases:
        if not isinstance(phase, tuple) or len(phase) != 2:
            raise InvalidArgument(f"phases must be pairs (stream, length), got {quoted(phase)}")
        if not all(hasattr(phase[0], part) for part in ("menu", "draw", "outcome")):
            raise InvalidArgument(f"phases must be streams, with menu, draw and outcome, got {quoted(phase[0])}")
    return tuple(stream for stream, _ in phases)


def _common_menu(menus: Sequence[Menu]) -> Menu:
    """One menu for streams whose arms correspond; it knows only costs that are the same in all."""
    first = menus[0]
    for menu in menus:
        if (menu.n_arms, menu.has_skip, menu.safe_cost) != (first.n_arms, first.has_skip, first.safe_cost):
            raise InvalidArgument(
                f"phases must share one menu, or have menus with as many arms, with or without a skip option, and the same "
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


def _same_fields(streams: Sequence[Stream]) -> bool:
    """Whether all streams have contexts with the same fields: one latent of each is drawn to find out."""
    if not all(hasattr(stream, "context") for stream in streams):
        return False
    fields = set()
    for stream in streams:
        latent = drawn(stream, np.random.default_rng(0), 1, 0)[0]
        context = stream.context(latent)  # type: ignore[attr-defined]
        fields.add(frozenset(context.keys()) if hasattr(context, "keys") else len(context))
    return len(fields) == 1


def _same_windows(streams: Sequence[Stream]) -> Windows | None:
    """The windows that all streams have in common, if they do."""
    if not all(hasattr(stream, "windows") for stream in streams):
        return None
    windows: list[Windows] = [stream.windows() for stream in streams]  # type: ignore[attr-defined]
    same = all(np.array_equal(part, own) for each in windows for part, own in zip(windows[0], each, strict=True))
    return windows[0] if same else None
