"""What goes through the service: wishes and outcomes in, decisions and standings out, rows to the store and back."""

import json
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from suffice.promise.account import Account
from suffice.promise.certificate import Certificate

PENDING: Final = 0
TOLD: Final = 1
EXPIRED: Final = 2  # given up: counts as a failure until a late outcome amends it
AMENDED: Final = 3

STATES: Final = ("pending", "told", "expired", "amended")


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one server lets itself be asked for."""

    selectors: int = 10_000
    arms: int = 20_000
    list_length: int = 1_000
    groups: int = 10_000
    body: int = 1 << 20
    queue: int = 10_000


@dataclass(frozen=True, slots=True)
class AskRequest:
    """What is asked for: one decision, or `count` of them."""

    count: int | None = None
    available: list[Any] | None = None
    audit: bool = True
    contexts: list[Any] | None = None  # one for each decision
    group: str | None = None


class IssuedDecision(NamedTuple):
    """A decision as it is handed out; `decision` is None where it will not be judged.

    A tuple underneath, as the library's own: there are many of them.
    """

    decision: int | None
    arm: int
    option: Any
    price: float
    safe: bool
    skip: bool


class Outcome(NamedTuple):
    """How a decision went."""

    decision: int
    success: float
    cost: float | None = None


class TellResult(NamedTuple):
    """What became of an outcome: counted, unchanged (the same was told before), amended (it had expired), or why not."""

    decision: int
    status: int
    result: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Overview:
    """A selector and where it stands."""

    name: str
    created: float
    archived: float | None
    plan: dict[str, Any]
    certificate: Certificate
    cost: float
    price: float | None
    asks: int
    tells: int
    bounds: str
    chooser: str
    model: str | None
    safe_cost: float


@dataclass(frozen=True, slots=True)
class Bin:
    """A stretch of time: what was told in it, and where things stood at its end."""

    start: float
    end: float
    outcomes: int
    successes: float
    cost: float
    debt: float
    price: float | None
    arms: dict[int, int]
    total: int  # outcomes since the beginning
    total_successes: float
    total_cost: float
    debt_at_most: float
    ahead_at_most: float


# --- what stores keep


@dataclass(frozen=True, slots=True)
class SelectorRow:
    """A selector in a store: its number there, and the plan it was made from."""

    number: int
    name: str
    plan: str
    created: float
    archived: float | None = None


@dataclass(slots=True)
class DecisionRow:
    """A decision in a store.

    `shard` and `seq` say which shard settled it, and as which of its events; `expired_shard`, `expired_seq` and `expired_at`
    say the same of its expiry, where a late outcome has amended it since.
    """

    selector: int
    id: int
    group: str
    arm: int
    price: float
    asked_at: float
    due: float | None = None
    record: str | None = None  # of a decision with a context, JSON
    state: int = PENDING
    units: int | None = None  # success, in billionths
    cost: float | None = None  # as it was told
    told_at: float | None = None
    shard: int | None = None
    seq: int | None = None
    expired_shard: int | None = None
    expired_seq: int | None = None
    expired_at: float | None = None

    def context(self) -> Any:
        """What it was asked with; None if there was nothing."""
        return None if self.record is None else json.loads(self.record)["context"]


@dataclass(slots=True)
class Shard:
    """What one server process has counted for a selector, or for one group of it. The sums of all shards are the truth."""

    counts: Account = field(default_factory=Account)  # no limits: these are the promise's
    asked: int = 0  # decisions that are or were outstanding; beside the selector itself, those of its groups too
    cost: float = 0.0
    events: int = 0  # outcomes and expiries that this shard has settled, of all groups; only beside the selector itself


@dataclass(frozen=True, slots=True)
class Reply:
    """What was answered to an ask with an idempotency key."""

    selector: int
    key: str
    digest: str  # of the body
    text: str
    at: float


@dataclass(frozen=True, slots=True)
class Key:
    """A key that lets a client in; only the hash of its secret is kept."""

    id: str
    name: str
    hash: str
    scopes: tuple[str, ...]
    created: float
    revoked: float | None = None
    expires: float | None = None
