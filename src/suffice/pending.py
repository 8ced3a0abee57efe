"""The decisions that are out, where compiled code seats them at a desk. (Where it does not, a dict does.)"""

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

import numpy as np

from suffice.kernels.desk import FIRST_ARM, FIRST_SEAT, FREE, seat_of

# A decision that is out, or was given up: its arm, its kind (EVERYTHING, NOTHING or PRICE), when it was asked by the
# controller's clock, and whether it counts (not in the paper's first round). A plain tuple: asks are made of little else.
Entry = tuple[int, int, float, bool]


LEAVING = -2


class Pending(MutableMapping[int, Entry]):
    """Entries by id, in the order of asking.

    The seats hold what the short way has asked and can settle. An older decision is moved to the dict when its seat is
    needed; one that was asked at a time, or that does not count, is there from the start. The seat of one that is being
    moved holds LEAVING − id, which the short way takes for somebody else's: an interrupt in the middle changes nothing.
    """

    __slots__ = ("_cells", "_kinds", "_rest")

    def __init__(self, entries: Mapping[int, Entry], cells: Any, kinds: list[int]) -> None:
        self._rest: dict[int, Entry] = {}
        self._cells, self._kinds = cells, kinds
        self.update(entries)

    def _holder(self, seat: int) -> int:
        """Whose seat it is; negative if it is free."""
        value = int(self._cells[seat])
        return value if value >= FREE else LEAVING - value

    def _seated(self, identity: int) -> bool:
        return identity >= 0 and self._holder(seat_of(identity)) == identity

    def _at(self, seat: int) -> Entry:
        arm = int(self._cells[seat + 1])
        return arm, self._kinds[arm], 0.0, True

    def __getitem__(self, identity: int) -> Entry:
        return self._at(seat_of(identity)) if self._seated(identity) else self._rest[identity]

    def __contains__(self, identity: object) -> bool:
        return identity in self._rest or (isinstance(identity, int) and self._seated(identity))

    def __setitem__(self, identity: int, entry: Entry) -> None:
        arm, _, asked, counted = entry
        if asked != 0.0 or not counted:
            self._rest[identity] = entry
            return
        seat = seat_of(identity)
        older = self._holder(seat)
        if older not in (FREE, identity):
            self._cells[seat] = LEAVING - older
            self._rest[older] = self._at(seat)
        self._cells[seat : seat + 2] = identity, arm

    def __delitem__(self, identity: int) -> None:
        seated = self._seated(identity)
        if not seated or identity in self._rest:
            del self._rest[identity]
        if seated:
            self._cells[seat_of(identity)] = FREE

    def __len__(self) -> int:
        return len(self._rest) + len(self._others())

    def __iter__(self) -> Iterator[int]:
        # Ids are handed out in order, so their order is that of asking.
        return iter(sorted([*self._rest, *self._others()]))

    def _others(self) -> list[int]:
        """Who is seated and not in the dict."""
        seats = range(FIRST_SEAT, FIRST_ARM, 2)
        taken = np.flatnonzero(self._cells[FIRST_SEAT:FIRST_ARM:2] != FREE)
        holders = [self._holder(seats[place]) for place in taken.tolist()]
        return [identity for identity in holders if identity not in self._rest]
