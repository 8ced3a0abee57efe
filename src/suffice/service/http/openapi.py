"""The OpenAPI description: what the routes declare, and the models that check bodies and describe replies."""

from typing import Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema

from suffice.service.http import schemas_read, schemas_write
from suffice.service.http.gateway import OPEN
from suffice.service.http.schemas_request import AskBody, CancelBody, OutcomeBody, OutcomesBody, SwitchBody
from suffice.service.http.schemas_write import JsonObject
from suffice.service.plans import Plan

BODIES: Final[tuple[type[BaseModel], ...]] = (Plan, AskBody, OutcomeBody, OutcomesBody, CancelBody, SwitchBody)
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
    """Keeps fields and examples in the order in which they are declared."""

    def sort(self, value: JsonSchemaValue, parent_key: str | None = None) -> JsonSchemaValue:
        return value


def openapi(app: FastAPI, *, locked: bool) -> JsonObject:
    """The description, made once. `locked`: requests need keys."""
    if app.openapi_schema is None:
        description = get_openapi(
            title=app.title,
            version=app.version,
            summary=app.summary,
            description=app.description,
            routes=app.routes,
            tags=app.openapi_tags,
            servers=[{"url": app.root_path}] if app.root_path else None,
        )
        description["components"]["schemas"] |= schemas()
        if locked:
            description["components"]["securitySchemes"] = {
                "key": {"type": "http", "scheme": "bearer", "description": "A key from `suffice keys create`."}
            }
            for path, methods in description["paths"].items():
                for operation in methods.values() if path not in OPEN else ():
                    operation["security"] = [{"key": []}]
        app.openapi_schema = description
    return app.openapi_schema


def schemas() -> dict[str, JsonSchemaValue]:
    """The JSON schemas of all models by name."""
    named: dict[str, JsonSchemaValue] = {}
    for models in (BODIES, REPLIES):
        _, written = models_json_schema(
            [(model, "validation") for model in models],
            ref_template="#/components/schemas/{model}",
            schema_generator=InOrder,
        )
        named |= written["$defs"]
    return named
