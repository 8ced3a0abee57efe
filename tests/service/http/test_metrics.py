"""Metrics over HTTP."""

import asyncio
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

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
        assert of("suffice_owed_at_most") == standing["owed_at_most"]
        assert of("suffice_owed_at_most", "second") == 0.9
        assert of("suffice_in_flight") == 200
        assert of("suffice_promise_kept") == 1
        assert of("suffice_assumption_violated") == 0
        assert of("suffice_feasible") == 1
        for counter, value in (
            ("asks", 10),
            ("tells", 10),
            ("expiries", 0),
            ("skips", 0),
            ("violations", 0),
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
        asked: list[str] = []
        list_selectors = api.service.list_selectors

        async def noted(after: str, limit: int) -> Any:
            asked.append(after)
            return await list_selectors(after, limit)

        api.service.list_selectors = noted  # type: ignore[method-assign,assignment]
        made = metrics.Metrics(api.service, 100)
        texts = await asyncio.gather(*(made.text() for _ in range(5)))
        texts.append(await made.text())
        assert len(set(texts)) == 1
        assert asked == ["", "a", "b", "c", "d"]
        made._until = 0.0
        await made.text()
        assert len(asked) == 2 * len(names)

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
