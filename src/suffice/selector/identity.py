"""Ids in order, and a key that marks the decisions of one selector, and not those of its copies."""

import operator
import os
from collections.abc import Iterable

from suffice.errors import ForeignDecision, InvalidArgument, quoted
from suffice.selector.records import UNAUDITED, Decision


class Identity:
    """The keys of a selector: one for each run of ids. A copy has a key of its own for what it issues."""

    def __init__(self) -> None:
        self.key = os.urandom(8).hex()  # of the decisions that are issued now
        self.keys: list[tuple[int, str]] = [(0, self.key)]  # (first id, key)
        self.copied = False  # whether another copy may issue the same ids from here on

    def renew(self, next_id: int) -> None:
        """Take a new key, after a copy or a restore."""
        self.key = os.urandom(8).hex()
        self.keys.append((next_id, self.key))
        self.copied = False

    def id_of(self, decision: object) -> int:
        """The id of a decision; raises if another selector issued it, or if it has none."""
        if not isinstance(decision, Decision):
            return _number(decision)
        if type(decision.id) is not int or decision.selector != self._key_of(decision.id):
            raise ForeignDecision(
                f"decision {decision.id} was asked of another selector, or of another copy of this one"
            )
        if decision.id == UNAUDITED:
            raise InvalidArgument("decision was asked with audit=False, so its outcome is not counted")
        return decision.id

    def _key_of(self, identity: int) -> str:
        return next((key for first, key in reversed(self.keys) if first <= identity), self.key)

    def state(self) -> list[list[int | str]]:
        """The keys in JSON's terms."""
        return [list(pair) for pair in self.keys]

    @staticmethod
    def from_state(keys: Iterable[tuple[int, str]]) -> "Identity":
        """The keys that `state` wrote down, for a copy."""
        identity = Identity()
        identity.keys = [(int(first), str(key)) for first, key in keys]
        identity.key, identity.copied = identity.keys[-1][1], True
        return identity


def _number(decision: object) -> int:
    try:
        if isinstance(decision, bool):
            raise TypeError
        return operator.index(decision)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidArgument(f"decision must be a Decision or its id, got {quoted(decision)}") from None
