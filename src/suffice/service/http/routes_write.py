"""The routes that change something: make, archive, ask and tell; and those that list selectors."""

import asyncio
import re
from collections.abc import Callable
from typing import Annotated, Any, Final, TypeVar, cast

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, ValidationError

from suffice.errors import InvalidArgument, quoted
from suffice.service.http import serializers
from suffice.service.http.keys import MANAGE
from suffice.service.http.problems import problem_for
from suffice.service.http.raw_route import (
    NAMED,
    PATTERN,
    WITH_BODY,
    Named,
    RawRoute,
    name_of,
    outcomes,
    reject_unknown_query,
)
from suffice.service.http.schemas_request import TELL_MANY, AskBody, OutcomeBody, OutcomesBody
from suffice.service.http.schemas_write import (
    DecisionReply,
    DecisionsReply,
    ResultsReply,
    SelectorPage,
    SelectorReply,
    ToldReply,
)
from suffice.service.plans import Plan
from suffice.service.plans.validation_errors import MOST_ERRORS
from suffice.service.records import AskRequest, Key
from suffice.service.selectors import SelectorService

Read = TypeVar("Read")

LARGE: Final = 1 << 16  # bytes of a body that is read in a thread, so that others need not wait for it
ONE: Final = AskRequest()
KEY: Final = re.compile("[!-~]{1,200}")
KEYED: Final[dict[str, Any]] = {
    "name": "Idempotency-Key", "in": "header", "required": False,
    "description": "A text of your own, 1 to 200 visible ASCII characters. The same ask with the same key within 24 hours "
    "gets the same decisions; so an ask that was not answered can be sent again.",
    "schema": {"type": "string", "pattern": f"^{KEY.pattern}$", "examples": ["7f3a9c"]},
}  # fmt: skip


def service_of(request: Request) -> SelectorService:
    """Who keeps the selectors of this app."""
    return cast(SelectorService, request.app.state.service)


async def body_of(request: Request, read: Callable[[bytes], Read]) -> Read:
    """What is made of the body."""
    body = await request.body()
    return await asyncio.to_thread(read, body) if len(body) > LARGE else read(body)


# --- ask and tell: the two that are called all the time


async def ask(request: Request) -> Response:
    name, key = name_of(request), request.headers.get("idempotency-key")
    if key is not None and KEY.fullmatch(key) is None:
        raise InvalidArgument(f"Idempotency-Key must be 1 to 200 visible ASCII characters, got {quoted(key)}")
    wanted, digest = await body_of(request, _asked if key is None else _asked_with_key)
    found = await service_of(request).ask(name, wanted, key, digest)
    if wanted.count is None:
        return serializers.json_response(serializers.issued(found[0]))
    return serializers.json_response({"decisions": [serializers.issued(one) for one in found]})


def _asked(body: bytes) -> tuple[AskRequest, str]:
    return (AskBody.model_validate_json(body).wanted() if body else ONE), ""


def _asked_with_key(body: bytes) -> tuple[AskRequest, str]:
    """The same, and what tells it from others."""
    asked = AskBody.model_validate_json(body or b"{}")
    return asked.wanted(), asked.digest()


async def tell(request: Request) -> Response:
    name = name_of(request)
    told = await body_of(request, _outcomes)
    if isinstance(told, OutcomeBody):
        result = (await service_of(request).tell(name, [told.outcome()]))[0]
        if result.status != 200:
            return problem_for(result.status, result.detail or "it was not counted")
        return serializers.json_response({"decision": result.decision, "result": result.result})
    results = await service_of(request).tell(name, [one.outcome() for one in told]) if told else []
    return serializers.json_response({"results": [serializers.tell_result(one) for one in results]})


def _outcomes(body: bytes) -> OutcomeBody | list[OutcomeBody]:
    """One outcome, or several: a list, or an object that holds one."""
    if body.lstrip()[:1] == b"[":
        return TELL_MANY.validate_json(body)
    try:
        return OutcomeBody.model_validate_json(body)
    except ValidationError as error:
        if error.error_count() > MOST_ERRORS or not any(
            item["loc"] == ("outcomes",) for item in error.errors(include_url=False, include_input=False)
        ):
            raise
    return OutcomesBody.model_validate_json(body).outcomes


# --- selectors


async def put(request: Request) -> Response:
    name, limits = name_of(request), service_of(request).limits
    plan = await body_of(request, lambda body: Plan.read(body, limits))
    key: Key | None = getattr(request.state, "key", None)  # there is none where none is required
    confirm = key is not None and MANAGE not in key.scopes
    standing, made = await service_of(request).put(name, plan, confirm=confirm)
    return serializers.json_response(serializers.known(standing), 201 if made else 200)


selectors = APIRouter(prefix="/v1/selectors", tags=["selectors"], dependencies=[Depends(reject_unknown_query)])


@selectors.get(
    "",
    summary="List selectors",
    response_model=None,
    responses=outcomes(422, said="Selectors by name, a page at a time.", model=SelectorPage),
)
async def list_selectors(
    request: Request,
    after: Annotated[
        str, Query(max_length=64, pattern=f"^({PATTERN})?$", description="Only those that come after this name.")
    ] = "",
    limit: Annotated[int, Query(ge=1, le=500, description="How many at most.")] = 100,
    archived: Annotated[bool, Query(description="Those that were archived, too.")] = False,
    contains: Annotated[
        str, Query(max_length=64, description="Only those whose names contain this text, in capitals or not.")
    ] = "",
) -> Response:
    """Selectors and where they stand, by name, a page at a time."""
    found, more = await service_of(request).list_selectors(after, limit, archived, contains)
    return serializers.json_response({"selectors": [serializers.listed(one) for one in found], "next": more})


@selectors.get(
    "/{name}",
    summary="Look at a selector",
    response_model=None,
    responses=outcomes(404, 422, said="The selector.", model=SelectorReply),
)
async def get(request: Request, name: Named) -> Response:
    """A selector and where it stands."""
    return serializers.json_response(serializers.known(await service_of(request).overview(name)))


@selectors.delete(
    "/{name}",
    summary="Archive a selector",
    response_model=None,
    responses=outcomes(404, 422, said="It is archived.", model=SelectorReply),
)
async def delete(request: Request, name: Named) -> Response:
    """Archive a selector: nothing more can be asked of it, and outcomes can still be told, so that none is lost.

    `PUT` with the same plan brings it back. Nothing is deleted.
    """
    return serializers.json_response(serializers.known(await service_of(request).archive(name)))


def _body(*models: type[BaseModel], required: bool = True, also: tuple[Any, ...] = ()) -> dict[str, Any]:
    """How the documentation describes a body: by the models that check it."""
    schemas = [{"$ref": f"#/components/schemas/{model.__name__}"} for model in models] + list(also)
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    return {"required": required, "content": {"application/json": {"schema": schema}}}


def _either(*models: type[BaseModel]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": _body(*models)["content"]["application/json"]["schema"]}}}


SOME: Final = {"type": "array", "items": {"$ref": f"#/components/schemas/{OutcomeBody.__name__}"}}

# First of all, because routes are tried in order.
BARE: Final = (
    RawRoute(
        "/v1/selectors/{name}/ask",
        ask,
        methods=["POST"],
        tags=["ask and tell"],
        summary="Ask what to do",
        description="What to do now: one decision, or `count` of them. It is on disk when it is answered. Play the option, "
        "then tell how it went.",
        responses=outcomes(
            404, 409, 410, 422, 429, *WITH_BODY,
            said="The decision; with `count`, a list of them.", **_either(DecisionReply, DecisionsReply),
        ),
        openapi_extra={"parameters": [NAMED, KEYED], "requestBody": _body(AskBody, required=False)},
    ),
    RawRoute(
        "/v1/selectors/{name}/tell",
        tell,
        methods=["POST"],
        tags=["ask and tell"],
        summary="Tell how it went",
        description="How a decision went, or many of them. Each counts exactly once: the same again is 200 and changes "
        "nothing, another outcome is 409, a decision that was never asked 404. Of many, each has its own result; only a body "
        "that is malformed is refused as a whole. A late outcome amends a decision that has expired.",
        responses=outcomes(
            404, 409, 410, 422, *WITH_BODY, said="What became of it; of several, of each.", **_either(ToldReply, ResultsReply)
        ),
        openapi_extra={"parameters": [NAMED], "requestBody": _body(OutcomeBody, OutcomesBody, also=(SOME,))},
    ),
    RawRoute(
        "/v1/selectors/{name}",
        put,
        methods=["PUT"],
        tags=["selectors"],
        summary="Make a selector",
        description="Make a selector, or confirm that it is there: the same plan again is 200 and changes nothing, another "
        "plan under the same name is 409.",
        responses={
            201: {"description": "It is made.", "model": SelectorReply},
            **outcomes(409, 422, 429, *WITH_BODY, said="It was there, with the same plan.", model=SelectorReply),
        },
        openapi_extra={"parameters": [NAMED], "requestBody": _body(Plan)},
    ),
)  # fmt: skip
