"""The tables of SQLite and PostgreSQL: statements that create them, their columns, and conversion of rows."""

from dataclasses import fields
from operator import attrgetter
from typing import Final

from suffice.kernels.rows import values_of
from suffice.service.errors import WrongStoreVersion
from suffice.service.records import DecisionRow, Key, Reply

VERSION: Final = 2

Value = str | int | float | None  # what a column holds

CREATE: Final = (
    """CREATE TABLE selectors (
        number BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE, plan TEXT NOT NULL,
        created DOUBLE PRECISION NOT NULL, archived DOUBLE PRECISION, safe_since DOUBLE PRECISION)""",
    """CREATE TABLE decisions (
        selector BIGINT NOT NULL, id BIGINT NOT NULL, group_name TEXT NOT NULL, arm INTEGER NOT NULL,
        price DOUBLE PRECISION NOT NULL, expects BIGINT NOT NULL, exempt SMALLINT NOT NULL,
        asked_at DOUBLE PRECISION NOT NULL, due DOUBLE PRECISION, record TEXT, state SMALLINT NOT NULL,
        units BIGINT, cost DOUBLE PRECISION, told_at DOUBLE PRECISION,
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
)

DECISIONS: Final = {  # column: type
    "selector": "bigint", "id": "bigint", "group_name": "text", "arm": "integer", "price": "double precision",
    "expects": "bigint", "exempt": "smallint", "asked_at": "double precision", "due": "double precision", "record": "text",
    "state": "smallint", "units": "bigint", "cost": "double precision", "told_at": "double precision", "shard": "integer",
    "seq": "bigint", "expired_shard": "integer", "expired_seq": "bigint", "expired_at": "double precision",
}  # fmt: skip
TABLES: Final = {  # table: columns
    "selectors": ("number", "name", "plan", "created", "archived", "safe_since"),
    "decisions": tuple(DECISIONS),
    "counters": ("selector", "group_name", "shard", "counts"),
    "replies": ("selector", "idempotency_key", "digest", "answer", "at"),
    "snapshots": ("selector", "events", "state"),
    "access_keys": ("id", "name", "hash", "scopes", "created", "revoked", "expires"),
}

ROW: Final = ", ".join(TABLES["decisions"])
# The expiry event of an amended decision, as a row of `decisions`. (2: EXPIRED)
EXPIRY: Final = (
    "selector, id, group_name, arm, price, expects, exempt, asked_at, due, record, 2, 0, NULL, expired_at, expired_shard, "
    "expired_seq, NULL, NULL, NULL"
)
SELECTOR: Final = ", ".join(TABLES["selectors"])
KEY: Final = ", ".join(TABLES["access_keys"])


def check_version(version: int, where: str) -> None:
    """Refuse a store that another version of suffice has written."""
    if version != VERSION:
        raise WrongStoreVersion(
            f"{where} was written by another version of suffice (its tables have version {version}, this suffice reads "
            f"version {VERSION}): use that suffice, or start with a new store"
        )


# The fields of these records are the columns of their tables, in order.
row_values: Final = values_of(DecisionRow)
reply_values: Final = values_of(Reply)

SETTLED: Final = (*TABLES["decisions"][10:], "selector", "id")  # columns that settling writes, and the primary key
settled_values: Final = attrgetter(*[field.name for field in fields(DecisionRow)][10:], "selector", "id")


def key_of(
    identity: str, name: str, digest: str, scopes: str, created: float, revoked: float | None, expires: float | None
) -> Key:
    """An access key from a row of its table."""
    return Key(identity, name, digest, tuple(scopes.split()), created, revoked, expires)


def key_values(key: Key) -> tuple[Value, ...]:
    """An access key as a row of its table."""
    return (key.id, key.name, key.hash, " ".join(key.scopes), key.created, key.revoked, key.expires)
