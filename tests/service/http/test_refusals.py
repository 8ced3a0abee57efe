"""Invalid requests and failures: each is answered with one clear sentence."""

import tracemalloc
from typing import Any

import httpx
import pytest

from suffice.errors import StateError
from suffice.service.errors import StoreDown, StoredPlan
from tests.support.calling import PLAN, Api, check_problem, serve

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
    b'{"decision": "d-1"}', b'{"success": true}', b'{"decision": 1, "success": true}', b'{"decision": null, "success": true}',
    b'{"decision": "d-0", "success": "yes"}', b'{"decision": "d-0", "success": NaN}', b'{"decision": "d-0", "success": 1.01}',
    b'{"decision": "d-0", "success": null}', b'{"decision": "d-0", "success": true, "cost": -1}',
    b'{"decision": "d-0", "success": true, "cost": 1e400}', b'{"decision": "d-0", "success": true, "cost": "1"}',
    b'[{"decision": "d-0", "success": true}, 5]', b"[[]]", b'{"outcomes": {}}', b'{"outcomes": [[]]}',
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
def test_validation_stops_at_the_first_fault_of_a_list(path: str, body: bytes, said: str) -> None:
    async def do(api: Api) -> None:
        await api.put()
        assert (await api.call("POST", f"/v1/selectors/router/{path}", body, 422))["detail"] == said

    serve(do)


@pytest.mark.parametrize("path", ["ask", "tell"])
def test_many_faults_are_not_listed(path: str) -> None:
    """A list of them would take a hundred times the memory of the body."""

    async def do(api: Api) -> None:
        await api.put()
        tracemalloc.start()
        said = await api.call("POST", f"/v1/selectors/router/{path}", MANY, 422)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert "the body must have fewer faults, got 50,00" in said["detail"]
        assert peak < 40 * len(MANY)  # pydantic's error holds the body twice, as Python objects

    serve(do)


@pytest.mark.parametrize(
    "name",
    [
        "R", "-a", ".a", "_a", "a" * 65, "a b", "a%20b", "%00", "a%00", "%E9", "%C3%A9", "..", "%2e%2e", "a%0a", "a\\b", "~",
        "a;b", "a%252f", "..%5c..", "a'b", 'a"b', "%F0%9F%98%80",
    ],
)  # fmt: skip
def test_invalid_names_are_refused(name: str) -> None:
    async def do(api: Api) -> None:
        for method, path, body in (
            ("PUT", "", PLAN), ("GET", "", None), ("DELETE", "", None), ("POST", "/ask", {}),
            ("POST", "/tell", {"decision": "d-0", "success": True}), ("GET", "/certificate", None), ("GET", "/events", None),
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
def test_unknown_paths(path: str) -> None:
    async def do(api: Api) -> None:
        url = httpx.URL("http://localhost").copy_with(raw_path=path.encode())
        answer = await api.http.put(url, json=PLAN)
        assert answer.status_code == 404
        check_problem(answer)

    serve(do)


def test_valid_names() -> None:
    async def do(api: Api) -> None:
        for name in ("a", "0", "a.b-c_d", "a" * 64, "v1", "ask", "selectors"):
            await api.put(name)
            await api.ask(name)

    serve(do)


def test_unknown_parameters() -> None:
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
        await api.tell([{"decision": "d-0", "success": True}] * 6, status=422)
        await api.put("fourth", {"menu": {"kind": "intervals", "step": 0.01}, "target": 0.5}, status=422)
        await api.ask(body={"group": "x" * 2000}, status=413)

    serve(do, max_selectors=2, max_list=5, max_arms=50, max_body=1024)


def test_responses_without_a_key_do_not_name_the_store(
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


def test_an_unreadable_plan_in_the_store_is_named() -> None:
    async def do(api: Api) -> None:
        async def fails(*_: Any, **__: Any) -> None:
            raise StoredPlan("the plan of selector 'router' cannot be read")

        api.service.overview = fails  # type: ignore[method-assign,assignment]
        assert (await api.get(status=500))["detail"] == "the plan of selector 'router' cannot be read"

    serve(do)


def test_an_internal_error_reveals_nothing() -> None:
    async def do(api: Api) -> None:
        async def fails(*_: Any, **__: Any) -> None:
            raise StateError("a state that cannot be read")

        api.service.ask = fails  # type: ignore[method-assign,assignment]
        assert "state" not in (await api.ask(status=500))["detail"]

    serve(do)
