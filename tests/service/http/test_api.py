"""The interface: selectors, ask and tell as promised, and whatever else is sent refused with one clear sentence."""

import asyncio
import json
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from suffice import InvalidArgument
from suffice.errors import AlreadyTold, StateError, UnknownDecision
from suffice.service.errors import NoSuchSelector, Overloaded, StoreDown, StoredPlan, status_of
from suffice.service.http import routes_write
from suffice.service.http.schemas_request import AskBody
from suffice.service.plans import Plan
from suffice.service.records import AskRequest
from tests.support.calling import PLAN, Api, check_problem, serve


@pytest.fixture(params=["memory:", "sqlite:///"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/suffice.db" if request.param != "memory:" else "memory:"


# --- selectors


def test_the_life_of_a_selector(store: str) -> None:
    async def do(api: Api) -> None:
        await api.get(status=404)
        made = await api.put()
        assert (made["name"], made["outcomes"], made["archived"], made["holds"]) == ("router", 0, None, True)
        assert made["plan"]["max_pending"] == 1000
        assert made["safe_cost"] == 1.0
        again = await api.put(status=200)
        assert again["created"] == made["created"]
        assert "another plan" in (await api.put(body={**PLAN, "target": 0.8}, status=409))["detail"]
        decision = (await api.ask())["decision"]
        assert (await api.call("DELETE", "/v1/selectors/router"))["archived"] is not None
        await api.ask(status=410)
        assert (await api.tell({"decision": decision, "success": True}))["result"] == "counted"
        assert (await api.get())["outcomes"] == 1
        assert (await api.put(status=200))["archived"] is None
        await api.ask()
        await api.call("DELETE", "/v1/selectors/nobody", status=404)

    serve(do, store)


async def names(api: Api, query: str) -> tuple[list[str], str | None]:
    """A page of the list, and where the next begins."""
    page = await api.call("GET", f"/v1/selectors?{query}")
    return [one["name"] for one in page["selectors"]], page["next"]


def test_selectors_are_listed_a_page_at_a_time(store: str) -> None:
    async def do(api: Api) -> None:
        for name in ("c", "a", "d", "b"):
            await api.put(name)
        await api.call("DELETE", "/v1/selectors/d")

        assert await names(api, "") == (["a", "b", "c"], None)
        assert await names(api, "limit=2") == (["a", "b"], "b")
        assert await names(api, "limit=2&after=b") == (["c"], None)
        assert await names(api, "limit=3") == (["a", "b", "c"], None)
        assert await names(api, "archived=true") == (["a", "b", "c", "d"], None)
        for query in ("?limit=0", "?limit=x", "?limit=501", "?after=A", "?archived=perhaps", "?lmit=3"):
            await api.call("GET", f"/v1/selectors{query}", status=422)

    serve(do, store)


def test_selectors_are_found_by_a_part_of_their_name(store: str) -> None:
    async def do(api: Api) -> None:
        for name in ("search-uk", "search_us", "ranking", "k.old"):
            await api.put(name)
        await api.call("DELETE", "/v1/selectors/k.old")

        assert await names(api, "contains=SeArch") == (["search-uk", "search_us"], None)
        assert await names(api, "contains=h&limit=1") == (["search-uk"], "search-uk")
        assert await names(api, "contains=h&limit=1&after=search-uk") == (["search_us"], None)
        assert await names(api, "contains=K&archived=true") == (["k.old", "ranking", "search-uk"], None)
        assert await names(api, "contains=") == (["ranking", "search-uk", "search_us"], None)
        # The sign for kelvins is a K to Unicode, and no letter of a name; a zero character is none to PostgreSQL.
        for odd in ("%25", "h_k", "s%25h", "%E2%84%AA", "%00", "search%0A", "a%20b", "x" * 64):
            assert await names(api, f"contains={odd}") == ([], None)
        await api.call("GET", f"/v1/selectors?contains={'x' * 65}", status=422)

    serve(do, store)


def test_a_page_of_selectors_has_no_plans(store: str) -> None:
    """A hundred plans of a megabyte each would be an answer of a hundred megabytes."""

    async def do(api: Api) -> None:
        options = [f"{place:0100}" for place in range(1000)]
        await api.put("large", {"menu": {"kind": "options", "options": options, "safe": "e"}, "target": 0.9})
        (found,) = (await api.call("GET", "/v1/selectors"))["selectors"]
        whole = await api.get(name="large")
        assert found["plan"] is None
        assert whole["plan"]["menu"]["options"] == options
        assert {**found, "plan": 0, "price": 0} == {**whole, "plan": 0, "price": 0}
        assert (found["breaches"], found["feasible"], found["consistent"]) == (0, True, True)

    serve(do, store)


# --- ask


def test_asks(store: str) -> None:
    async def do(api: Api) -> None:
        await api.put()
        one = await api.ask()
        assert one == {
            "decision": 0, "arm": 3, "option": "a person", "price": 10.0, "safe": True, "skip": False,
        }  # fmt: skip
        assert (await api.ask(body={}))["decision"] == 1
        assert [each["decision"] for each in (await api.ask(body={"count": 3}))["decisions"]] == [2, 3, 4]
        assert (await api.ask(body={"count": 1}))["decisions"][0]["decision"] == 5
        assert (await api.ask(body={"audit": False}))["decision"] is None
        assert (await api.ask(body={"available": ["small", "a person"]}))["decision"] == 6
        assert (await api.ask(body={"group": "Oslo"}))["decision"] == 7
        await api.ask("nobody", status=404)
        found = await api.get()
        assert (found["pending"], found["asks"]) == (8, 9)

    serve(do, store)


def test_asks_with_contexts(store: str) -> None:
    async def do(api: Api) -> None:
        await api.put(body={**PLAN, "model": "auto"})
        context = {"length": 120, "task": "chat", "gone": None, "paid": True}
        first = await api.ask(body={"context": context})
        await api.tell({"decision": first["decision"], "success": True})
        asked = (await api.ask(body={"count": 2, "contexts": [context, None]}))["decisions"]
        assert not asked[0]["safe"]
        rows = (await api.get("/decisions?after=0"))["decisions"]
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
        assert "no model looks" in (await api.ask("blind", {"context": context}, status=422))["detail"]

    serve(do, store)


def test_the_same_key_is_the_same_decision(store: str) -> None:
    async def do(api: Api) -> None:
        await api.put()
        await api.put("other")
        key: dict[str, Any] = {"headers": {"Idempotency-Key": "7f3a"}}
        first = await api.ask(body={"count": 2}, **key)
        assert await api.ask(body={"count": 2}, **key) == first
        assert "another body" in (await api.ask(body={"count": 3}, status=409, **key))["detail"]
        assert (await api.ask("other", {"count": 3}, **key))["decisions"][0]["decision"] == 0
        assert (await api.get())["pending"] == 2
        for wrong in ("", " ", "a b", "x" * 201, "é", "a\tb"):
            answer = await api.http.post(
                "/v1/selectors/router/ask", headers=[(b"Idempotency-Key", wrong.encode("latin-1"))]
            )
            assert answer.status_code == 422, wrong
            check_problem(answer)
        assert (await api.ask(headers={"Idempotency-Key": "x" * 200}))["decision"] == 2
        again = await api.ask(body={"audit": True, "group": None}, headers={"Idempotency-Key": "x" * 200})
        assert again["decision"] == 2  # it says no more than an empty body

    serve(do, store)


def test_the_same_body_is_what_it_says() -> None:
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


def test_options_that_are_available_are_listed_once_and_not_without_end() -> None:
    found = AskBody.model_validate_json('{"available": ["a", "b", "a", 1, 1.0, true, [1], [1]]}')
    assert found.available == ["a", "b", 1, True, [1]]

    async def do(api: Api) -> None:
        await api.put()
        assert (await api.ask(body={"available": ["small"] * 20_000}))["decision"] == 0
        said = await api.ask(body={"available": ["small"] * 20_001}, status=422)
        assert said["detail"] == "available must hold at most 20,000"

    serve(do)


# --- tell


def test_tells(store: str) -> None:
    async def do(api: Api) -> None:
        await api.put()
        await api.ask(body={"count": 9})
        assert await api.tell({"decision": 0, "success": True}) == {"decision": 0, "result": "counted"}
        assert await api.tell({"decision": 0, "success": 1}) == {"decision": 0, "result": "unchanged"}
        assert "told" in (await api.tell({"decision": 0, "success": 0.5}, status=409))["detail"]
        assert "never asked" in (await api.tell({"decision": 99, "success": True}, status=404))["detail"]
        assert (await api.tell({"decision": 1.0, "success": False, "cost": 0.2}))["result"] == "counted"
        mixed = [{"decision": 2, "success": 1}, {"decision": 0, "success": 0}, {"decision": 77, "success": 1}]
        results = (await api.tell(mixed))["results"]
        assert [(one["decision"], one["status"]) for one in results] == [(2, 200), (0, 409), (77, 404)]
        assert results[0]["result"] == "counted"
        assert set(results[1]) == {"decision", "status", "detail"}
        assert (await api.tell({"outcomes": [{"decision": 3, "success": 0.25}]}))["results"][0]["status"] == 200
        assert (await api.tell([])) == {"results": []}
        assert (await api.tell({"outcomes": []})) == {"results": []}
        twice = [{"decision": 4, "success": True}, {"decision": 4, "success": True}, {"decision": 4, "success": False}]
        results = (await api.tell(twice))["results"]
        assert [one.get("result", one["status"]) for one in results] == ["counted", "unchanged", 409]
        found = await api.get()
        assert (found["outcomes"], found["successes"], found["pending"]) == (5, 3.25, 4)
        await api.tell({"decision": 5, "success": True}, name="nobody", status=404)

    serve(do, store)


def test_a_malformed_list_is_refused_whole(store: str) -> None:
    async def do(api: Api) -> None:
        await api.put()
        await api.ask(body={"count": 2})
        said = await api.tell([{"decision": 0, "success": True}, {"decision": 1, "success": 7}], status=422)
        assert said["errors"] == [
            {"where": "[1].success", "problem": "must be true, false or a number from 0 to 1, got 7"}
        ]
        assert (await api.get())["outcomes"] == 0
        said = await api.tell({"outcomes": [{"decision": -1, "success": 1}], "more": 1}, status=422)
        assert {fault["where"] for fault in said["errors"]} == {"outcomes[0].decision", "more"}

    serve(do, store)


def test_a_cost_that_is_needed(store: str) -> None:
    async def do(api: Api) -> None:
        menu = {"kind": "options", "options": ["a", "b"], "safe": "c"}
        await api.put(body={"menu": menu, "target": 0.5})
        for _ in range(20):
            asked = await api.ask()
            if not asked["safe"]:
                break
            await api.tell({"decision": asked["decision"], "success": True})
        assert "cost" in (await api.tell({"decision": asked["decision"], "success": True}, status=422))["detail"]
        assert (await api.tell({"decision": asked["decision"], "success": True, "cost": 0.5}))["result"] == "counted"

    serve(do, store)


# --- hostile

DEEP = 100_000
HOSTILE: list[bytes] = [
    b"{", b"]", b"nul", b"\xff\xfe\x00", b'"\xff"', b"[" * DEEP, b"[" * DEEP + b"]" * DEEP, b'{"a":' * DEEP, b"NaN",
    b"-", b"1" * 5_000, b"{} {}", b'{"a": 1,}', b"\x00", b'"\\ud800"', b'{"\\ud800": 1}', b"3", b"null", b'"x"', b"true",
    b'{"group": "a\\u0000b"}', b'{"group": ""}', b'{"group": "' + b"x" * 201 + b'"}', b'{"group": 5}',
    b'{"count": 0}', b'{"count": -1}', b'{"count": 1.5}', b'{"count": true}', b'{"count": "3"}', b'{"count": 10001}',
    b'{"count": 1' + b"0" * 400 + b"}", b'{"count": 1e400}', b'{"audit": 1}', b'{"audit": null}', b'{"available": "small"}',
    b'{"available": [NaN]}', b'{"available": ["no such"]}', b'{"available": [{"a": ' + b"[" * 150 + b"]" * 150 + b"}]}",
    b'{"context": {"a": NaN}}', b'{"context": {"a": Infinity}}', b'{"context": {"a": 1e999}}',
    b'{"context": {"a": "\\u0000"}}', b'{"context": {"": 1}}', b'{"context": {"a": 9007199254740993}}', b'{"colour": 1}',
    b'{"decision": 1}', b'{"success": true}', b'{"decision": "1", "success": true}', b'{"decision": true, "success": true}',
    b'{"decision": 9007199254740993, "success": true}', b'{"decision": -1, "success": true}',
    b'{"decision": 0, "success": "yes"}', b'{"decision": 0, "success": NaN}', b'{"decision": 0, "success": 1.01}',
    b'{"decision": 0, "success": null}', b'{"decision": 0, "success": true, "cost": -1}',
    b'{"decision": 0, "success": true, "cost": 1e400}', b'{"decision": 0, "success": true, "cost": "1"}',
    b'[{"decision": 0, "success": true}, 5]', b"[[]]", b'{"outcomes": {}}', b'{"outcomes": [[]]}',
]  # fmt: skip


@pytest.mark.parametrize("path", ["ask", "tell", "put"])
def test_hostile_bodies_are_refused(path: str) -> None:
    async def do(api: Api) -> None:
        await api.put(body={**PLAN, "model": "auto"})
        await api.ask(body={"count": 3, "contexts": [{"a": 1}] * 3})
        before = await api.get()
        for body in HOSTILE:
            method, where = ("PUT", "/v1/selectors/new") if path == "put" else ("POST", f"/v1/selectors/router/{path}")
            said = await api.call(method, where, body, 422)
            assert len(said["detail"]) < 600, body
            assert all(set(fault) == {"where", "problem"} for fault in said["errors"])
        assert await api.get() == before
        assert (await api.call("GET", "/v1/selectors"))["next"] is None

    serve(do)


RUBBISH: list[tuple[str, bytes, str]] = [
    ("tell", b"[" + b"0," * 50_000 + b"0]", "[0] must be an object, got 0"),
    ("tell", b"[" + b"{}," * 50_000 + b"{}]", "[0].decision must be given (and 1 more: see errors)"),
    ("tell", b'{"outcomes":[' + b"0," * 50_000 + b"0]}", "outcomes[0] must be an object, got 0"),
    ("ask", b'{"count":1,"contexts":[' + b"0," * 50_000 + b"0]}", "contexts[0] must be an object, got 0"),
    ("ask", b'{"available":[' + b'"\\u0000",' * 10_000 + b"0]}", "available[0] must hold no NUL character"),
]
MANY = b"{" + b",".join(b'"%x":0' % place for place in range(50_000)) + b"}"


@pytest.mark.parametrize(("path", "body", "said"), RUBBISH)
def test_rubbish_ends_at_the_first_fault(path: str, body: bytes, said: str) -> None:
    async def do(api: Api) -> None:
        await api.put()
        assert (await api.call("POST", f"/v1/selectors/router/{path}", body, 422))["detail"] == said

    serve(do)


@pytest.mark.parametrize("path", ["ask", "tell"])
def test_very_many_faults_are_not_listed(path: str) -> None:
    """A list of them would take a hundred times the memory of the body."""

    async def do(api: Api) -> None:
        await api.put()
        tracemalloc.start()
        said = await api.call("POST", f"/v1/selectors/router/{path}", MANY, 422)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert "the body must have fewer faults, got 50,00" in said["detail"]
        assert peak < 40 * len(MANY)  # twice the body as Python has it, in what pydantic raises

    serve(do)


def test_large_bodies_are_read_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that nobody else waits for them."""
    where: list[bool] = []

    def noted(read: Callable[..., Any]) -> Callable[..., Any]:
        def reading(*given: Any) -> Any:
            where.append(threading.current_thread() is threading.main_thread())
            return read(*given)

        return reading

    for name in ("_asked", "_asked_with_key", "_outcomes"):
        monkeypatch.setattr(routes_write, name, noted(getattr(routes_write, name)))
    monkeypatch.setattr(Plan, "read", noted(Plan.read))

    async def do(api: Api) -> None:
        for pad, small in ((b"", True), (b" " * routes_write.LARGE, False)):
            where.clear()
            await api.put(body=json.dumps(PLAN).encode() + pad, status=201 if small else 200)
            asked = await api.ask(body=b"{}" + pad)
            await api.ask(body=b"{}" + pad, headers={"Idempotency-Key": str(small)})
            await api.tell(b'{"decision": %d, "success": true}' % asked["decision"] + pad)
            assert where == [small] * 4

    serve(do)


@pytest.mark.parametrize(
    "name",
    [
        "R", "-a", ".a", "_a", "a" * 65, "a b", "a%20b", "%00", "a%00", "%E9", "%C3%A9", "..", "%2e%2e", "a%0a", "a\\b", "~",
        "a;b", "a%252f", "..%5c..", "a'b", 'a"b', "%F0%9F%98%80",
    ],
)  # fmt: skip
def test_strange_names(name: str) -> None:
    async def do(api: Api) -> None:
        for method, path, body in (
            ("PUT", "", PLAN), ("GET", "", None), ("DELETE", "", None), ("POST", "/ask", {}),
            ("POST", "/tell", {"decision": 0, "success": True}), ("GET", "/certificate", None), ("GET", "/events", None),
            ("GET", "/decisions.csv", None),
        ):  # fmt: skip
            url = httpx.URL("http://localhost").copy_with(raw_path=f"/v1/selectors/{name}{path}".encode())
            answer = await api.http.request(method, url, json=body)
            assert answer.status_code in (404, 422), (method, path, answer.text)
            check_problem(answer)
        assert (await api.call("GET", "/v1/selectors"))["selectors"] == []

    serve(do)


@pytest.mark.parametrize(
    "path", ["/v1/selectors/a%2fb", "/v1/selectors/../x", "/v1//selectors", "/v1/selectors/", "/v2"]
)
def test_paths_that_lead_nowhere(path: str) -> None:
    async def do(api: Api) -> None:
        url = httpx.URL("http://localhost").copy_with(raw_path=path.encode())
        answer = await api.http.put(url, json=PLAN)
        assert answer.status_code == 404
        check_problem(answer)

    serve(do)


def test_names_that_are_good() -> None:
    async def do(api: Api) -> None:
        for name in ("a", "0", "a.b-c_d", "a" * 64, "v1", "ask", "selectors"):
            await api.put(name)
            await api.ask(name)

    serve(do)


def test_methods_that_are_not_there() -> None:
    async def do(api: Api) -> None:
        for method, path, allowed in (
            ("PATCH", "/v1/selectors/a", "DELETE, GET, PUT"),
            ("GET", "/v1/selectors/a/ask", "POST"),
            ("POST", "/v1/selectors", "GET"),
            ("DELETE", "/healthz", "GET, HEAD"),
        ):
            answer = await api.http.request(method, path)
            assert answer.status_code == 405
            assert answer.headers["allow"] == allowed
            check_problem(answer)

    serve(do)


def test_parameters_that_are_not_there() -> None:
    async def do(api: Api) -> None:
        await api.put()
        said = await api.get("/history?bin=5", status=422)
        assert said["detail"] == "the parameter 'bin' is not known here, only bins, since, width"
        await api.ask("router", status=422, params={"count": 3})
        await api.get("?x=1", status=422)

    serve(do)


def test_limits() -> None:
    async def do(api: Api) -> None:
        await api.put()
        await api.put("second")
        await api.put("third", status=429)
        assert "from 1 to 5" in (await api.ask(body={"count": 6}, status=422))["detail"]
        await api.tell([{"decision": 0, "success": True}] * 6, status=422)
        await api.put("fourth", {"menu": {"kind": "intervals", "step": 0.01}, "target": 0.5}, status=422)
        await api.ask(body={"group": "x" * 2000}, status=413)

    serve(do, max_selectors=2, max_list=5, max_arms=50, max_body=1024)


# --- failures


def test_a_store_that_is_down_is_503(monkeypatch: pytest.MonkeyPatch) -> None:
    async def do(api: Api) -> None:
        await api.put()

        async def fails(*_: Any, **__: Any) -> None:
            raise StoreDown("the store cannot be reached")

        monkeypatch.setattr(api.service, "ask", fails)
        monkeypatch.setattr(api.service.store, "ping", fails)
        await api.ask(status=503)
        await api.call("GET", "/readyz", status=503)
        await api.call("GET", "/healthz")

    serve(do)


def test_who_need_not_have_a_key_is_not_told_where_the_store_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def do(api: Api) -> None:
        async def fails(*_: Any, **__: Any) -> None:
            raise StoreDown("db.internal:5432 refused /srv/suffice")

        monkeypatch.setattr(api.service.store, "ping", fails)
        monkeypatch.setattr(api.service.store, "keys", fails)
        for path in ("/readyz", "/v1/selectors"):
            key = f"Bearer suffice_00000000_{'A' * 43}"
            said = await api.call("GET", path, status=503, headers={"authorization": key})
            assert said["detail"] == "the store cannot be reached"

    with caplog.at_level("WARNING", "suffice.service"):
        serve(do, keys="required")
    assert [record.error for record in caplog.records] == ["db.internal:5432 refused /srv/suffice"] * 2  # type: ignore[attr-defined]


def test_a_plan_in_the_store_that_cannot_be_read_is_said_to_be_one() -> None:
    async def do(api: Api) -> None:
        async def fails(*_: Any, **__: Any) -> None:
            raise StoredPlan("the plan of selector 'router' cannot be read")

        api.service.overview = fails  # type: ignore[method-assign,assignment]
        assert (await api.get(status=500))["detail"] == "the plan of selector 'router' cannot be read"

    serve(do)


def test_a_fault_of_ours_is_a_problem_and_says_nothing_of_itself() -> None:
    async def do(api: Api) -> None:
        async def fails(*_: Any, **__: Any) -> None:
            raise RuntimeError("the password is swordfish")

        async def broken(*_: Any, **__: Any) -> None:
            raise StateError("a state that cannot be read")

        for failure in (fails, broken):
            api.service.ask = failure  # type: ignore[method-assign,assignment]
            transport = httpx.ASGITransport(api.app, raise_app_exceptions=False, client=("127.0.0.1", 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
                answer = await http.post("/v1/selectors/router/ask")
            assert answer.status_code == 500
            check_problem(answer)
            assert "swordfish" not in answer.text
            assert "state" not in answer.text

    serve(do)


def test_errors_and_their_statuses() -> None:
    kinds = (InvalidArgument, UnknownDecision, AlreadyTold, NoSuchSelector, Overloaded, StateError)
    assert [status_of(kind("x")) for kind in kinds] == [422, 404, 409, 404, 503, 500]


def test_it_is_ready_once_it_has_started() -> None:
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


def test_a_keeper_that_somebody_else_started_is_left_alone() -> None:
    async def do(api: Api) -> None:
        async with api.app.router.lifespan_context(api.app):
            pass
        assert api.service.ready
        await api.service.put("router", Plan.parse(json.dumps(PLAN)))
        assert (await api.service.ask("router", AskRequest()))[0].decision == 0

    serve(do)


def test_many_at_once(store: str) -> None:
    async def do(api: Api) -> None:
        await api.put()
        asked = await asyncio.gather(*(api.ask(body={"count": 5}) for _ in range(30)))
        numbers = sorted(one["decision"] for each in asked for one in each["decisions"])
        assert numbers == list(range(150))
        await asyncio.gather(*(api.tell({"decision": number, "success": number % 10 > 0}) for number in numbers))
        found = await api.get()
        assert (found["outcomes"], found["successes"], found["pending"]) == (150, 135, 0)

    serve(do, store)
