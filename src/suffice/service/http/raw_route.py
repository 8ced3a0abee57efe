"""Routes whose handlers take the request as it is: a tenth of the time, with the same documentation as the others."""

import re
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final

from fastapi import Path
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from suffice.errors import InvalidArgument, quoted
from suffice.service.http.problems import MEDIA
from suffice.service.http.schemas_write import Problem

PATTERN: Final = "[a-z0-9][a-z0-9._-]{0,63}"
NAME: Final = re.compile(PATTERN)
CALLED: Final = "The name of the selector: lower-case letters, digits, dots, dashes and underscores."
Named = Annotated[str, Path(pattern=f"^{PATTERN}$", description=CALLED, examples=["router"])]

NAMED: Final[dict[str, Any]] = {
    "name": "name", "in": "path", "required": True, "description": CALLED,
    "schema": {"type": "string", "pattern": f"^{PATTERN}$", "examples": ["router"]},
}  # fmt: skip

WHY: Final = {
    400: "The request is not HTTP as it should be.",
    401: "No key, or one that opens nothing.",
    403: "The key is good, and not for this; or the request came on a way that this server does not take.",
    404: "There is no such selector.",
    408: "The body came too slowly.",
    409: "It is there, and is another one.",
    410: "It was archived; or, of a decision, settled too long ago for a store in memory to remember.",
    413: "The body is too large.",
    415: "The body is not JSON, or says that it is not.",
    421: "This server does not answer for this host.",
    422: "Something in the request breaks its rule.",
    429: "A limit of this server is reached.",
    503: "Too much is waiting, the store cannot be reached, or the server is not ready. Try again soon.",
}

LET_IN: Final = (401, 403, 421, 503)  # whoever asks for anything
WITH_BODY: Final = (400, 408, 413, 415)


class RawRoute(APIRoute):
    """A route whose handler takes the request and gives the answer, and nobody stands between."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **more: Any) -> None:
        super().__init__(path, endpoint, **more)
        handler: Callable[[Request], Awaitable[Response]] = endpoint

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            response = await handler(Request(scope, receive))
            await response(scope, receive, send)

        self.app = app


def reject_unknown_query(request: Request) -> None:
    """Refuse parameters that the route does not have: a misspelt one would be ignored without a word."""
    if not request.scope["query_string"]:
        return
    known = {one.alias for one in request.scope["route"].dependant.query_params}
    strange = next((name for name in request.query_params if name not in known), None)
    if strange is not None:
        raise InvalidArgument(
            f"the parameter {quoted(strange)} is not known here, only {', '.join(sorted(known)) or 'none'}"
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


def outcomes(*statuses: int, said: str = "", model: type[BaseModel] | None = None, **more: Any) -> dict[int | str, Any]:
    """What a route can answer: 200 with this model, and problems with these statuses."""
    found: dict[int | str, Any] = {}
    if said:
        found[200] = {"description": said, **({"model": model} if model else {}), **more}
    for status in sorted({*statuses, *LET_IN}):
        schema = {"$ref": f"#/components/schemas/{Problem.__name__}"}
        found[status] = {"description": WHY[status], "content": {MEDIA: {"schema": schema}}}
    return found
