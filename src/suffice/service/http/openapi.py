"""The description of the interface: what the routes say of themselves, and the models that check and describe bodies."""

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema

from suffice.service.http import replies, replies_looks
from suffice.service.http.bodies import AskBody, OutcomeBody, OutcomesBody
from suffice.service.http.edge import OPEN
from suffice.service.plans import Plan

BODIES: Final[tuple[type[BaseModel], ...]] = (Plan, AskBody, OutcomeBody, OutcomesBody)
REPLIES: Final[tuple[type[BaseModel], ...]] = (
    replies.DecisionReply, replies.DecisionsReply, replies.ToldReply, replies.ResultsReply, replies.Known,
    replies.KnownPage, replies_looks.CertificateReply, replies_looks.ArmsReply, replies_looks.ContextReportReply,
    replies_looks.HistoryReply, replies_looks.RowsReply, replies.Health, replies.Problem,
)  # fmt: skip


class InOrder(GenerateJsonSchema):
    """Keeps what is written in the order in which it is written: examples are for people."""

    def sort(self, value: JsonSchemaValue, parent_key: str | None = None) -> JsonSchemaValue:
        return value


def openapi(app: FastAPI, *, locked: bool) -> dict[str, Any]:
    """The description, made once. `locked`: requests need keys."""
    if app.openapi_schema is None:
        found = get_openapi(
            title=app.title,
            version=app.version,
            summary=app.summary,
            description=app.description,
            routes=app.routes,
            tags=app.openapi_tags,
            servers=[{"url": app.root_path}] if app.root_path else None,
        )
        found["components"]["schemas"] |= schemas()
        if locked:
            _lock(found)
        app.openapi_schema = found
    return app.openapi_schema


def schemas() -> dict[str, Any]:
    """All models by name: bodies as they are checked, replies as they are answered."""
    found: dict[str, Any] = {}
    for models in (BODIES, REPLIES):
        _, written = models_json_schema(
            [(model, "validation") for model in models],
            ref_template="#/components/schemas/{model}",
            schema_generator=InOrder,
        )
        found |= written["$defs"]
    return found


def _lock(found: dict[str, Any]) -> None:
    found["components"]["securitySchemes"] = {
        "key": {"type": "http", "scheme": "bearer", "description": "A key from `suffice keys create`."}
    }
    for path, methods in found["paths"].items():
        for one in methods.values() if path not in OPEN else ():
            one["security"] = [{"key": []}]
