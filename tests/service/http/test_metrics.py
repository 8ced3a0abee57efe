"""Metrics over HTTP."""

import asyncio
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from suffice.service.errors import StoreDown
from suffice.service.http import metrics
from tests.support.calling import Api, play, serve


def test_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "FRESH", 0.0)

    async def do(api: Api) -> None:
        await api.put()
        await api.put("second")
        await play(api, 10)
        await api.ask("second")
        answer = await api.http.get("/metrics")
        assert answer.headers["content-type"].startswith("text/plain")
        found = {family.name: family for family in text_string_to_metric_families(answer.text)}
        standing = await api.get()

        def of(name: str, selector: str = "router") -> float | None:
            return next((one.value for one in found[name].samples if one.labels.get("selector") == selector), None)

        assert of("suffice_rate") == standing["rate"]
        assert of("suffice_rate", "second") is None
        assert of("suffice_debt") == standing["debt"]
        assert of("suffice_debt_bound") == standing["debt_at_most"]
        assert of("suffice_pending", "second") == 1
        assert of("suffice_promise_kept") == 1
        for counter, value in (
            ("asks", 10),
            ("tells", 10),
            ("expiries", 0),
            ("breaches", 0),
        ):
            assert of(f"suffice_{counter}") == value
            assert f"suffice_{counter}_total{{" in answer.text
        assert of("suffice_cost") == standing["cost"]
        assert found["suffice_cost"].type == "gauge"  # a late outcome may lower it
        counts = {
            (one.labels["method"], one.labels["route"], one.labels["status"]): one.value
            for one in found["suffice_request_seconds"].samples
            if one.name.endswith("_count")
        }
        assert counts["POST", "/v1/selectors/{name}/ask", "2xx"] == 11
        assert counts["PUT", "/v1/selectors/{name}", "2xx"] == 2
        for path in ("/nope", "/v1/selectors/router/asks", "/x" * 50):
            await api.http.get(path)
        await api.http.request("BREW", "/healthz")
        await api.http.post("/v1/selectors/NO/ask")
        text = (await api.http.get("/metrics")).text
        assert 'suffice_request_seconds_count{method="other",route="other",status="4xx"} 3.0' in text
        assert "BREW" not in text
        assert 'route="/v1/selectors/{name}/ask",status="4xx"} 1.0' in text
        assert "suffice_selectors_left_out 0.0" in text

    serve(do)


def test_metrics_are_collected_once_a_second_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "FRESH", 60.0)
    monkeypatch.setattr(metrics, "PAGE", 1)

    async def do(api: Api) -> None:
        names = ("a", "b", "c", "d", "e")
        for name in names:
            await api.put(name)
        every = (await api.service.list_selectors())[0]
        asked: list[int] = []
        turns = 0

        class Quick:
            """A keeper that has everything at hand, so that it never waits."""

            async def list_selectors(self, after: str, limit: int) -> tuple[list[Any], str | None]:
                asked.append(turns)
                page = [one for one in every if one.name > after][:limit]
                return page, page[-1].name if page[-1] is not every[-1] else None

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        made = metrics.Metrics(Quick(), 100)  # type: ignore[arg-type]
        task = asyncio.create_task(others())
        texts = await asyncio.gather(*(made.text() for _ in range(5)))
        texts.append(await made.text())
        task.cancel()
        assert len(set(texts)) == 1
        assert len(asked) == len(names)
        assert len(set(asked)) == len(asked)  # between any two pages somebody else had a turn
        made._until = 0.0
        await made.text()
        assert len(asked) == 2 * len(names)

    serve(do)


def test_a_failure_to_collect_is_not_kept() -> None:
    async def do(api: Api) -> None:
        await api.put()
        list_selectors = api.service.list_selectors

        async def fails(*_: Any) -> Any:
            raise StoreDown("the store cannot be reached")

        api.service.list_selectors = fails  # type: ignore[method-assign,assignment]
        await api.call("GET", "/metrics", status=503)
        api.service.list_selectors = list_selectors  # type: ignore[method-assign]
        assert (await api.http.get("/metrics")).status_code == 200

    serve(do)


def test_metrics_are_limited_or_left_out() -> None:
    async def few(api: Api) -> None:
        for name in ("a", "b", "c"):
            await api.put(name)
        text = (await api.http.get("/metrics")).text
        assert 'suffice_debt{selector="b"}' in text
        assert 'suffice_debt{selector="c"}' not in text
        assert "suffice_selectors_left_out 1.0" in text

    async def none(api: Api) -> None:
        for path in ("/metrics", "/docs", "/openapi.json", "/"):
            await api.call("GET", path, status=404)

    serve(few, max_measured=2)
    serve(none, metrics=False, docs=False, page=False)
