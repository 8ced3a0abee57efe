"""The OpenAPI description, the page that shows it, and the routes: every response is one that the description announces."""

import json
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, settings
from pydantic import BaseModel
from schemathesis.config import SchemathesisConfig

from suffice.service.http.app import make_app
from suffice.service.http.keys import MANAGE, READ, USE, new_key
from suffice.service.http.openapi import BODIES, REPLIES, schemas
from suffice.service.http.raw_route import NAME
from suffice.service.http.settings import Settings
from suffice.service.plans import EXAMPLE, Plan
from suffice.service.selectors import SelectorService
from suffice.service.stores import open_store
from tests.support.calling import PLAN, Api, serve

KEY = new_key("test", (USE, MANAGE, READ), time.time(), None, ())
NAMES = ("router", "top-k", "looking")


def _app() -> FastAPI:
    """An app with keys and some selectors."""
    service = SelectorService(open_store("memory:"))
    app = make_app(service, Settings(keys="required", access_log=False))
    inner = app.router.lifespan_context

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[Any]:
        async with inner(app) as state:
            if not await service.store.keys():  # it may be started more than once
                await service.store.add_key(KEY.key)
            await service.put("router", Plan.model_validate(EXAMPLE))
            menu = {"kind": "top_k", "ks": [5, 10], "classes": 20}
            await service.put("top-k", Plan.model_validate({"menu": menu, "target": 0.8, "expire_after": 0.1}))
            await service.put("looking", Plan.model_validate({**EXAMPLE, "model": "auto"}))
            yield state

    app.router.lifespan_context = life
    return app


CONFIG = SchemathesisConfig.from_dict(
    {
        "seed": 7,
        "auth": {"openapi": {"key": {"bearer": KEY.text}}},
        "max-stream-events": 1,
        "generation": {"deterministic": True, "max-examples": 25, "no-shrink": True, "database": "none"},
        # A plan may be of the right shape and still ask for what cannot be promised.
        "checks": {"positive_data_acceptance": {"enabled": False}},
    }
)
schema = schemathesis.openapi.from_asgi("/openapi.json", _app(), config=CONFIG)


@schema.hook
def map_path_parameters(context: Any, path_parameters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Replace most valid names by those of selectors that exist."""
    name = (path_parameters or {}).get("name")
    if path_parameters and isinstance(name, str) and NAME.fullmatch(name) and len(name) % 4:
        path_parameters["name"] = NAMES[len(name) % 4 - 1]
    return path_parameters


@schema.parametrize()
@settings(deadline=None, suppress_health_check=list(HealthCheck))
def test_every_answer_is_announced(case: Any) -> None:
    case.call_and_validate()


def test_bodies_are_described_by_the_models_that_check_them() -> None:
    found = make_app(SelectorService(open_store("memory:")), Settings()).openapi()
    described = found["components"]["schemas"]
    for model in (*BODIES, *REPLIES):
        assert described[model.__name__] == schemas()[model.__name__]
    assert all(described[model.__name__]["examples"] for model in BODIES)
    named = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(found)))
    assert named == set(described)
    paths = {path: found["paths"][f"/v1/selectors/{{name}}{path}"] for path in ("", "/ask", "/tell")}
    body = {path: one["put" if not path else "post"]["requestBody"] for path, one in paths.items()}
    assert body[""]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Plan"}
    assert body["/ask"]["required"] is False
    assert body["/ask"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/AskBody"}
    assert len(body["/tell"]["content"]["application/json"]["schema"]["anyOf"]) == 3


@pytest.mark.parametrize("model", BODIES, ids=lambda model: model.__name__)
def test_examples_are_valid(model: type[BaseModel]) -> None:
    extra: Any = model.model_config["json_schema_extra"]
    for example in extra["examples"]:
        model.model_validate_json(json.dumps(example))


def test_examples_of_plans_work() -> None:
    async def do(api: Api) -> None:
        found = schemas()
        forms = [example for name in found for example in found[name].get("examples", ()) if "kind" in example]
        assert {menu["kind"] for menu in forms} == {
            "options", "top_k", "thresholds", "grid", "intervals", "subsets", "recipe",
        }  # fmt: skip
        plans = [*found["Plan"]["examples"], *({"menu": menu, "target": 0.9} for menu in forms)]
        for number, plan in enumerate(plans):
            await api.put(f"example-{number}", plan)
            await api.ask(f"example-{number}")

    serve(do)


def test_the_docs_page_runs_one_script_and_asks_no_other_host() -> None:
    async def do(api: Api) -> None:
        answer = await api.http.get("/suffice/docs")
        linked = re.findall(r'(?:href|src)="([^"]*)"', answer.text)
        assert sorted(linked) == ["/suffice/docs/swagger-ui-bundle.js", "/suffice/docs/swagger-ui.css", "data:,"]
        for path, media in zip(sorted(linked), ("text/javascript", "text/css"), strict=False):
            assert (await api.http.get(path)).headers["content-type"].startswith(media)
        await api.call("GET", "/suffice/docs/other.js", status=404)
        found = await api.call("GET", "/suffice/openapi.json")
        assert found["servers"] == [{"url": "/suffice"}]
        assert (await api.http.put("/suffice/v1/selectors/router", json=PLAN)).status_code == 201

    serve(do, root_path="/suffice")
