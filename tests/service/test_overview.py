"""Overviews in a list: what is cached of them."""

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
