"""The clients themselves: key and address, threads and tasks, and that both offer the same."""

import asyncio
import inspect
import logging
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import pytest

import suffice
from suffice import AsyncClient, Client, Selector
from suffice.client import FALLBACK_ID, sync
from suffice.service.http.decision_ids import to_id
from tests.support.client_harness import MENU, URL, Harness
from tests.support.local_service import LocalService

KEY = "sk-secret-0123456789"


def test_the_key_is_sent_and_never_shown(harness: Harness, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    harness.service.key = KEY
    client = harness.client(key=KEY)
    selector = client.selector("routing", MENU, target=0.9)
    selector.ask()
    with pytest.raises(suffice.AccessDenied, match="key is not known") as caught:
        harness.client(key="another").selector("routing")
    harness.service.down = True
    with pytest.raises(suffice.ServiceUnreachable) as lost:
        selector.ask()
    for shown in (repr(client), str(client), repr(selector), repr(caught.value), repr(lost.value), caplog.text):
        assert KEY not in shown
        assert "another" not in shown
    assert repr(selector).endswith("routing at http://service.test>")
    agent = harness.service.requests[0].headers["user-agent"]
    assert agent.startswith(f"suffice/{suffice.__version__} ")
    for wrong in (f"{KEY}\n", "", f"{KEY} x", "schlüssel", 7):
        with pytest.raises(suffice.InvalidArgument, match="key must be text of printable ASCII") as bad:
            harness.client(key=wrong)
        assert KEY not in str(bad.value)


def test_address_and_key_from_the_environment(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(suffice.InvalidArgument, match="SUFFICE_URL"):
        harness.client(url=None)
    monkeypatch.setenv("SUFFICE_URL", URL)
    monkeypatch.setenv("SUFFICE_KEY", KEY)
    harness.service.key = KEY
    assert harness.client(url=None).selector("routing", MENU, target=0.9).ask().id == to_id(0)
    for wrong in ("service.test", "ftp://service.test", "http://", "http://a:b/", f"{URL}?a=1", 7):
        with pytest.raises(suffice.InvalidArgument, match="url must be"):
            harness.client(url=wrong)
    with pytest.raises(suffice.InvalidArgument, match="url must hold no name and no password") as secret:
        harness.client(url="http://me:hunter2@service.test")
    assert "hunter2" not in str(secret.value)
    for wrong_settings in ({"fallback": "skip"}, {"retries": -1}, {"timeout": 0}, {"keep": None}):
        with pytest.raises(suffice.InvalidArgument):
            harness.client(**wrong_settings)


def test_many_threads_share_a_client() -> None:
    harness = Harness(None)
    selector = harness.selector(fallback="safe")
    told = []

    def work() -> None:
        for step in range(60):
            decision = selector.ask()
            selector.tell(decision, True)
            if decision.id != FALLBACK_ID:
                told.append(decision.id)
            if step == 30:
                harness.service.down = not harness.service.down
            harness.now += 0.2

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    harness.service.down = False
    selector.flush()
    assert len(set(told)) == len(told) == harness.served.outcomes
    assert len(told) + selector.fallback_decisions == 8 * 60
    assert selector.undelivered == 0
    harness.service.close()


def test_a_cancelled_call_does_not_block_later_ones() -> None:
    """A call that is to find out whether the service is back, and is cancelled, must not keep all others from trying."""

    async def main() -> None:
        service, now = LocalService(), [0.0]
        hang = asyncio.Event()

        async def answer(request: httpx.Request) -> httpx.Response:
            if hang.is_set():
                await asyncio.sleep(3600)
            return service(request)

        transport = httpx.MockTransport(answer)
        async with AsyncClient(URL, fallback="safe", retries=0, transport=transport, clock=lambda: now[0]) as client:
            selector = await client.selector("routing", MENU, target=0.9)
            decision = await selector.ask()
            service.down = True
            await selector.tell(decision, True)
            service.down, now[0] = False, 5.0
            hang.set()
            task = asyncio.create_task(selector.ask())
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert selector.undelivered == 1  # it was on its way, and came back
            hang.clear()
            assert (await selector.ask()).id == to_id(1)
            assert service.known("routing").outcomes == 1
        service.close()

    asyncio.run(main())


def test_both_clients_offer_the_same() -> None:
    pairs = [(Client, AsyncClient), (sync.RemoteSelector, suffice.client.AsyncRemoteSelector)]
    for blocking, awaited in pairs:
        for name, method in inspect.getmembers(blocking, inspect.isfunction):
            if not name.startswith("_"):
                other = getattr(awaited, name)
                assert inspect.getdoc(method)
                assert inspect.getdoc(other)
                assert inspect.iscoroutinefunction(other)
                assert list(inspect.signature(method).parameters) == list(inspect.signature(other).parameters)


def test_arguments_are_those_of_the_library() -> None:
    for name in ("ask", "ask_many", "tell", "tell_many", "certificate", "options", "context_report"):
        here, there = inspect.signature(getattr(Selector, name)), inspect.signature(getattr(sync.RemoteSelector, name))
        assert list(here.parameters) == list(there.parameters)
    made = set(inspect.signature(Selector).parameters) - {"clock", "rule", "on_event"}  # these are for one process
    assert made == {"menu", "target"} | suffice.client.requests.NAMES


def test_without_httpx_there_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "httpx.py").write_text("raise ModuleNotFoundError('no', name='httpx')")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import suffice\n"
        "assert 'suffice.client' not in sys.modules\n"
        "try: suffice.Client\n"
        "except ImportError as error: print(error)\n"
        "from suffice import *\n"
        "print(hasattr(suffice, 'Klient'))"
    )
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert seen.splitlines() == ["suffice.Client needs httpx: pip install 'suffice[client]'", "False"]
