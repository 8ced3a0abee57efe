"""Keys that let clients in: made, kept as hashes only, looked up in a moment, and out of use two seconds after being revoked.

A secret is 256 random bits. Nobody can guess or list those, so a plain SHA-256 keeps it; the slow hashes that passwords need
would only slow down every request.
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
# A key that may use a selector may confirm it by a PUT of its plan, and make none.
NEEDED: Final[dict[tuple[str, ...], str]] = {
    (MANAGE, USE): f"{MANAGE} to make a selector, or {USE} to confirm one that is there"
}

FRESH: Final = 2.0  # seconds for which what the store said is believed
SOON: Final = 1.0  # after so many it is asked again, while requests go on
UNKNOWN_EVERY: Final = 0.25  # a key that is not known may be new: the store is asked, but no more often than this

_FORM: Final = re.compile(r"suffice_([0-9a-f]{8})_([A-Za-z0-9_-]{43})")
_NAME: Final = re.compile(r"[^\x00-\x1f\x7f]{1,100}")
_NOBODY: Final = "0" * 64  # the hash that an unknown key is compared with, so that it takes as long as a known one


class Unauthorised(ServiceError):
    """There is no key, or it opens nothing."""

    status = 401
    challenge = 'Bearer realm="suffice"'


class BadKey(Unauthorised):
    """A key was given that does not, or no longer, open anything."""

    challenge = 'Bearer realm="suffice", error="invalid_token"'


class Forbidden(ServiceError):
    """The key is good, and not for this."""

    status = 403

    def __init__(self, said: str, scope: str) -> None:
        super().__init__(said)
        self.challenge = f'Bearer realm="suffice", error="insufficient_scope", scope="{scope}"'


class KeyStore(Protocol):
    """What of a store this file needs."""

    async def keys(self) -> list[Key]:
        """All keys, revoked ones too."""


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was just made, and the only time that its text is seen."""

    key: Key
    text: str = field(repr=False)


def hashed(secret: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def new_key(name: str, scopes: Collection[str], now: float, expires: float | None, taken: Collection[str]) -> NewKey:
    """Make a key whose id is not taken."""
    if not _NAME.fullmatch(name):
        raise InvalidArgument(f"name must have 1 to 100 printable characters, got {quoted(name)}")
    known = tuple(scope for scope in SCOPES if scope in scopes)
    if not known or len(known) < len(set(scopes)):
        choices = ", ".join(f"{scope} ({said})" for scope, said in SCOPES.items())
        raise InvalidArgument(f"scope must be one or more of {choices}, got {quoted(' '.join(scopes))}")
    if expires is not None and expires <= now:
        raise InvalidArgument("expires must lie in the future")
    identity = secrets.token_hex(4)
    while identity in taken:
        identity = secrets.token_hex(4)
    secret = secrets.token_urlsafe(32)
    key = Key(identity, name, hashed(secret), known, created=now, expires=expires)
    return NewKey(key, f"suffice_{identity}_{secret}")


def alive(key: Key, now: float) -> bool:
    """Whether it still opens anything."""
    return key.revoked is None and (key.expires is None or now < key.expires)


class Keyring:
    """The keys of a store, as they were at most two seconds ago."""

    def __init__(
        self, store: KeyStore, clock: Callable[[], float] = time.time, tick: Callable[[], float] = time.monotonic
    ) -> None:
        self._store, self._clock, self._tick = store, clock, tick
        self._keys: dict[str, Key] = {}
        self._read = -float("inf")  # when the store was asked
        self._asking: asyncio.Task[None] | None = None

    async def authorise(self, header: str | None, *scopes: str) -> Key:
        """The key in an Authorization header, if it is good for one of these scopes."""
        key = await self.known(header)
        if not any(scope in key.scopes for scope in scopes):
            may = " and ".join(SCOPES[held] for held in key.scopes)
            wanted = NEEDED.get(scopes) or " or ".join(scopes)
            raise Forbidden(f"this needs a key with the scope {wanted}; the key {key.id} may only {may}", scopes[0])
        return key

    async def known(self, header: str | None) -> Key:
        """The key in an Authorization header, whatever it is good for."""
        identity, secret = _parted(header)
        now = self._tick()
        if self._read < now - FRESH:
            await self._since(now - FRESH)
        elif self._read < now - SOON:
            self._ask()
        if identity not in self._keys:  # it may be a new one
            await asyncio.sleep(max(0.0, self._read + UNKNOWN_EVERY - now))
            await self._since(now)
        key = self._keys.get(identity)
        same = hmac.compare_digest(hashed(secret), _NOBODY if key is None else key.hash)
        if key is None or not same:
            raise BadKey("the key is not known here")
        # Only who has the secret is told more.
        if key.revoked is not None:
            raise BadKey(f"the key {key.id} was revoked")
        if not alive(key, self._clock()):
            raise BadKey(f"the key {key.id} has expired")
        return key

    async def _since(self, moment: float) -> None:
        """Make sure that the keys are as they were at this moment or later."""
        while self._read < moment:
            await asyncio.shield(self._ask())  # one who goes away must not stop the others

    def _ask(self) -> asyncio.Task[None]:
        """Ask the store; many who want to know it ask once."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._answer())
            self._asking.add_done_callback(_seen)
        return self._asking

    async def _answer(self) -> None:
        at = self._tick()  # before: what is revoked while the store answers may not be in the answer
        self._keys = {key.id: key for key in await self._store.keys()}
        self._read = at


def _seen(task: asyncio.Task[None]) -> None:
    """A failure is raised to those who wait; where nobody does, the next request asks again."""
    if not task.cancelled():
        task.exception()


def _parted(header: str | None) -> tuple[str, str]:
    if not header:
        raise Unauthorised("this server wants a key: send the header Authorization: Bearer suffice_...")
    kind, _, text = header.partition(" ")
    form = _FORM.fullmatch(text.strip())
    if kind.lower() != "bearer" or form is None:
        raise BadKey("the header Authorization must be: Bearer suffice_<id>_<secret>")
    return form[1], form[2]
