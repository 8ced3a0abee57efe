"""What all routes share: the name in the path, the announced responses, and routes whose handlers take the request itself."""

import re
from collections.abc import Awaitable, Callable
from typing import Annotated, Final

from fastapi import Path
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from suffice.errors import InvalidArgument, quoted
from suffice.service.http.problems import MEDIA
from suffice.service.http.schemas_write import JsonObject, Problem

PATTERN: Final = "[a-z0-9][a-z0-9._-]{0,63}"
NAME: Final = re.compile(PATTERN)
ABOUT_NAME: Final = "The name of the selector: lower-case letters, digits, dots, dashes and underscores."
Named = Annotated[str, Path(pattern=f"^{PATTERN}$", description=ABOUT_NAME, examples=["router"])]

NAME_PARAMETER: Final[JsonObject] = {
    "name": "name", "in": "path", "required": True, "description": ABOUT_NAME,
    "schema": {"type": "string", "pattern": f"^{PATTERN}$", "examples": ["router"]},
}  # fmt: skip

WHY: Final = {
    400: "The request is not well-formed HTTP.",
    401: "The key is missing, unknown, revoked or expired.",
    403: "The key lacks the scope; or an open server was reached from another machine, through a proxy or from a web page.",
    404: "There is no such selector or decision.",
    408: "The body arrived too slowly.",
    409: "The name, the decision or the idempotency key was used before for something else.",
    410: "The selector was archived; or the decision was settled too long ago for a store in memory.",
    413: "The body is too large.",
    415: "The body is not JSON, or is not declared as JSON.",
    421: "This server does not answer for this host.",
    422: "Something in the request breaks a rule.",
    424: "The promise needs the safe option now, and `available` leaves it out; no decision was made.",
    429: "A limit of this server is reached.",
    503: "Too much is waiting, the store cannot be reached, or the server is not ready. Try again soon.",
}

ANY_ROUTE: Final = (401, 403, 421, 503)  # what every request may be answered
WITH_BODY: Final = (400, 408, 413, 415)


class RawRoute(APIRoute):
    """A route whose handler takes the request and returns the response, without FastAPI's own steps: ten times faster."""

    def __init__(
        self, path: str, handler: Callable[[Request], Awaitable[Response]], *, method: str, tag: str, summary: str,
        description: str, responses: dict[int | str, JsonObject], openapi_extra: JsonObject,
    ) -> None:  # fmt: skip
        super().__init__(
            path, handler, methods=[method], tags=[tag], summary=summary, description=description, responses=responses,
            openapi_extra=openapi_extra,
        )  # fmt: skip

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            response = await handler(Request(scope, receive))
            await response(scope, receive, send)

        self.app = app


def reject_unknown_query(request: Request) -> None:
    """Refuse parameters that the route does not have: a misspelt one would be ignored without a word."""
    if not request.scope["query_string"]:
        return
    known = {parameter.alias for parameter in request.scope["route"].dependant.query_params}
    unknown = next((name for name in request.query_params if name not in known), None)
    if unknown is not None:
        raise InvalidArgument(
            f"the parameter {quoted(unknown)} is not known here, only {', '.join(sorted(known)) or 'none'}"
        )


def name_of(request: Request) -> str:
    """The selector's name in the path."""
    if request.scope["query_string"]:
        reject_unknown_query(request)
    name: str = request.path_params["name"]
    if NAME.fullmatch(name) is None:
        raise InvalidArgument(
            f"name must be 1 to 64 of a-z, 0-9, dot, dash and underscore, and begin with a letter or digit, got {quoted(name)}"
        )
    return name


def responses(
    description: str, model: type[BaseModel] | None = None, *statuses: int, content: JsonObject | None = None
) -> dict[int | str, JsonObject]:
    """What a route announces: 200 with this model or content, and problems with these statuses and those of every route."""
    success: JsonObject = {"description": description}
    if model is not None:
        success["model"] = model
    if content is not None:
        success["content"] = content
    schema = {"$ref": f"#/components/schemas/{Problem.__name__}"}
    refused: dict[int | str, JsonObject] = {
        status: {"description": WHY[status], "content": {MEDIA: {"schema": schema}}}
        for status in sorted({*statuses, *ANY_ROUTE})
    }
    return {200: success, **refused}
