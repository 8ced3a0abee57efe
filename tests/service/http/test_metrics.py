"""Metrics over HTTP."""

import asyncio
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from suffice.service.http import metrics
from tests.support.calling import PLAN, Api, play, serve


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
            ("outcomes", 10),
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


def test_expiries_count_lost_safe_plays_and_never_fall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "FRESH", 0.0)
    now = [1e9]

    async def do(api: Api) -> None:
        await api.put(body={**PLAN, "expire_after": 60, "max_debt": 1, "in_flight": 0})

        async def counted(name: str) -> float:
            text = (await api.http.get("/metrics")).text
            families = {family.name: family for family in text_string_to_metric_families(text)}
            (sample,) = families[f"suffice_{name}"].samples
            return sample.value

        first, *forced = (await api.ask(body={"count": 5}))["decisions"]
        (other,) = (await api.ask(body={"count": 1, "group": "b"}))["decisions"]
        skipped = await api.ask(body={"available": ["skip"], "group": "c"})
        await api.ask(body={"audit": False})
        assert [one["safe"] for one in (first, *forced, other)] == [False, True, True, True, True, False]
        assert skipped["skip"]
        await api.tell({"decision": forced[0]["decision"], "success": True})
        await api.call("POST", "/v1/selectors/router/cancel", {"decision": forced[1]["decision"]})
        assert await counted("expiries") == 0
        now[0] += 100.0
        await api.service.expire_overdue()
        assert await counted("expiries") == 4  # first, other, and two plays of the safe option
        assert await counted("outcomes") == 4  # first, other, the one that was told, and the skip
        assert (await api.get("/certificate"))["safe_lost"] == 2
        for late in (first, forced[2], skipped):
            assert (await api.tell({"decision": late["decision"], "success": True}))["result"] == "amended"
        certificate = await api.get("/certificate")
        assert (certificate["safe_lost"], certificate["expired"], certificate["amended"]) == (1, 2, 3)
        assert (await counted("expiries"), await counted("outcomes"), await counted("tells")) == (4, 5, 4)

    serve(do, clock=lambda: now[0])
