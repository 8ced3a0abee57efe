"""The record of a decision until its outcome is told."""

from typing import Final, NamedTuple

# So many expired decisions are kept, the latest, so that a late outcome can amend them.
REMEMBERED: Final = 100_000


class Entry(NamedTuple):
    """A decision that is outstanding or has expired."""

    row: int  # the account that it belongs to: 0 is the selector's own, the others are its groups'
    arm: int
    role: int  # SAFE, SKIP or FREE
    target: int
    asked_at: float = 0.0  # by the selector's clock; 0 where nothing expires
    counted: bool = True  # False in the paper's first round
    unbiased: bool = True  # False where a context, or a chooser of the user's own, had a part in the choice
    note: object = None  # of a model, on the context
