"""Several streams as one menu: what phases, mixes and drifts have in common, and the rules for menus and contexts."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.lab.streams.base import Floats, Ints, Stream, Table, Windows, drawn, truth_of
from suffice.menu.menu import Menu

Latents = Any  # arrays of numbers or of pairs (which stream, its latent)


class CombinedStream:
    """The base of phases, mixes and drifts: one menu, and latents that tell which stream a step is from.

    The streams may be of any kinds as long as their menus have equally many arms and the same safe_cost. Where menus
    differ, options have their names in the first menu, and costs that differ are told.

    Streams with the same windows are combined into one with these windows; streams with tables into one whose table is
    theirs, one below the other; in all other cases a latent is a pair (which stream, its latent), and that stream gives the
    outcome. Where all streams have contexts with the same fields, the context of a step is that of its stream.
    """

    def __init__(self, what: str, streams: Sequence[Stream]) -> None:
        for stream in streams:
            if not all(hasattr(stream, part) for part in ("menu", "draw", "outcome")):
                raise InvalidArgument(f"{what} must be streams, with menu, draw and outcome, got {quoted(stream)}")
        self.streams = tuple(streams)
        self.menu = common_menu(what, [stream.menu for stream in streams])
        contextual = same_fields(self.streams)
        # With common windows a latent does not tell which stream it is from, and the context depends on that.
        self._common_windows: Windows | None = None if contextual else same_windows(self.streams)
        self._first_rows: list[int] | None = None  # where each stream's table begins in the combined one
        # The simulator recognises by its methods what a stream offers: these are set only where there is an answer.
        if self._common_windows is not None:
            self.windows = self._windows
        elif all(hasattr(stream, "table") for stream in streams):
            sizes = [len(stream.table().costs) for stream in streams]  # type: ignore[attr-defined]
            self._first_rows = [0, *np.cumsum(sizes)[:-1].tolist()]
            self.table = self._table
        if contextual:
            self.context = self._context
            if any(hasattr(stream, "context_cost") for stream in streams):
                self.context_cost = self._context_cost

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

    def _pick(self, places: Ints, rng: np.random.Generator, start: int) -> Latents:
        """One latent per step, from the stream at its place; all streams advance with every step."""
        latents = [self._draw_from(place, rng, len(places), start) for place in range(len(self.streams))]
        picked = latents[0].copy()
        for place, inner in enumerate(latents):
            picked[places == place] = inner[places == place]
        return picked

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

    def truths_of_streams(self) -> list[tuple[Floats, Floats]] | None:
        """The exact success probability and mean cost of every arm in each stream, if all know theirs."""
        if not all(hasattr(stream, "truth") for stream in self.streams):
            return None
        return [truth_of(stream) for stream in self.streams]


def streams_of(what: str, beside: str, pairs: Sequence[tuple[Stream, object]]) -> list[Stream]:
    """The streams of pairs, each with something beside it."""
    if not pairs:
        raise InvalidArgument(f"{what} must hold at least one (stream, {beside})")
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise InvalidArgument(f"{what} must be pairs (stream, {beside}), got {quoted(pair)}")
    return [stream for stream, _ in pairs]


def common_menu(what: str, menus: Sequence[Menu]) -> Menu:
    """One menu for streams whose arms correspond; it knows only costs that are the same in all."""
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
    """Whether all streams have contexts with the same fields: one latent of each is drawn to find out."""
    if not all(hasattr(stream, "context") for stream in streams):
        return False
    fields = set()
    for stream in streams:
        latent = drawn(stream, np.random.default_rng(0), 1, 0)[0]
        context = stream.context(latent)  # type: ignore[attr-defined]
        fields.add(frozenset(context.keys()) if hasattr(context, "keys") else len(context))
    return len(fields) == 1


def same_windows(streams: Sequence[Stream]) -> Windows | None:
    """The windows that all streams have in common, if they do."""
    if not all(hasattr(stream, "windows") for stream in streams):
        return None
    windows: list[Windows] = [stream.windows() for stream in streams]  # type: ignore[attr-defined]
    same = all(np.array_equal(part, own) for each in windows for part, own in zip(windows[0], each, strict=True))
    return windows[0] if same else None
