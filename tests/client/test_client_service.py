"""The client and a server of its own: the same decisions as in process, and keys."""

import random
from pathlib import Path

import pytest

import suffice
from suffice import Client, Menu, Selector
from suffice.service.http.decision_ids import to_id
from tests.support.sites import Site, serving

MENU = Menu({"a": 0.1, "b": 0.4}, safe="all", skip="none", safe_cost=1.0)


@pytest.mark.parametrize(
    "menu",
    [
        MENU,
        Menu.top_k([5, 10, 20], classes=50, skip=True),
        Menu.intervals(step=0.25, skip=True),
        Menu.subsets({"small": 0.1, "large": 0.4}, skip=True),
        Menu.grid(
            distance=[1, 5, 50], rating=[4.5, 0], costs=lambda point: point["distance"] / 100, skip=True, safe_cost=1.0
        ),
        Menu.thresholds(0, 1, step=0.25, safe_success=0.99, skip=True, safe_cost=1.0),
    ],
    ids=lambda menu: menu.kind,
)
def test_it_decides_as_the_library_does(site: Site, menu: Menu) -> None:
    chance = random.Random(1)
    here = Selector(menu, 0.8)
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
        assert again.ask(available=[menu.option(1), menu.safe]).option in (menu.option(1), menu.safe, menu.skip)


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
