"""Errors as clients see them: problem details (RFC 9457), one clear sentence each."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Final

import pydantic_core
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

from suffice.errors import SufficeError
from suffice.service.errors import ServiceError, status_of
from suffice.service.http.logs import events, request_id
from suffice.service.plans.validation_errors import read_faults, sentence

MEDIA: Final = "application/problem+json"
TITLES: Final = {
    413: "Content Too Large",
    422: "Unprocessable Content",
}  # the words of RFC 9110, in any version of Python


def problem(
    status: int,
    detail: str,
    *,
    headers: dict[str, str] | None = None,
    errors: Sequence[Mapping[str, str]] | None = None,
) -> Response:
    """A response that says what went wrong, and under which request id the log says more."""
    body: dict[str, object] = {
        "type": "about:blank", "title": TITLES.get(status) or HTTPStatus(status).phrase, "status": status,
        "detail": detail, "request_id": request_id.get() or None,
    }  # fmt: skip
    if errors is not None:
        body["errors"] = errors
    return Response(pydantic_core.to_json(body), status, headers, MEDIA)


def problem_for(status: int, text: str) -> Response:
    """The message of an error of the library or the service, as a problem."""
    line = " ".join(text.split())
    if status == 422:
        return problem(422, line, errors=[_fault(line)])
    return problem(status, line, headers={"retry-after": "1"} if status == 503 else None)


def install(app: FastAPI) -> None:
    """Answer every exception with a problem."""

    async def known(_: Request, error: Exception) -> Response:
        status = status_of(error) if isinstance(error, SufficeError) else 500
        if status == 500 and not isinstance(error, ServiceError):
            raise error  # its message is not meant for clients: it goes to the log
        if status == 500:
            events.error("failed", extra={"error": str(error)})
        return problem_for(status, str(error))

    async def invalid(_: Request, error: Exception) -> Response:
        if isinstance(error, RequestValidationError):
            return refused(error.errors())
        return refused(error if isinstance(error, ValidationError) else [])

    async def routing(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        if status == 404:
            return problem(404, f"there is nothing at {_shown_path(request)}; see /docs")
        if status == 405:
            allowed = sorted(_methods(app, request))
            line = f"{request.method} is not possible here, only {' and '.join(allowed)}"
            return problem(405, line, headers={"allow": ", ".join(allowed)})
        return problem(status, HTTPStatus(status).phrase.lower())

    async def failed(_: Request, __: Exception) -> Response:
        return problem(500, "the server failed to answer; its log says more under this request_id")

    app.add_exception_handler(SufficeError, known)
    app.add_exception_handler(ValidationError, invalid)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, routing)
    app.add_exception_handler(Exception, failed)


def refused(errors: ValidationError | Sequence[ErrorDetails]) -> Response:
    """422, with one sentence and every place that breaks a rule."""
    faults = read_faults(errors, values=True)
    return problem(422, sentence(faults), errors=faults)


def _fault(line: str) -> dict[str, str]:
    """A message of the library as a fault: such messages begin with the argument."""
    where, _, rest = line.partition(" ")
    return {"where": where, "problem": rest} if rest.startswith("must ") else {"where": "the request", "problem": line}


def _shown_path(request: Request) -> str:
    path = request.url.path
    return path if len(path) <= 80 else path[:77] + "..."


def _methods(app: FastAPI, request: Request) -> set[str]:
    """The methods of all routes at a path."""
    return {
        method
        for route in app.routes
        if route.matches(request.scope)[0] is not Match.NONE
        for method in getattr(route, "methods", None) or ()
    }
