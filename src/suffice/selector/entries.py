"""The record of a decision until its outcome is told."""

from typing import Final, NamedTuple

# So many expired decisions and skips are kept, the latest, so that a late outcome can amend them.
REMEMBERED: Final = 100_000


class Entry(NamedTuple):
    """A decision that is outstanding, has expired, or was a skip, which is settled when it is asked."""

    row: int  # the account that it belongs to: 0 is the selector's own, the others are its groups'
    arm: int
    role: int  # SAFE, SKIP or FREE
    target: int
    expects: int = 0  # what it is expected to add to the debt, in billionths
    exempt: int = 0  # 1 for a safe play that a limit forced: it reserves nothing
    price: float = 0.0  # of a success, when it was asked
    asked_at: float = 0.0  # by the selector's clock; 0 where nothing expires
    counted: bool = True  # False in the paper's first round
    unbiased: bool = True  # False where a context, or a chooser of the user's own, had a part in the choice
    note: object = None  # of a model, on the context
