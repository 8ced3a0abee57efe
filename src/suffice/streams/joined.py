"""Several streams as one: a menu for all, and latents that say which of them a step came from."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from suffice.errors import InvalidArgument, shown
from suffice.menu import Menu
from suffice.streams.base import Stream, Table, Windows, drawn


class Joined:
    """What phases, mixes and drifts have in common.

    The streams may be of any kinds as long as their menus have equally many arms and the same max_cost. Where menus
    differ, options are called what the first menu calls them, and costs that are not the same in all are told.

    Streams with the same windows make one with these windows; streams with tables make one whose table is theirs, one
    below the other; in all other cases a latent is a pair (which stream, its latent), and the stream itself judges.
    Where all streams have contexts with the same fields, so has this one, and a step's is that of the stream it is from.
    """

    def __init__(self, what: str, streams: Sequence[Stream]) -> None:
        for stream in streams:
            if not all(hasattr(stream, part) for part in ("menu", "draw", "judge")):
                raise InvalidArgument(f"{what} must be streams, with menu, draw and judge, got {shown(stream)}")
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

    def judge(self, latent: Any, arm: int, dual: float) -> tuple[float, float]:
        """The success and the cost of an arm, given the step's latent."""
        if self._same is not None:
            low, high, costs = self._same
            return float(low[arm] <= latent <= high[arm]), float(costs[arm])
        place, own = self._own(latent)
        return self.streams[place].judge(own, arm, dual)

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
            raise InvalidArgument(f"{what} must be pairs (stream, {beside}), got {shown(pair)}")
    return [stream for stream, _ in pairs]


def common_menu(what: str, menus: Sequence[Menu]) -> Menu:
    """One menu for streams whose arms correspond; it knows only the costs that are the same in all."""
    first = menus[0]
    for menu in menus:
        if (menu.arms, menu.has_nothing, menu.max_cost) != (first.arms, first.has_nothing, first.max_cost):
            raise InvalidArgument(
                f"{what} must share one menu, or have menus with as many arms, with or without nothing, and the same "
                f"max_cost, got {menu.arms} arms at {menu.max_cost:g} beside {first.arms} at {first.max_cost:g}"
            )
    if all(menu is first or menu.recipe() == first.recipe() for menu in menus):
        return first
    known = first.costs is not None and all(
        menu.costs is not None and np.array_equal(menu.costs, first.costs) for menu in menus
    )
    return Menu(
        first.options,
        everything=first.everything,
        nothing=first.nothing,
        costs=first.costs if known else None,
        max_cost=first.max_cost,
        everything_success=min(menu.everything_success for menu in menus),
        contains="chain" if all(menu.contains == "chain" for menu in menus) else None,
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
