"""What is said to PostgreSQL. Many rows travel as arrays, one for each column."""

from collections.abc import Iterator
from typing import Any, Final

from suffice.service.shards import write
from suffice.service.stores.base import Changes
from suffice.service.stores.schema import GAVE, KEY, ROW, TABLES, values_of
from suffice.service.stores.schema import SELECTOR as KEPT

SCHEMA: Final = "suffice"
TYPES: Final = {
    "selector": "bigint", "id": "bigint", "grp": "text", "arm": "integer", "dual": "double precision",
    "asked": "double precision", "due": "double precision", "note": "text", "state": "smallint", "units": "bigint",
    "cost": "double precision", "told": "double precision", "shard": "integer", "seq": "bigint", "gave_shard": "integer",
    "gave_seq": "bigint", "gave_at": "double precision",
}  # fmt: skip


def _arrays(types: list[str]) -> str:
    return ", ".join(f"${place}::{one}[]" for place, one in enumerate(types, 1))


# A commit that waits for the disk, and with it for all that was committed before. Nobody listens to the message.
FLUSH: Final = f"SELECT pg_logical_emit_message(true, '{SCHEMA}', '')"
TURN: Final = "SELECT pg_advisory_xact_lock($1::bigint)"
TURNS: Final = "SELECT pg_advisory_xact_lock($1::integer, one::integer) FROM unnest($2::bigint[]) AS one"
REPLIES: Final = """SELECT r.selector, r.idempotency_key, r.digest, r.answer, r.at FROM replies r
    JOIN unnest($1::bigint[], $2::text[]) AS w(selector, key) ON r.selector = w.selector AND r.idempotency_key = w.key"""
COUNTERS: Final = """SELECT c.selector, c.grp, c.shard, c.counts FROM counters c
    JOIN unnest($1::bigint[], $2::text[]) AS w(selector, grp) ON c.selector = w.selector AND c.grp = w.grp"""
ALL_COUNTERS: Final = "SELECT selector, grp, shard, counts FROM counters WHERE selector = ANY($1::bigint[])"
OWN_COUNTERS: Final = ALL_COUNTERS + " AND grp = ''"
_ROW: Final = ", ".join(f"d.{column}" for column in TABLES["decisions"])
LOCK: Final = f"""SELECT {_ROW} FROM decisions d
    JOIN unnest($1::bigint[], $2::bigint[]) AS w(selector, id) ON d.selector = w.selector AND d.id = w.id
    ORDER BY d.selector, d.id FOR UPDATE OF d"""
ROWS: Final = f"SELECT {ROW} FROM decisions WHERE selector = $1 AND id > $2 ORDER BY id LIMIT $3"
RECENT: Final = f"SELECT {ROW} FROM decisions WHERE selector = $1 ORDER BY id DESC LIMIT $2"
EVENTS: Final = f"""SELECT e.* FROM counters c
    LEFT JOIN unnest($2::integer[], $3::bigint[]) AS s(shard, seq) ON s.shard = c.shard
    CROSS JOIN LATERAL (
        (SELECT {ROW} FROM decisions WHERE selector = $1 AND shard = c.shard AND seq > COALESCE(s.seq, 0)
            ORDER BY seq LIMIT $4)
        UNION ALL
        (SELECT {GAVE} FROM decisions WHERE selector = $1 AND gave_shard = c.shard AND gave_seq > COALESCE(s.seq, 0)
            ORDER BY gave_seq LIMIT $4)
        ORDER BY seq LIMIT $4) e
    WHERE c.selector = $1 AND c.grp = ''"""
OVERDUE: Final = """SELECT selector, id FROM decisions WHERE state = 0 AND due IS NOT NULL AND due < $1
    AND selector <> ALL($3::bigint[]) ORDER BY due LIMIT $2"""

GROUPS: Final = "SELECT DISTINCT grp FROM counters WHERE selector = $1 AND grp <> ''"
# The clock was ahead when these were asked: they are due as long from now as they were from then.
TURN_BACK: Final = """UPDATE decisions SET due = $1 + (due - asked), asked = $1
    WHERE state = 0 AND due IS NOT NULL AND due > $1 AND asked > $1 + 60"""

SELECTOR: Final = f"SELECT {KEPT} FROM selectors WHERE name = $1"
# Names are compared byte by byte, as in SQLite and in Python.
SELECTORS: Final = f"""SELECT {KEPT} FROM selectors WHERE name COLLATE "C" > $1 AND ($2 OR archived IS NULL)
    AND strpos(name, $3) > 0 ORDER BY name COLLATE "C" LIMIT $4"""
LAST: Final = "SELECT COUNT(*), COALESCE(MAX(number), 0) FROM selectors"
ADD: Final = "INSERT INTO selectors (number, name, plan, created) VALUES ($1, $2, $3, $4)"
SAVE: Final = """INSERT INTO snapshots (selector, events, state) VALUES ($1, $2, $3)
    ON CONFLICT (selector) DO UPDATE SET events = excluded.events, state = excluded.state
    WHERE snapshots.events <= excluded.events"""
KEYS: Final = f"SELECT {KEY} FROM access_keys ORDER BY created"
ADD_KEY: Final = f"INSERT INTO access_keys ({KEY}) VALUES ($1, $2, $3, $4, $5, $6, $7)"
REVOKE_KEY: Final = "UPDATE access_keys SET revoked = $2 WHERE id = $1 AND revoked IS NULL RETURNING id"

_COLUMNS: Final = TABLES["decisions"]
_LATER: Final = ("selector", "id", *_COLUMNS[8:])  # what settling changes
INSERT: Final = f"INSERT INTO decisions ({ROW}) SELECT * FROM unnest({_arrays([TYPES[one] for one in _COLUMNS])})"
UPDATE: Final = f"""UPDATE decisions d SET {", ".join(f"{one} = u.{one}" for one in _LATER[2:])}
    FROM unnest({_arrays([TYPES[one] for one in _LATER])}) AS u({", ".join(_LATER)})
    WHERE d.selector = u.selector AND d.id = u.id"""
COUNT: Final = f"""INSERT INTO counters (selector, grp, shard, counts)
    SELECT * FROM unnest({_arrays(["bigint", "text", "integer", "text"])})
    ON CONFLICT (selector, grp, shard) DO UPDATE SET counts = excluded.counts"""
ANSWER: Final = f"""INSERT INTO replies (selector, idempotency_key, digest, answer, at)
    SELECT * FROM unnest({_arrays(["bigint", "text", "text", "text", "double precision"])})
    ON CONFLICT (selector, idempotency_key) DO UPDATE
    SET digest = excluded.digest, answer = excluded.answer, at = excluded.at"""

# What is said in transactions that others wait for.
WRITER: Final = (TURNS, REPLIES, COUNTERS, LOCK, INSERT, UPDATE, COUNT, ANSWER, FLUSH)
ADDER: Final = (TURN, SELECTOR, LAST, ADD)


def written(changes: Changes, shard: int) -> Iterator[tuple[str, list[list[Any]]]]:
    """What to say to have changes written."""
    if changes.asked:
        yield INSERT, _columns([values_of(row) for row in changes.asked])
    if changes.settled:
        yield UPDATE, _columns([(row.selector, row.id, *values_of(row)[8:]) for row in changes.settled])
    if changes.shards:
        yield COUNT, _columns([(*one, shard, write(counts)) for one, counts in changes.shards.items()])
    if changes.replies:
        yield ANSWER, _columns([(one.selector, one.key, one.digest, one.text, one.at) for one in changes.replies])


def _columns(rows: list[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]
