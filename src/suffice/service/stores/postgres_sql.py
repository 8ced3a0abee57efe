"""The SQL of the PostgreSQL store. Many rows travel as arrays, one for each column."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from suffice.service.count_shards import write
from suffice.service.stores.base import Changes
from suffice.service.stores.schema import (
    DECISIONS,
    EXPIRY,
    ROW,
    SELECTOR,
    SETTLED,
    Value,
    reply_values,
    row_values,
    settled_values,
)
from suffice.service.stores.tables import ADD, LAST, NAMED

SCHEMA: Final = "suffice"

Column = Sequence[Value]


def _arrays(types: list[str]) -> str:
    return ", ".join(f"${place}::{kind}[]" for place, kind in enumerate(types, 1))


# Committing this message waits for the disk, and so for every earlier commit. No process reads the message.
FLUSH: Final = f"SELECT pg_logical_emit_message(true, '{SCHEMA}', '')"
LOCK_ADDING: Final = "SELECT pg_advisory_xact_lock($1::bigint)"
LOCK_SELECTORS: Final = "SELECT pg_advisory_xact_lock($1::integer, number::integer) FROM unnest($2::bigint[]) AS number"
REPLIES: Final = """SELECT r.selector, r.idempotency_key, r.digest, r.answer, r.at FROM replies r
    JOIN unnest($1::bigint[], $2::text[]) AS w(selector, key) ON r.selector = w.selector AND r.idempotency_key = w.key"""
COUNTERS: Final = """SELECT c.selector, c.group_name, c.shard, c.counts FROM counters c
    JOIN unnest($1::bigint[], $2::text[]) AS w(selector, group_name)
    ON c.selector = w.selector AND c.group_name = w.group_name"""
ALL_COUNTERS: Final = "SELECT selector, group_name, shard, counts FROM counters WHERE selector = ANY($1::bigint[])"
_ROW: Final = ", ".join(f"d.{column}" for column in DECISIONS)
LOCK_DECISIONS: Final = f"""SELECT {_ROW} FROM decisions d
    JOIN unnest($1::bigint[], $2::bigint[]) AS w(selector, id) ON d.selector = w.selector AND d.id = w.id
    ORDER BY d.selector, d.id FOR UPDATE OF d"""
EVENTS: Final = f"""SELECT e.* FROM counters c
    LEFT JOIN unnest($2::integer[], $3::bigint[]) AS s(shard, seq) ON s.shard = c.shard
    CROSS JOIN LATERAL (
        (SELECT {ROW} FROM decisions WHERE selector = $1 AND shard = c.shard AND seq > COALESCE(s.seq, 0)
            ORDER BY seq LIMIT $4)
        UNION ALL
        (SELECT {EXPIRY} FROM decisions WHERE selector = $1 AND expired_shard = c.shard AND expired_seq > COALESCE(s.seq, 0)
            ORDER BY expired_seq LIMIT $4)
        ORDER BY seq LIMIT $4) e
    WHERE c.selector = $1 AND c.group_name = ''"""
OVERDUE: Final = """SELECT selector, id FROM decisions WHERE state = 0 AND due IS NOT NULL AND due < $1
    AND selector <> ALL($3::bigint[]) ORDER BY due LIMIT $2"""

# The clock was ahead when these were asked: move them to now, and keep the time until they are due.
CLAMP_TIMES: Final = """UPDATE decisions SET due = $1 + (due - asked_at), asked_at = $1
    WHERE state = 0 AND due IS NOT NULL AND due > $1 AND asked_at > $1 + 60"""

# Names are compared byte by byte, as in SQLite and in Python.
SELECTORS: Final = f"""SELECT {SELECTOR} FROM selectors WHERE name COLLATE "C" > $1 AND ($2 OR archived IS NULL)
    AND strpos(name, $3) > 0 ORDER BY name COLLATE "C" LIMIT $4"""

INSERT: Final = f"INSERT INTO decisions ({ROW}) SELECT * FROM unnest({_arrays([*DECISIONS.values()])})"
UPDATE: Final = f"""UPDATE decisions d SET {", ".join(f"{column} = u.{column}" for column in SETTLED[:-2])}
    FROM unnest({_arrays([DECISIONS[column] for column in SETTLED])}) AS u({", ".join(SETTLED)})
    WHERE d.selector = u.selector AND d.id = u.id"""
PUT_COUNTERS: Final = f"""INSERT INTO counters (selector, group_name, shard, counts)
    SELECT * FROM unnest({_arrays(["bigint", "text", "integer", "text"])})
    ON CONFLICT (selector, group_name, shard) DO UPDATE SET counts = excluded.counts"""
PUT_REPLIES: Final = f"""INSERT INTO replies (selector, idempotency_key, digest, answer, at)
    SELECT * FROM unnest({_arrays(["bigint", "text", "text", "text", "double precision"])})
    ON CONFLICT (selector, idempotency_key) DO UPDATE
    SET digest = excluded.digest, answer = excluded.answer, at = excluded.at"""

# Statements that run inside transactions, and are prepared beforehand.
WRITER: Final = (LOCK_SELECTORS, REPLIES, COUNTERS, LOCK_DECISIONS, INSERT, UPDATE, PUT_COUNTERS, PUT_REPLIES, FLUSH)
ADDER: Final = (LOCK_ADDING, NAMED, LAST, ADD)


def write_statements(changes: Changes, shard: int) -> Iterator[tuple[str, list[Column]]]:
    """The statements that write changes, with their values."""
    if changes.asked:
        yield INSERT, columns(map(row_values, changes.asked))
    if changes.settled:
        yield UPDATE, columns(map(settled_values, changes.settled))
    if changes.shards:
        yield PUT_COUNTERS, columns((*key, shard, write(counts)) for key, counts in changes.shards.items())
    if changes.replies:
        yield PUT_REPLIES, columns(map(reply_values, changes.replies))


def columns(rows: Iterable[tuple[Value, ...]]) -> list[Column]:
    """Rows as one list for each column."""
    return [*map(list, zip(*rows, strict=True))]
