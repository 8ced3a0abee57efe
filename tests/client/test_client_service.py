"""The clients and the real service over real HTTP: the same decisions as in process, lost answers, restarts, keys."""

import random
from pathlib import Path

import httpx
import pytest

import suffice
from suffice import Client, Menu, Selector
from suffice.client.requests import FALLBACK_ID
from suffice.service.http.decision_ids import to_id
from tests.support.sites import Site, serving

MENU = Menu({"a": 0.1, "b": 0.4}, safe="all", skip="none")


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
def test_it_decides_as_the_library_does(site: Site, menu: Menu) -> None:
    chance = random.Random(1)
    here = Selector(menu, 0.8, max_pending=1_000)
    with Client(site.origin) as client:
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
        assert [row.arm for row in remote.options(2)] == [row.arm for row in here.options(2)]
        overview = remote.overview()
        assert (overview.outcomes, overview.rate, overview.debt) == (here.outcomes, here.rate, here.debt)
        assert overview.cost == pytest.approx(here.cost)
        again = client.selector(f"same-{menu.kind}")
        assert again.ask(available=[menu.option(1)]).option in (menu.option(1), menu.safe, menu.skip)


def test_retries_make_up_for_lost_messages(site: Site) -> None:
    """Each decision is made once, and each outcome counts once."""
    with Client(site.origin, transport=Flaky(3), retries=30, sleep=lambda seconds: None) as client:
        selector = client.selector("flaky", MENU, target=0.9)
        for step in range(150):
            selector.tell(selector.ask(), step % 2)
        selector.tell_many([(one, True) for one in selector.ask_many(150)])
        overview = selector.overview()
        assert (overview.asks, overview.tells, overview.outcomes, overview.pending) == (300, 300, 300, 0)
        assert overview.successes == 225


def test_a_restart_loses_nothing(tmp_path: Path) -> None:
    with serving(tmp_path, f"sqlite:///{tmp_path / 'suffice.db'}") as site:
        client = Client(site.origin, fallback="safe", retries=1, sleep=lambda seconds: None, clock=lambda: now[0])
        now = [0.0]
        selector = client.selector("routing", MENU, target=0.9)
        decisions = selector.ask_many(50)
        assert site.stop() == 0
        assert selector.ask().id == FALLBACK_ID
        selector.tell_many([(one, True) for one in decisions[:30]])
        for one in decisions[30:]:
            selector.tell(one, True)
        assert (selector.undelivered, selector.fallback_decisions) == (50, 1)
        site.up()
        now[0] += 1.0
        assert selector.ask().id == to_id(50)
        overview = selector.overview()
        assert (selector.undelivered, overview.outcomes, overview.pending) == (0, 50, 1)
        client.close()


def test_keys_and_their_scopes(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'suffice.db'}"
    maker = Site(tmp_path, store)
    every, app, reader = maker.key("use", "manage", "read"), maker.key("use"), maker.key("read")
    with serving(tmp_path, store, keys="required") as site:
        with Client(site.origin, every) as client:
            client.selector("routing", MENU, target=0.9).ask()
        with Client(site.origin, app) as client:
            for selector in (client.selector("routing", MENU), client.selector("routing")):
                decision = selector.ask()
                assert decision.option == MENU.option(decision.arm)
                selector.tell(decision, True)
            client.selector("routing", MENU, target=0.9).ask()  # the scope use is enough to confirm it
            with pytest.raises(suffice.AccessDenied, match="scope manage") as caught:
                client.selector("other", MENU, target=0.9)
            assert caught.value.status == 403
        with Client(site.origin, reader) as client:
            selector = client.selector("routing")
            assert selector.certificate().outcomes == 2
            with pytest.raises(suffice.AccessDenied, match="scope use"):
                selector.ask()
        for key in (None, "suffice_nobody", app[:-4] + "AAAA"):
            with Client(site.origin, key, fallback="safe") as client, pytest.raises(suffice.AccessDenied) as refused:
                client.selector("routing", MENU, target=0.9)
            assert refused.value.status == 401
