"""The whole interface against its own description: whatever is sent, the answer is one that the description announces."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, settings
from schemathesis.config import SchemathesisConfig

from suffice.service.http.app import make_app
from suffice.service.http.keys import MANAGE, READ, USE, new_key
from suffice.service.http.raw_route import NAME
from suffice.service.http.settings import Settings
from suffice.service.plans import EXAMPLE, Plan
from suffice.service.selectors import SelectorService
from suffice.service.stores import open_store

KEY = new_key("test", (USE, MANAGE, READ), time.time(), None, ())
NAMES = ("router", "top-k", "looking")


def _app() -> FastAPI:
    """An app with keys, and selectors to talk about."""
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
    """Of names that could be, most are of selectors that there are."""
    name = (path_parameters or {}).get("name")
    if path_parameters and isinstance(name, str) and NAME.fullmatch(name) and len(name) % 4:
        path_parameters["name"] = NAMES[len(name) % 4 - 1]
    return path_parameters


@schema.parametrize()
@settings(deadline=None, suppress_health_check=list(HealthCheck))
def test_every_answer_is_announced(case: Any) -> None:
    case.call_and_validate()
