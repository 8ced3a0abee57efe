"""Keys: their form, that only hashes are stored, which requests they allow, and how soon a revoked one is refused."""

import asyncio
import hashlib
import json
import re
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from suffice.service.errors import StoreDown
from suffice.service.http import keys as module
from suffice.service.http.keys import BadKey, Keyring, NewKey, new_key
from suffice.service.records import Key
from suffice.service.stores import open_store
from tests.support.command import say_in_process

NOW = 1_000_000.0


class FakeStore:
    """Keys, and how often they were read; reading can be made to fail."""

    def __init__(self, *keys: Key) -> None:
        self.held = list(keys)
        self.asked = 0
        self.down = False

    async def keys(self) -> list[Key]:
        self.asked += 1
        found = list(self.held)
        if self.down:
            raise StoreDown("the store cannot be reached")
        return found

    def revoke(self) -> None:
        self.held = [replace(key, revoked=NOW) for key in self.held]


class Clock:
    """Time that a test sets, and that moves a little with each call."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        self.now += 1e-6
        return self.now


def made(*scopes: str, expires: float | None = None) -> NewKey:
    return new_key("someone", scopes or ("use", "read"), NOW, expires, ())


def bearer(key: NewKey) -> str:
    return f"Bearer {key.text}"


def ring(store: FakeStore, tick: Callable[[], float] = time.monotonic) -> Keyring:
    return Keyring(store, lambda: NOW, tick)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("suffice.service.http.keys.UNKNOWN_EVERY", 0.01)


def refused(work: Coroutine[Any, Any, Any], kind: type[Exception], said: str) -> Exception:
    with pytest.raises(kind, match=said) as caught:
        asyncio.run(work)
    return caught.value


# --- the form of a key


def test_only_a_hash_of_a_key_is_stored() -> None:
    key = made()
    form = re.fullmatch(r"suffice_([0-9a-f]{8})_([A-Za-z0-9_-]{43})", key.text)
    assert form is not None
    assert key.key.id == form[1]
    assert key.key.hash == hashlib.sha256(form[2].encode()).hexdigest()
    assert form[2] not in repr(key.key)
    assert form[2] not in repr(key)
    assert len({made().text for _ in range(100)}) == 100


def test_an_id_is_never_taken_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = iter(["11111111", "11111111", "22222222"])
    monkeypatch.setattr("secrets.token_hex", lambda _: next(ids))
    assert new_key("b", ("use",), NOW, None, {"11111111"}).key.id == "22222222"


# --- which requests are accepted


def test_malformed_keys_are_refused() -> None:
    text = made().text
    for header in (
        text,
        f"Basic {text}",
        "Bearer",
        f"Bearer {text}x",
        f"Bearer {text[:-1]}",
        "Bearer x" * 10_000,
        "Bearer \x00é",
    ):
        refused(ring(FakeStore()).authorise(header, "use"), BadKey, "^the header Authorization must be")


def test_wrong_unknown_revoked_and_expired_keys_are_refused() -> None:
    key, other = made(), made()
    wrong = f"Bearer suffice_{key.key.id}_{other.text[-43:]}"
    error = refused(ring(FakeStore(key.key)).authorise(wrong, "use"), BadKey, "^the key is not known here$")
    assert isinstance(error, BadKey)
    assert 'error="invalid_token"' in error.challenge
    refused(ring(FakeStore(key.key)).authorise(bearer(other), "use"), BadKey, "^the key is not known here$")
    revoked = replace(key.key, revoked=NOW - 1)
    refused(ring(FakeStore(revoked)).authorise(bearer(key), "use"), BadKey, f"^the key {key.key.id} was revoked$")
    refused(ring(FakeStore(revoked)).authorise(wrong, "use"), BadKey, "^the key is not known here$")
    expired = replace(key.key, expires=NOW)
    refused(ring(FakeStore(expired)).authorise(bearer(key), "use"), BadKey, f"^the key {key.key.id} has expired$")


def test_unknown_keys_are_compared_too(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def compare(a: str, b: str) -> bool:
        seen.append((len(a), len(b)))
        return a == b

    monkeypatch.setattr("hmac.compare_digest", compare)
    refused(ring(FakeStore()).authorise(bearer(made()), "use"), BadKey, "not known")
    assert seen == [(64, 64)]


# --- how often the store is read


def test_a_revoked_key_is_out_within_two_seconds() -> None:
    async def run() -> None:
        key = made()
        store = FakeStore(key.key)
        ticking = Clock()
        keyring = ring(store, ticking)
        for _ in range(10):
            await keyring.authorise(bearer(key), "use")
        assert store.asked == 1
        store.revoke()
        ticking.now += module.FRESH + 0.001
        with pytest.raises(BadKey, match="revoked"):
            await keyring.authorise(bearer(key), "use")

    asyncio.run(run())


def test_a_new_key_works_at_once_and_unknown_keys_cause_few_reads() -> None:
    async def run() -> None:
        store = FakeStore()
        keyring = ring(store)
        for _ in range(5):
            many = [keyring.authorise(bearer(made()), "use") for _ in range(100)]
            found = await asyncio.gather(*many, return_exceptions=True)
            assert all(isinstance(error, BadKey) for error in found)
        assert store.asked <= 12  # not five hundred times
        key = made()
        store.held.append(key.key)
        await keyring.authorise(bearer(key), "use")

    asyncio.run(run())


def test_while_the_store_is_down_keys_are_refused() -> None:
    async def run() -> None:
        key = made()
        store = FakeStore(key.key)
        ticking = Clock()
        keyring = ring(store, ticking)
        await keyring.authorise(bearer(key), "use")
        store.down = True
        await keyring.authorise(bearer(key), "use")
        ticking.now += module.FRESH + 0.1
        with pytest.raises(StoreDown):
            await keyring.authorise(bearer(key), "use")
        store.down = False
        await keyring.authorise(bearer(key), "use")

    asyncio.run(run())


# --- the command


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a store that does not exist yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SUFFICE_STORE", raising=False)
    return f"sqlite:///{tmp_path / 'kept.db'}"


def kept(url: str) -> list[Key]:
    async def run() -> list[Key]:
        found = open_store(url)
        await found.open(keys_only=True)
        try:
            return await found.keys()
        finally:
            await found.close()

    return asyncio.run(run())


def test_create_list_revoke(capsys: pytest.CaptureFixture[str], store: str) -> None:
    code, text, err = say_in_process(
        capsys, "keys", "create", "shop", "--scope", "use", "--scope", "read", "--store", store
    )
    assert code == 0
    assert "shown only now" in err
    assert text.strip() not in err
    (key,) = kept(store)
    assert (key.name, key.scopes, key.expires, key.revoked) == ("shop", ("use", "read"), None, None)
    found = asyncio.run(Keyring(FakeStore(key)).authorise(f"Bearer {text.strip()}", "use"))
    assert found == key

    code, out, _ = say_in_process(capsys, "keys", "list", "--store", store, "--json")
    assert code == 0
    (row,) = json.loads(out)
    assert (row["id"], row["name"], row["scopes"], row["revoked"]) == (key.id, "shop", ["use", "read"], None)
    assert key.hash not in out

    assert say_in_process(capsys, "keys", "revoke", key.id, "--store", store)[0] == 0
    assert kept(store)[0].revoked == pytest.approx(time.time(), abs=60)
    code, _, err = say_in_process(capsys, "keys", "revoke", key.id, "--store", store)
    assert code == 2
    assert err.startswith(f"suffice: there is no key {key.id} that could be revoked")
    _, out, _ = say_in_process(capsys, "keys", "list", "--store", store)
    assert re.search(rf"{key.id} +shop +use read +\d{{4}}-\d\d-\d\d +revoked", out)


def test_the_store_is_also_read_from_the_environment(
    capsys: pytest.CaptureFixture[str], store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUFFICE_STORE", store)
    code, out, err = say_in_process(capsys, "keys", "create", "a", "--scope", "manage", "--expires", "90d", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    (key,) = kept(store)
    assert found["id"] == key.id
    assert found["key"].startswith(f"suffice_{key.id}_")
    assert key.expires is not None
    assert key.expires - key.created == pytest.approx(90 * 86400)
    assert say_in_process(capsys, "keys", "revoke", found["key"])[0] == 0  # the whole key is taken too


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (("create", "", "--scope", "use"), "name must have 1 to 100 printable characters, got ''"),
        (("create", "a\nb", "--scope", "use"), "name must have"),
        (("create", "a"), "scope must be one or more of use (ask and tell), manage"),
        (("create", "a", "--scope", "admin"), "scope must be one or more of"),
        (("create", "a", "--scope", "use", "--expires", "soon"), "expires must be a time such as 30m"),
        (("create", "a", "--scope", "use", "--expires", "2001-01-01"), "expires must lie in the future"),
        (("create", "a", "--scope", "use", "--store", "memory:"), "store must not be memory:"),
        (
            ("create", "a", "--scope", "use", "--store", "mysql://a:secret@b/c"),
            "store must be memory:, sqlite:///FILE or",
        ),
        (("revoke", "nobody"), "identity must be the id of a key"),
    ],
)
def test_mistakes_are_one_sentence(
    capsys: pytest.CaptureFixture[str], store: str, tokens: tuple[str, ...], said: str
) -> None:
    more = () if "--store" in tokens else ("--store", store)
    code, out, err = say_in_process(capsys, "keys", *tokens, *more)
    assert (code, out) == (2, "")
    assert err.startswith(f"suffice: {said}")
    assert err.count("\n") == 1
    assert "secret" not in err
