"""The tables, as SQLite and PostgreSQL both take them, and the steps from one version of them to the next."""

from collections.abc import Iterator
from dataclasses import fields
from itertools import chain
from operator import attrgetter
from typing import Any, Final

from suffice.kernels.rows import values_of
from suffice.service.errors import StoreTooNew, StoreTooOld
from suffice.service.records import DecisionRow, Key, Reply

REFUSED: Final = 1  # the last version that is not read: its counts and what it had learned had another shape

# Each step is run once, in order, together with noting that it was. Only ever add steps at the end.
STEPS: Final[tuple[tuple[str, ...], ...]] = (
    (
        """CREATE TABLE selectors (
            number BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE, plan TEXT NOT NULL,
            created DOUBLE PRECISION NOT NULL, archived DOUBLE PRECISION)""",
        """CREATE TABLE decisions (
            selector BIGINT NOT NULL, id BIGINT NOT NULL, group_name TEXT NOT NULL, arm INTEGER NOT NULL,
            price DOUBLE PRECISION NOT NULL, asked_at DOUBLE PRECISION NOT NULL, due DOUBLE PRECISION, record TEXT,
            state SMALLINT NOT NULL, units BIGINT, cost DOUBLE PRECISION, told_at DOUBLE PRECISION,
            shard INTEGER, seq BIGINT, expired_shard INTEGER, expired_seq BIGINT, expired_at DOUBLE PRECISION,
            PRIMARY KEY (selector, id))""",
        "CREATE INDEX decisions_settled ON decisions (selector, shard, seq) WHERE shard IS NOT NULL",
        "CREATE INDEX decisions_expired ON decisions (selector, expired_shard, expired_seq) WHERE expired_shard IS NOT NULL",
        "CREATE INDEX decisions_due ON decisions (due) WHERE state = 0 AND due IS NOT NULL",
        """CREATE TABLE counters (
            selector BIGINT NOT NULL, group_name TEXT NOT NULL, shard INTEGER NOT NULL, counts TEXT NOT NULL,
            PRIMARY KEY (selector, group_name, shard))""",
        """CREATE TABLE replies (
            selector BIGINT NOT NULL, idempotency_key TEXT NOT NULL, digest TEXT NOT NULL, answer TEXT NOT NULL,
            at DOUBLE PRECISION NOT NULL, PRIMARY KEY (selector, idempotency_key))""",
        "CREATE INDEX replies_at ON replies (at)",
        "CREATE TABLE snapshots (selector BIGINT PRIMARY KEY, events BIGINT NOT NULL, state TEXT NOT NULL)",
        """CREATE TABLE access_keys (
            id TEXT PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL, scopes TEXT NOT NULL,
            created DOUBLE PRECISION NOT NULL, revoked DOUBLE PRECISION, expires DOUBLE PRECISION)""",
    ),
)
VERSION: Final = REFUSED + len(STEPS)

DECISIONS: Final = {  # the columns, and their types
    "selector": "bigint", "id": "bigint", "group_name": "text", "arm": "integer", "price": "double precision",
    "asked_at": "double precision", "due": "double precision", "record": "text", "state": "smallint", "units": "bigint",
    "cost": "double precision", "told_at": "double precision", "shard": "integer", "seq": "bigint", "expired_shard": "integer",
    "expired_seq": "bigint", "expired_at": "double precision",
}  # fmt: skip
TABLES: Final = {  # with their columns: what it takes to copy a store
    "selectors": ("number", "name", "plan", "created", "archived"),
    "decisions": tuple(DECISIONS),
    "counters": ("selector", "group_name", "shard", "counts"),
    "replies": ("selector", "idempotency_key", "digest", "answer", "at"),
    "snapshots": ("selector", "events", "state"),
    "access_keys": ("id", "name", "hash", "scopes", "created", "revoked", "expires"),
}

ROW: Final = ", ".join(TABLES["decisions"])
# A decision that was given up and amended since, as it was when it had expired. (2: EXPIRED)
GAVE: Final = (
    "selector, id, group_name, arm, price, asked_at, due, record, 2, 0, NULL, expired_at, expired_shard, expired_seq, "
    "NULL, NULL, NULL"
)
SELECTOR: Final = ", ".join(TABLES["selectors"])
KEY: Final = ", ".join(TABLES["access_keys"])


def check_version(found: int, where: str) -> None:
    """Refuse a store that a later version of suffice has migrated, or one from before all that can be read."""
    if 0 < found <= REFUSED:
        raise StoreTooOld(
            f"{where} was written by an earlier suffice (schema {found}, this one reads from {REFUSED + 1} on): start with a "
            "new store, or keep that version for this one"
        )
    if found > VERSION:
        raise StoreTooNew(
            f"{where} was written by a later suffice (schema {found}, this one knows up to {VERSION}): upgrade suffice"
        )


def steps_from(found: int) -> Iterator[str]:
    """What takes a store of this version to the present one; 0: there is nothing in it."""
    return chain.from_iterable(STEPS[max(0, found - REFUSED) :])


# The fields of these records are the columns of their tables, in order.
row_values: Final = values_of(DecisionRow)
reply_values: Final = values_of(Reply)

SETTLED: Final = (*TABLES["decisions"][8:], "selector", "id")  # what settling changes, and of which decision
settled_values: Final = attrgetter(*[one.name for one in fields(DecisionRow)][8:], "selector", "id")


def key_of(identity: str, name: str, digest: str, scopes: str, *times: Any) -> Key:
    """A key from the table."""
    return Key(identity, name, digest, tuple(scopes.split()), *times)


def key_values(key: Key) -> tuple[Any, ...]:
    """A key as the table has it."""
    return (key.id, key.name, key.hash, " ".join(key.scopes), key.created, key.revoked, key.expires)
