"""Overviews in a list: what is cached of them."""

import pytest

from suffice.service import overview
from tests.support.calling import PLAN, Api, serve


def test_what_other_processes_teach_moves_the_price_in_a_list() -> None:
    """A list caches overviews by their counts; the price also changes with what was learned, which changes no count."""

    async def do(api: Api) -> None:
        await api.put(body={**PLAN, "max_surplus": 50})
        while not 0.0 < (price := (await api.get())["price"]) < 10.0:
            await api.tell({"decision": (await api.ask())["decision"], "success": True})
        (replica,) = api.service._replicas._replicas.values()
        replica.detached.pricing("").hint /= 2.0
        replica.seen[99] = 1  # an outcome of another process
        (listed,) = (await api.call("GET", "/v1/selectors"))["selectors"]
        assert listed["price"] < price

    serve(do)


def test_few_overviews_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    async def do(api: Api) -> None:
        known = api.service._overviews._known
        for name in "abc":
            await api.put(name)
        await api.call("GET", "/v1/selectors")
        assert 1 <= len(known) <= 2
        known.clear()
        monkeypatch.setattr(overview, "LONG", 10)  # characters of a plan
        assert len((await api.call("GET", "/v1/selectors"))["selectors"]) == 3
        assert not known

    monkeypatch.setattr(overview, "REMEMBERED", 2)
    serve(do)
