"""Keys of clients: they are random, only their hashes are stored, and a revoked one is refused within two seconds.

A secret is 256 random bits. It can neither be guessed nor listed, so a plain SHA-256 protects it; the slow hashes that
passwords need would only slow down every request.
"""

import asyncio
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final, Protocol

from suffice.errors import InvalidArgument, quoted
from suffice.service.errors import ServiceError
from suffice.service.records import Key

USE: Final = "use"
MANAGE: Final = "manage"
READ: Final = "read"
SCOPES: Final = {USE: "ask and tell", MANAGE: "create and archive selectors", READ: "look at everything"}
# A key with the scope use may confirm a selector by a PUT of its plan, and make none.
REQUIRED: Final[dict[tuple[str, ...], str]] = {
    (MANAGE, USE): f"{MANAGE} to make a selector, or {USE} to confirm one that is there"
}

FRESH: Final = 2.0  # seconds for which the keys that were read from the store are used
UNKNOWN_EVERY: Final = 0.25  # seconds between two reads for unknown keys, which may be new

_FORM: Final = re.compile(r"suffice_([0-9a-f]{8})_([A-Za-z0-9_-]{43})")
_NAME: Final = re.compile(r"[^\x00-\x1f\x7f]{1,100}")
_NO_HASH: Final = "0" * 64  # an unknown key is compared with this, so that it takes as long as a known one


class Unauthorised(ServiceError):
    """The request has no key, or one that is not valid."""

    status = 401
    challenge = 'Bearer realm="suffice"'


class BadKey(Unauthorised):
    """The key is not known, was revoked or has expired."""

    challenge = 'Bearer realm="suffice", error="invalid_token"'


class Forbidden(ServiceError):
    """The key is valid, and lacks the scope."""

    status = 403

    def __init__(self, message: str, scope: str) -> None:
        super().__init__(message)
        self.challenge = f'Bearer realm="suffice", error="insufficient_scope", scope="{scope}"'


class KeyStore(Protocol):
    """The part of a store that this file needs."""

    async def keys(self) -> list[Key]:
        """All keys, revoked ones too."""


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was just made; its text is not stored anywhere."""

    key: Key
    text: str = field(repr=False)


def hashed(secret: str) -> str:
    """The hash that is stored of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def new_key(name: str, scopes: Collection[str], now: float, expires: float | None, taken: Collection[str]) -> NewKey:
    """Make a key whose id is not among those taken."""
    if not _NAME.fullmatch(name):
        raise InvalidArgument(f"name must have 1 to 100 printable characters, got {quoted(name)}")
    known = tuple(scope for scope in SCOPES if scope in scopes)
    if not known or len(known) < len(set(scopes)):
        choices = ", ".join(f"{scope} ({about})" for scope, about in SCOPES.items())
        raise InvalidArgument(f"scope must be one or more of {choices}, got {quoted(' '.join(scopes))}")
    if expires is not None and expires <= now:
        raise InvalidArgument("expires must lie in the future")
    identity = secrets.token_hex(4)
    while identity in taken:
        identity = secrets.token_hex(4)
    secret = secrets.token_urlsafe(32)
    key = Key(identity, name, hashed(secret), known, created=now, expires=expires)
    return NewKey(key, f"suffice_{identity}_{secret}")


def is_valid(key: Key, now: float) -> bool:
    """Whether a key is neither revoked nor expired."""
    return key.revoked is None and (key.expires is None or now < key.expires)


class Keyring:
    """The keys of a store, as they were at most two seconds ago."""

    def __init__(
        self, store: KeyStore, clock: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._store, self._clock, self._monotonic = store, clock, monotonic
        self._keys: dict[str, Key] = {}
        self._read_at = -float("inf")  # when the keys were read from the store
        self._reading: asyncio.Task[None] | None = None

    async def authorise(self, header: str | None, *scopes: str) -> Key:
        """The key in an Authorization header, if it has one of these scopes."""
        key = await self._valid_key(header)
        if not any(scope in key.scopes for scope in scopes):
            may = " and ".join(SCOPES[scope] for scope in key.scopes)
            wanted = REQUIRED.get(scopes) or " or ".join(scopes)
            raise Forbidden(f"this needs a key with the scope {wanted}; the key {key.id} may only {may}", scopes[0])
        return key

    async def _valid_key(self, header: str | None) -> Key:
        identity, secret = _parse(header)
        now = self._monotonic()
        await self._read_since(now - FRESH)
        if identity not in self._keys:  # it may be a new one
            await asyncio.sleep(max(0.0, self._read_at + UNKNOWN_EVERY - now))
            await self._read_since(now)
        key = self._keys.get(identity)
        same = hmac.compare_digest(hashed(secret), _NO_HASH if key is None else key.hash)
        if key is None or not same:
            raise BadKey("the key is not known here")
        # Only a client that has the secret is told more.
        if key.revoked is not None:
            raise BadKey(f"the key {key.id} was revoked")
        if not is_valid(key, self._clock()):
            raise BadKey(f"the key {key.id} has expired")
        return key

    async def _read_since(self, moment: float) -> None:
        """Wait until the keys were read at this moment or later."""
        while self._read_at < moment:
            await asyncio.shield(self._read())  # a request that is cancelled does not cancel it for the others

    def _read(self) -> asyncio.Task[None]:
        """Read the keys; requests that want it at the same time share one task."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._load())
            self._reading.add_done_callback(_retrieve)
        return self._reading

    async def _load(self) -> None:
        at = self._monotonic()  # before: the answer may miss what is revoked meanwhile
        self._keys = {key.id: key for key in await self._store.keys()}
        self._read_at = at


def _retrieve(task: asyncio.Task[None]) -> None:
    """Retrieve a failure, which asyncio would report if no request waits for it; the next request reads again."""
    if not task.cancelled():
        task.exception()


def _parse(header: str | None) -> tuple[str, str]:
    """The id and the secret in an Authorization header."""
    if not header:
        raise Unauthorised("this server wants a key: send the header Authorization: Bearer suffice_...")
    kind, _, text = header.partition(" ")
    form = _FORM.fullmatch(text.strip())
    if kind.lower() != "bearer" or form is None:
        raise BadKey("the header Authorization must be: Bearer suffice_<id>_<secret>")
    return form[1], form[2]
