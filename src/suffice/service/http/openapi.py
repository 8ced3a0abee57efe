"""The description of the interface: what the routes say of themselves, and the models that check and describe bodies."""

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema

from suffice.service.http import schemas_read, schemas_write
from suffice.service.http.gateway import OPEN
from suffice.service.http.schemas_request import AskBody, OutcomeBody, OutcomesBody
from suffice.service.plans import Plan

BODIES: Final[tuple[type[BaseModel], ...]] = (Plan, AskBody, OutcomeBody, OutcomesBody)
REPLIES: Final[tuple[type[BaseModel], ...]] = (
    schemas_write.DecisionReply,
    schemas_write.DecisionsReply,
    schemas_write.ToldReply,
    schemas_write.ResultsReply,
    schemas_write.SelectorReply,
    schemas_write.SelectorPage,
    schemas_read.CertificateReply,
    schemas_read.OptionsReply,
    schemas_read.ContextReportReply,
    schemas_read.HistoryReply,
    schemas_read.RowsReply,
    schemas_write.Health,
    schemas_write.Problem,
)


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
