"""The interface: selectors, ask and tell, and the probes."""

from typing import Any

import pytest

from suffice.service.http.schemas_request import AskBody
from tests.support.calling import PLAN, Api, check_problem, serve

# --- selectors


async def names(api: Api, query: str) -> tuple[list[str], str | None]:
    """A page of the list, and where the next begins."""
    page = await api.call("GET", f"/v1/selectors?{query}")
    return [one["name"] for one in page["selectors"]], page["next"]


def test_selectors_are_listed_a_page_at_a_time_and_by_a_part_of_their_name() -> None:
    async def do(api: Api) -> None:
        for name in ("search-uk", "search_us", "ranking", "k.old"):
            await api.put(name)
        await api.call("DELETE", "/v1/selectors/k.old")

        assert await names(api, "") == (["ranking", "search-uk", "search_us"], None)
        assert await names(api, "limit=3") == (["ranking", "search-uk", "search_us"], None)
        assert await names(api, "contains=SeArch") == (["search-uk", "search_us"], None)
        assert await names(api, "contains=h&limit=1") == (["search-uk"], "search-uk")
        assert await names(api, "contains=h&limit=1&after=search-uk") == (["search_us"], None)
        assert await names(api, "contains=K&archived=true") == (["k.old", "ranking", "search-uk"], None)
        assert await names(api, "contains=") == (["ranking", "search-uk", "search_us"], None)
        # Unicode folds the sign for kelvins to a K; PostgreSQL refuses a zero character.
        for odd in ("%25", "h_k", "s%25h", "%E2%84%AA", "%00", "search%0A", "a%20b", "x" * 64):
            assert await names(api, f"contains={odd}") == ([], None)
        for query in (
            "limit=0",
            "limit=x",
            "limit=501",
            "after=A",
            "archived=perhaps",
            "lmit=3",
            "contains=" + "x" * 65,
        ):
            await api.call("GET", f"/v1/selectors?{query}", status=422)

    serve(do)


def test_a_page_of_selectors_has_no_plans() -> None:
    """A hundred plans of a megabyte each would be an answer of a hundred megabytes."""

    async def do(api: Api) -> None:
        options = [{"option": f"{place:0100}", "cost": None} for place in range(1000)]
        menu = {"kind": "options", "options": options, "safe": "e", "safe_cost": 1}
        await api.put("large", {"menu": menu, "target": 0.9})
        (found,) = (await api.call("GET", "/v1/selectors"))["selectors"]
        whole = await api.get(name="large")
        assert found["plan"] is None
        assert whole["plan"]["menu"]["options"] == options
        assert {**found, "plan": 0, "price": 0} == {**whole, "plan": 0, "price": 0}
        assert (found["violations"], found["feasible"], found["consistent"]) == (0, True, True)
        assert (found["owed_at_most"], found["assumption_violated"], found["asked"]) == (0, False, 0)

    serve(do)


# --- ask


def test_asks() -> None:
    async def do(api: Api) -> None:
        await api.put()
        one = await api.ask()
        assert one == {
            "decision": "d-0", "arm": 1, "option": "small", "price": one["price"], "safe": False, "skip": False,
        }  # fmt: skip
        assert one["price"] == pytest.approx(6.4828007)  # theory 16: of a hint at the cap, at a debt of 0
        assert (await api.ask(body={}))["decision"] == "d-1"
        assert [each["decision"] for each in (await api.ask(body={"count": 3}))["decisions"]] == ["d-2", "d-3", "d-4"]
        assert (await api.ask(body={"count": 1}))["decisions"][0]["decision"] == "d-5"
        assert (await api.ask(body={"audit": False}))["decision"] is None
        assert (await api.ask(body={"available": ["small", "a person"]}))["decision"] == "d-6"
        assert (await api.ask(body={"group": "Oslo"}))["decision"] == "d-7"
        await api.ask("nobody", status=404)
        found = await api.get()
        assert (found["pending"], found["asks"]) == (8, 9)

    serve(do)


def test_asks_with_contexts() -> None:
    async def do(api: Api) -> None:
        await api.put(body={**PLAN, "model": "auto"})
        context = {"length": 120, "task": "chat", "gone": None, "paid": True}
        first = await api.ask(body={"context": context})
        await api.tell({"decision": first["decision"], "success": True})
        asked = (await api.ask(body={"count": 2, "contexts": [context, None]}))["decisions"]
        assert not asked[0]["safe"]
        rows = (await api.get("/decisions?after=d-0"))["decisions"]
        assert [row["context"] for row in rows] == [context, None]
        assert "no other fields" in (await api.ask(body={"context": {"other": 1}}, status=422))["detail"]
        for wrong in (
            {"contexts": [context]},
            {"count": 2, "contexts": [context]},
            {"count": 2, "context": context},
            {"count": 1, "context": context, "contexts": [context]},
            {"context": {"list": [1]}},
            {"context": {f"field {place}": 1 for place in range(201)}},
            {"context": {"x" * 201: 1}},
            {"context": [1, 2]},
        ):
            await api.ask(body=wrong, status=422)
        await api.put("blind")
        assert "there is no model" in (await api.ask("blind", {"context": context}, status=422))["detail"]

    serve(do)


def test_the_same_idempotency_key_gives_the_same_decision() -> None:
    async def do(api: Api) -> None:
        await api.put()
        key: dict[str, Any] = {"headers": {"Idempotency-Key": "7f3a"}}
        first = await api.ask(body={"count": 2}, **key)
        assert await api.ask(body={"count": 2}, **key) == first
        assert "another body" in (await api.ask(body={"count": 3}, status=409, **key))["detail"]
        for wrong in ("", " ", "a b", "x" * 201, "é", "a\tb"):
            answer = await api.http.post(
                "/v1/selectors/router/ask", headers=[(b"Idempotency-Key", wrong.encode("latin-1"))]
            )
            assert answer.status_code == 422, wrong
            check_problem(answer)
        assert (await api.ask(headers={"Idempotency-Key": "x" * 200}))["decision"] == "d-2"
        again = await api.ask(body={"audit": True, "group": None}, headers={"Idempotency-Key": "x" * 200})
        assert again["decision"] == "d-2"  # defaults, as in an empty body

    serve(do)


def test_a_digest_depends_on_values_only() -> None:
    class Later(AskBody):
        """As another version may have it."""

        colour: str | None = None

    def digest(text: str, kind: type[AskBody] = AskBody) -> str:
        return kind.model_validate_json(text).digest()

    assert digest("{}") == digest('{"count": null, "audit": true}') == digest("{}", Later)
    ask = '{"context": {"a": 1, "b": 2}, "group": "Oslo", "available": ["x", "y"]}'
    other = '{"available": ["x", "y", "x"], "context": {"b": 2, "a": 1}, "group": "Oslo", "count": null}'
    assert digest(ask) == digest(other) == digest(ask, Later)
    texts = ("{}", ask, '{"count": 1}', '{"group": "Oslo"}', '{"available": ["x"]}', '{"available": [true]}')
    assert len(set(map(digest, texts))) == len(texts)


def test_available_options_are_deduplicated_and_limited() -> None:
    found = AskBody.model_validate_json('{"available": ["a", "b", "a", 1, 1.0, true, [1], [1]]}')
    assert found.available == ["a", "b", 1, True, [1]]

    async def do(api: Api) -> None:
        await api.put()
        assert (await api.ask(body={"available": ["small"] * 20_000}))["decision"] == "d-0"
        said = await api.ask(body={"available": ["small"] * 20_001}, status=422)
        assert said["detail"] == "available must hold at most 20,000"

    serve(do)


# --- tell


def test_tells() -> None:
    async def do(api: Api) -> None:
        await api.put()
        await api.ask(body={"count": 9})
        assert await api.tell({"decision": "d-0", "success": True}) == {"decision": "d-0", "result": "counted"}
        assert await api.tell({"decision": "d-0", "success": 1}) == {"decision": "d-0", "result": "unchanged"}
        assert "already has" in (await api.tell({"decision": "d-0", "success": 0.5}, status=409))["detail"]
        for unknown in ("d-63", "0", "", "d-00", "d-" + "f" * 30):
            assert "never asked" in (await api.tell({"decision": unknown, "success": True}, status=404))["detail"]
        assert (await api.tell({"decision": "d-1", "success": False, "cost": 0.2}))["result"] == "counted"
        assert (await api.tell([{"decision": "d-2", "success": 1}]))["results"][0]["result"] == "counted"
        assert (await api.tell({"outcomes": [{"decision": "d-3", "success": 0.25}]}))["results"][0]["status"] == 200
        assert (await api.tell([])) == {"results": []}
        assert (await api.tell({"outcomes": []})) == {"results": []}
        twice = [{"decision": "d-4", "success": success} for success in (True, True, False)]
        results = (await api.tell(twice))["results"]
        assert [one.get("result", one["status"]) for one in results] == ["counted", "unchanged", 409]
        found = await api.get()
        assert (found["outcomes"], found["successes"], found["pending"]) == (5, 3.25, 4)
        await api.tell({"decision": "d-5", "success": True}, name="nobody", status=404)

    serve(do)


def test_a_malformed_list_is_refused_as_a_whole() -> None:
    async def do(api: Api) -> None:
        await api.put()
        await api.ask(body={"count": 2})
        said = await api.tell([{"decision": "d-0", "success": True}, {"decision": "d-1", "success": 7}], status=422)
        assert said["errors"] == [
            {"where": "[1].success", "problem": "must be true, false or a number from 0 to 1, got 7"}
        ]
        assert (await api.get())["outcomes"] == 0
        said = await api.tell({"outcomes": [{"decision": -1, "success": 1}], "more": 1}, status=422)
        assert {fault["where"] for fault in said["errors"]} == {"outcomes[0].decision", "more"}

    serve(do)


def test_probes() -> None:
    async def do(api: Api) -> None:
        assert await api.call("GET", "/readyz") == {"status": "ok"}
        assert (await api.http.head("/healthz")).status_code == 200
        assert (await api.http.head("/readyz")).status_code == 200
        api.service.ready = False
        await api.call("GET", "/readyz", status=503)
        await api.ask(status=503)
        await api.call("GET", "/healthz")
        api.service.ready = True

    serve(do)
