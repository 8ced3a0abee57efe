"""Whose decision it is: ids in order, and a key that marks the decisions of one selector, and not those of its copies."""

import secrets
from typing import Any, Final

from suffice.errors import ForeignDecision, InvalidArgument, quoted
from suffice.selector.records import UNAUDITED, Decision

LONGEST_NAME: Final = 200  # characters of a group's name


class Identity:
    """The keys of a selector: one for each run of ids. A copy has a key of its own for what it issues."""

    def __init__(self) -> None:
        self.key = secrets.token_hex(8)  # what marks the decisions that are issued now
        self.keys: list[tuple[int, str]] = [(0, self.key)]  # (first id, key)
        self.copied = False  # whether another copy may issue the same ids from here on

    def renew(self, next_id: int) -> None:
        """A key of its own for a selector that was copied or restored."""
        self.key = secrets.token_hex(8)
        self.keys.append((next_id, self.key))
        self.copied = False

    def id_of(self, decision: Any) -> int:
        """The id of a decision; raises if another selector issued it, or if it has none."""
        if not isinstance(decision, Decision):
            return _number(decision)
        key = next((key for first, key in reversed(self.keys) if first <= decision.id), self.key)
        if decision.selector != key:
            raise ForeignDecision(
                f"decision {decision.id} was asked of another selector, or of another copy of this one"
            )
        if decision.id == UNAUDITED:
            raise InvalidArgument("decision was asked with audit=False, so its outcome is not counted")
        return decision.id

    def state(self) -> list[list[Any]]:
        """The keys in JSON's terms."""
        return [list(pair) for pair in self.keys]

    @staticmethod
    def from_state(keys: list[list[Any]]) -> "Identity":
        """The keys that `state` wrote down, for a copy."""
        identity = Identity()
        identity.keys = [(int(first), str(key)) for first, key in keys]
        identity.key, identity.copied = identity.keys[-1][1], True
        return identity


def check_group(group: Any) -> None:
    """Raise if this is no name of a group."""
    if not isinstance(group, str) or not 0 < len(group) <= LONGEST_NAME:
        raise InvalidArgument(f"group must be a name of 1 to {LONGEST_NAME} characters, got {quoted(group)}")


def _number(decision: Any) -> int:
    try:
        if isinstance(decision, bool):
            raise TypeError
        return int(decision.__index__())
    except (AttributeError, TypeError):
        raise InvalidArgument(f"decision must be a Decision or its id, got {quoted(decision)}") from None
