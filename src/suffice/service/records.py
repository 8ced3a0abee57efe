"""Records of the service: requests, results, and the rows of stores."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from suffice.promise.certificate import Certificate
from suffice.promise.record import Account

PENDING: Final = 0
TOLD: Final = 1
EXPIRED: Final = 2  # counts as a failure until a late outcome amends it
AMENDED: Final = 3

SKIPPED: Final = 4  # settled as a failure when it was asked, until a success amends it
CANCELLED: Final = 5  # never carried out: counts as neither

STATES: Final = ("pending", "told", "expired", "amended", "skipped", "cancelled")


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one server."""

    selectors: int = 10_000
    arms: int = 20_000
    list_length: int = 1_000
    groups: int = 10_000
    body: int = 1 << 20
    queue: int = 10_000
    outstanding: int = 1_000_000


@dataclass(frozen=True, slots=True)
class AskRequest:
    """A request for one decision, or for `count` of them."""

    count: int | None = None
    available: Sequence[object] | None = None
    audit: bool = True
    contexts: list[Any] | None = None  # one for each decision
    group: str | None = None
    insist: bool = False


class IssuedDecision(NamedTuple):
    """A decision for the client; `decision` is None if it is not audited. A tuple, because it is created often."""

    decision: int | None
    arm: int
    option: object  # as JSON
    price: float
    safe: bool
    skip: bool


class Outcome(NamedTuple):
    """The outcome of a decision."""

    decision: int
    success: float
    cost: float | None = None


class TellResult(NamedTuple):
    """The result of a tell: counted, unchanged (told before), amended (expired before), or a status and the reason."""

    decision: int
    status: int
    result: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Overview:
    """A selector, its certificate and its totals."""

    name: str
    created: float
    archived: float | None
    plan: dict[str, object]
    certificate: Certificate
    cost: float
    price: float | None
    asks: int
    tells: int
    expiries: int  # decisions that expired, lost safe plays included; a late outcome does not lower it
    bounds: str
    chooser: str
    model: str | None
    safe_cost: float
    playing_safe: bool
    events: tuple["Notice", ...]
    noticed: dict[str, int]  # events by kind, since this process loaded the selector


class Notice(NamedTuple):
    """An event of a selector, or of one of its groups, as this process noticed it."""

    at: float
    kind: str
    text: str
    group: str | None


@dataclass(frozen=True, slots=True)
class Bin:
    """A period: the outcomes in it, and the position at its end."""

    start: float
    end: float
    outcomes: int
    successes: float
    cost: float
    debt: float
    price: float | None
    arms: dict[int, int]
    total: int  # outcomes from the beginning to the end of the period
    total_successes: float
    total_cost: float
    debt_at_most: float
    ahead_at_most: float


# --- rows of stores


@dataclass(frozen=True, slots=True)
class SelectorRow:
    """A selector in a store: its number there, and its plan as JSON."""

    number: int
    name: str
    plan: str
    created: float
    archived: float | None = None
    safe_since: float | None = None  # since when every decision is the safe option


@dataclass(slots=True)
class DecisionRow:
    """A decision in a store.

    `shard` and `seq`: the shard that settled it, and the number of that event in the shard. `expired_shard`, `expired_seq`
    and `expired_at`: the same for its expiry, if a late outcome amended it afterwards.
    """

    selector: int
    id: int
    group: str
    arm: int
    price: float
    expects: int  # what it is expected to add to the debt, in billionths
    exempt: int  # 1 for a safe play that a limit forced: it reserves nothing
    asked_at: float
    due: float | None = None
    record: str | None = None  # JSON, if the decision has a context
    state: int = PENDING
    units: int | None = None  # success, in billionths
    cost: float | None = None  # as it was told
    told_at: float | None = None
    shard: int | None = None
    seq: int | None = None
    expired_shard: int | None = None
    expired_seq: int | None = None
    expired_at: float | None = None

    def context(self) -> object:
        """The context it was asked with; None if there was none."""
        return None if self.record is None else json.loads(self.record)["context"]


@dataclass(slots=True)
class Shard:
    """The counts of one server process for a selector or one of its groups. The sums over all shards count."""

    counts: Account = field(default_factory=Account)  # without limits, which belong to the promise
    asked: int = 0  # audited decisions; the selector's own shard includes those of its groups
    cost: float = 0.0
    # Of all groups, and only in the selector's own shard:
    events: int = 0  # outcomes, expiries and skips that this shard settled
    tells: int = 0  # of those, the outcomes that were told
    settled: int = 0  # of those, the ones that were first: all but late outcomes


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to an ask with an idempotency key."""

    selector: int
    key: str
    digest: str  # of the body
    text: str
    at: float


@dataclass(frozen=True, slots=True)
class Key:
    """An access key. The store has only the hash of its secret."""

    id: str
    name: str
    hash: str
    scopes: tuple[str, ...]
    created: float
    revoked: float | None = None
    expires: float | None = None
