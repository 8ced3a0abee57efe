"""The clients and the real service over real HTTP: the same decisions as in process, lost answers, restarts, keys."""

import asyncio
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

import suffice
from suffice import Client, Menu, Selector
from suffice.client.requests import FALLBACK_ID
from suffice.service.http.decision_ids import to_id
from suffice.service.http.keys import new_key
from suffice.service.http.server import Server, bind, build
from suffice.service.http.settings import Settings
from suffice.service.stores import open_store

MENU = Menu({"a": 0.1, "b": 0.4}, safe="all", skip="none")


@contextmanager
def serving(**settings: Any) -> Iterator[str]:
    """A service in a thread of its own; its address."""
    chosen = Settings(**{"port": 0, "access_log": False, **settings})
    sock = bind(chosen)
    app, service = build(chosen)
    config = uvicorn.Config(app, ws="none", lifespan="off", log_config=None, access_log=False)
    ready = threading.Event()
    server = Server(config, app, service, ready.set, None)
    thread = threading.Thread(target=server.run, args=([sock],))
    thread.start()
    try:
        assert ready.wait(120)
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        sock.close()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(store="memory:") as address:
        yield address


class Flaky(httpx.BaseTransport):
    """Real HTTP that sometimes loses a request or its response."""

    def __init__(self, seed: int) -> None:
        self._real, self._random = httpx.HTTPTransport(), random.Random(seed)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        chance = self._random.random()
        if chance < 0.15:
            raise httpx.ConnectError("the request is lost", request=request)
        response = self._real.handle_request(request)
        if chance < 0.3:
            response.read()
            raise httpx.ReadError("the response is lost", request=request)
        return response

    def close(self) -> None:
        self._real.close()


@pytest.mark.parametrize(
    "menu",
    [
        MENU,
        Menu.top_k([5, 10, 20], classes=50),
        Menu.intervals(step=0.25),
        Menu.subsets({"small": 0.1, "large": 0.4}),
        Menu.grid(distance=[1, 5, 50], rating=[4.5, 0], costs=lambda point: point["distance"] / 100),
        Menu.thresholds(0, 1, step=0.25, safe_success=0.99),
    ],
    ids=lambda menu: menu.kind,
)
def test_it_decides_as_the_library_does(url: str, menu: Menu) -> None:
    chance = random.Random(1)
    here = Selector(menu, 0.8, max_pending=1_000)
    with Client(url) as client:
        remote = client.selector(f"same-{menu.kind}", menu, target=0.8)
        for _ in range(100):
            one, other = remote.ask(), here.ask()
            assert tuple(one)[:4] == (to_id(other.id), *tuple(other)[1:4])
            assert type(one.option) is type(other.option)
            success = one.is_safe or (not one.is_skip and chance.random() < 0.85)
            remote.tell(one, success, 0.3)
            here.tell(other, success, 0.3)
        assert str(remote.certificate()) == str(here.certificate())
        assert [(row.option, row.plays, row.success) for row in remote.options()] == [
            (row.option, row.plays, row.success) for row in here.options()
        ]
        overview = remote.overview()
        assert (overview.outcomes, overview.rate, overview.debt) == (here.outcomes, here.rate, here.debt)
        assert overview.cost == pytest.approx(here.cost)
        again = client.selector(f"same-{menu.kind}")
        assert again.ask(available=[menu.option(1)]).option in (menu.option(1), menu.safe, menu.skip)


def test_contexts_groups_and_unaudited_decisions(url: str) -> None:
    with Client(url) as client:
        selector = client.selector("looking", MENU, target=0.8, model="auto", expire_after=3600)
        for step in range(60):
            decision = selector.ask(context={"length": step, "task": "chat", "odd": None}, group="Oslo")
            selector.tell(decision, True)
        selector.tell_many(
            [(one, True) for one in selector.ask_many(3, contexts=[{"length": 1.0}, None, {"task": "code"}])]
        )
        assert selector.ask(audit=False, context={"length": 5}).id == suffice.client.requests.UNAUDITED_ID
        assert selector.context_report().fields["length"]["kind"] == "number"
        assert selector.certificate(group="Oslo").outcomes == 60
        assert (selector.certificate().outcomes, selector.certificate().unaudited) == (63, 1)
        assert set(selector.certificate().groups) == {"", "Oslo"}


def test_errors_are_those_of_the_library(url: str) -> None:
    with Client(url) as client:
        selector = client.selector("errors", MENU, target=0.9)
        decision = selector.ask()
        selector.tell(decision, True)
        selector.tell(decision, True)
        for call, kind, status in (
            (lambda: selector.tell(decision, False), suffice.AlreadyTold, 409),
            (lambda: selector.tell(to_id(7_777), True), suffice.UnknownDecision, 404),
            (lambda: selector.tell_many([(to_id(7_777), True), ("no id", False)]), suffice.UnknownDecision, 404),
            (lambda: selector.ask(context={"length": 3}), suffice.InvalidArgument, 422),
            (lambda: selector.certificate(group="Bergen"), suffice.InvalidArgument, 422),
            (lambda: client.selector("errors", MENU, target=0.8), suffice.ServiceProblem, 409),
            (
                lambda: client.selector("wrong", MENU, target=0.9, start="soon"),
                suffice.InvalidArgument,
                422,
            ),
            (lambda: client.selector("../errors"), suffice.ServiceProblem, None),
            (lambda: client.selector("nobody"), suffice.ServiceProblem, 404),
        ):
            with pytest.raises(kind) as caught:
                call()
            assert isinstance(caught.value, suffice.ServiceProblem)
            assert status in (None, caught.value.status)
        assert selector.archive().archived is not None
        with pytest.raises(suffice.ServiceProblem) as gone:
            selector.ask()
        assert gone.value.status == 410
        assert "errors" not in [one.name for one in client.list_selectors()]
        assert "errors" in [one.name for one in client.list_selectors(archived=True)]
        client.selector("errors", MENU, target=0.9).ask()


def test_lists_of_selectors_come_page_by_page(url: str) -> None:
    with Client(url) as client:
        for number in range(120):
            client.selector(f"many-{number:03}", MENU, target=0.9)
        assert len([one for one in client.list_selectors() if one.name.startswith("many-")]) == 120
        assert len(client.list_selectors(contains="MANY-")) == 120
        assert [one.name for one in client.list_selectors(contains="many-7&limit=1")] == []
        with pytest.raises(suffice.InvalidArgument, match="contains must be text, got 7"):
            client.list_selectors(contains=7)  # type: ignore[arg-type]


def test_retries_make_up_for_lost_messages(url: str) -> None:
    """Each decision is made once, and each outcome counts once."""
    with Client(url, transport=Flaky(3), retries=30, sleep=lambda seconds: None) as client:
        selector = client.selector("flaky", MENU, target=0.9)
        for step in range(150):
            selector.tell(selector.ask(), step % 2)
        selector.tell_many([(one, True) for one in selector.ask_many(150)])
        overview = selector.overview()
        assert (overview.asks, overview.tells, overview.outcomes, overview.pending) == (300, 300, 300, 0)
        assert overview.successes == 225


def test_a_restart_loses_nothing(tmp_path: Path) -> None:
    settings = {"store": f"sqlite:///{tmp_path / 'suffice.db'}"}
    with serving(**settings) as address:
        client = Client(address, fallback="safe", retries=1, sleep=lambda seconds: None, clock=lambda: now[0])
        now = [0.0]
        selector = client.selector("routing", MENU, target=0.9)
        decisions = selector.ask_many(50)
    assert selector.ask().id == FALLBACK_ID
    selector.tell_many([(one, True) for one in decisions[:30]])
    for one in decisions[30:]:
        selector.tell(one, True)
    assert (selector.undelivered, selector.fallback_decisions) == (50, 1)
    with serving(**settings, port=int(address.rpartition(":")[2])):
        now[0] += 1.0
        assert selector.ask().id == to_id(50)
        overview = selector.overview()
        assert (selector.undelivered, overview.outcomes, overview.pending) == (0, 50, 1)
        client.close()


def test_keys_and_their_scopes(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'suffice.db'}"
    made = {name: new_key(name, scopes, time.time(), None, ()) for name, scopes in {
        "all": ("use", "manage", "read"), "app": ("use",), "reader": ("read",),
    }.items()}  # fmt: skip

    async def keep() -> None:
        opened = open_store(store)
        await opened.open()
        for one in made.values():
            await opened.add_key(one.key)
        await opened.close()

    asyncio.run(keep())
    with serving(store=store, keys="required") as address:
        with Client(address, made["all"].text) as client:
            client.selector("routing", MENU, target=0.9).ask()
        with Client(address, made["app"].text) as client:
            for selector in (client.selector("routing", MENU), client.selector("routing")):
                decision = selector.ask()
                assert decision.option == MENU.option(decision.arm)
                selector.tell(decision, True)
            client.selector("routing", MENU, target=0.9).ask()  # the scope use is enough to confirm it
            with pytest.raises(suffice.AccessDenied, match="scope manage") as caught:
                client.selector("other", MENU, target=0.9)
            assert caught.value.status == 403
        with Client(address, made["reader"].text) as client:
            selector = client.selector("routing")
            assert selector.certificate().outcomes == 2
            with pytest.raises(suffice.AccessDenied, match="scope use"):
                selector.ask()
        for key in (None, "suffice_nobody", made["app"].text[:-1] + "x"):
            with Client(address, key, fallback="safe") as client, pytest.raises(suffice.AccessDenied) as refused:
                client.selector("routing", MENU, target=0.9)
            assert refused.value.status == 401
