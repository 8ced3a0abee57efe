"""The routes that change a selector (make, archive, ask, tell), and those that show one selector or list them."""

import asyncio
import re
from collections.abc import Callable
from typing import Annotated, Final, TypeVar, cast

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, ValidationError

from suffice.errors import InvalidArgument, quoted
from suffice.service.http import serializers
from suffice.service.http.decision_ids import to_number
from suffice.service.http.keys import MANAGE
from suffice.service.http.problems import problem_for
from suffice.service.http.raw_route import (
    NAME_PARAMETER,
    PATTERN,
    WITH_BODY,
    Named,
    RawRoute,
    name_of,
    reject_unknown_query,
    responses,
)
from suffice.service.http.schemas_request import TELL_MANY, AskBody, CancelBody, OutcomeBody, OutcomesBody, SwitchBody
from suffice.service.http.schemas_write import (
    DecisionReply,
    DecisionsReply,
    JsonObject,
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

LARGE: Final = 1 << 16  # bytes of a body that is parsed in a thread, so that other requests need not wait for it
ONE: Final = AskRequest()
KEY: Final = re.compile("[!-~]{1,200}")
KEY_PARAMETER: Final[JsonObject] = {
    "name": "Idempotency-Key", "in": "header", "required": False,
    "description": "A text of your own, 1 to 200 visible ASCII characters. The same ask with the same key within 24 hours "
    "gets the same decisions; so an ask that was not answered can be sent again.",
    "schema": {"type": "string", "pattern": f"^{KEY.pattern}$", "examples": ["7f3a9c"]},
}  # fmt: skip


def service_of(request: Request) -> SelectorService:
    """The service of this app."""
    return cast(SelectorService, request.app.state.service)


async def parsed_body(request: Request, parse: Callable[[bytes], Read]) -> Read:
    """The body, parsed."""
    body = await request.body()
    return await asyncio.to_thread(parse, body) if len(body) > LARGE else parse(body)


# --- ask and tell: the two calls that are made all the time


async def ask(request: Request) -> Response:
    name, key = name_of(request), request.headers.get("idempotency-key")
    if key is not None and KEY.fullmatch(key) is None:
        raise InvalidArgument(f"Idempotency-Key must be 1 to 200 visible ASCII characters, got {quoted(key)}")
    wanted, digest = await parsed_body(request, _parse_ask if key is None else _parse_ask_with_key)
    decisions = await service_of(request).ask(name, wanted, key, digest)
    if wanted.count is None:
        return serializers.json_response(serializers.issued(decisions[0]))
    return serializers.json_response({"decisions": [serializers.issued(decision) for decision in decisions]})


def _parse_ask(body: bytes) -> tuple[AskRequest, str]:
    return (AskBody.model_validate_json(body).wanted() if body else ONE), ""


def _parse_ask_with_key(body: bytes) -> tuple[AskRequest, str]:
    """The request, and the digest that distinguishes it from others with the same key."""
    asked = AskBody.model_validate_json(body or b"{}")
    return asked.wanted(), asked.digest()


async def tell(request: Request) -> Response:
    name = name_of(request)
    parsed = await parsed_body(request, _parse_outcomes)
    if isinstance(parsed, OutcomeBody):
        result = (await service_of(request).tell(name, [parsed.outcome()]))[0]
        if result.status != 200:
            return problem_for(result.status, result.detail or "the outcome was not counted")
        return serializers.json_response({"decision": parsed.decision, "result": result.result})
    results = await service_of(request).tell(name, [body.outcome() for body in parsed]) if parsed else []
    rows = [serializers.tell_result(body.decision, result) for body, result in zip(parsed, results, strict=True)]
    return serializers.json_response({"results": rows})


def _parse_outcomes(body: bytes) -> OutcomeBody | list[OutcomeBody]:
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


async def cancel(request: Request) -> Response:
    body = await parsed_body(request, CancelBody.model_validate_json)
    result = await service_of(request).cancel(name_of(request), to_number(body.decision))
    if result.status != 200:
        return problem_for(result.status, result.detail or "the decision was not cancelled")
    return serializers.json_response({"decision": body.decision, "result": result.result})


# --- selectors


async def play_safe(request: Request) -> Response:
    body = await parsed_body(request, lambda text: SwitchBody.model_validate_json(text or b"{}"))
    overview = await service_of(request).play_safe(name_of(request), body.on)
    return serializers.json_response(serializers.overview(overview))


async def put(request: Request) -> Response:
    name, limits = name_of(request), service_of(request).limits
    plan = await parsed_body(request, lambda body: Plan.read(body, limits))
    key: Key | None = getattr(request.state, "key", None)  # an open server requires none
    confirm = key is not None and MANAGE not in key.scopes
    overview, made = await service_of(request).put(name, plan, confirm=confirm)
    return serializers.json_response(serializers.overview(overview), 201 if made else 200)


selector_routes = APIRouter(prefix="/v1/selectors", tags=["selectors"], dependencies=[Depends(reject_unknown_query)])


@selector_routes.get(
    "",
    summary="List selectors",
    response_model=None,
    responses=responses("Selectors by name, a page at a time.", SelectorPage, 422),
)
async def list_selectors(
    request: Request,
    after: Annotated[
        str, Query(max_length=64, pattern=f"^({PATTERN})?$", description="Only those that come after this name.")
    ] = "",
    limit: Annotated[int, Query(ge=1, le=500, description="How many at most.")] = 100,
    archived: Annotated[bool, Query(description="Archived selectors too.")] = False,
    contains: Annotated[
        str, Query(max_length=64, description="Only those whose names contain this text; case does not matter.")
    ] = "",
) -> Response:
    """Selectors and their states, by name, a page at a time."""
    page, following = await service_of(request).list_selectors(after, limit, archived, contains)
    return serializers.json_response({"selectors": [serializers.listed(state) for state in page], "next": following})


ONE_SELECTOR: Final = responses("The selector.", SelectorReply, 404, 422)


@selector_routes.get("/{name}", summary="Show a selector", response_model=None, responses=ONE_SELECTOR)
async def get(request: Request, name: Named) -> Response:
    """A selector and its state."""
    return serializers.json_response(serializers.overview(await service_of(request).overview(name)))


@selector_routes.delete("/{name}", summary="Archive a selector", response_model=None, responses=ONE_SELECTOR)
async def delete(request: Request, name: Named) -> Response:
    """Archive a selector: it answers no more asks, and still accepts outcomes, so that none is lost.

    `PUT` with the same plan brings it back. Nothing is deleted.
    """
    return serializers.json_response(serializers.overview(await service_of(request).archive(name)))


def _content(*schemas: JsonObject) -> JsonObject:
    return {"application/json": {"schema": schemas[0] if len(schemas) == 1 else {"anyOf": [*schemas]}}}


def _ref(model: type[BaseModel]) -> JsonObject:
    return {"$ref": f"#/components/schemas/{model.__name__}"}


# These come before the others in the app, because routes are tried in order.
RAW_ROUTES: Final = (
    RawRoute(
        "/v1/selectors/{name}/ask",
        ask,
        method="POST",
        tag="ask and tell",
        summary="Ask for a decision",
        description="One decision, or `count` of them. They are on disk when they are answered. Play the option, then tell "
        "whether it succeeded.",
        responses=responses(
            "The decision; with `count`, a list of them.", None, 404, 409, 410, 422, 424, 429, *WITH_BODY,
            content=_content(_ref(DecisionReply), _ref(DecisionsReply)),
        ),
        openapi_extra={
            "parameters": [NAME_PARAMETER, KEY_PARAMETER],
            "requestBody": {"required": False, "content": _content(_ref(AskBody))},
        },
    ),
    RawRoute(
        "/v1/selectors/{name}/tell",
        tell,
        method="POST",
        tag="ask and tell",
        summary="Tell outcomes",
        description="The outcome of a decision, or of many. Each counts exactly once: the same again is 200 and changes "
        "nothing, another outcome is 409, a decision that was never asked 404. Of many, each has its own result; only a body "
        "that is malformed is refused as a whole. A late outcome amends a decision that has expired.",
        responses=responses(
            "The effect of the outcome; of several, of each.", None, 404, 409, 410, 422, *WITH_BODY,
            content=_content(_ref(ToldReply), _ref(ResultsReply)),
        ),
        openapi_extra={
            "parameters": [NAME_PARAMETER],
            "requestBody": {
                "required": True,
                "content": _content(
                    _ref(OutcomeBody), _ref(OutcomesBody), {"type": "array", "items": _ref(OutcomeBody)}
                ),
            },
        },
    ),
    RawRoute(
        "/v1/selectors/{name}/cancel",
        cancel,
        method="POST",
        tag="ask and tell",
        summary="Cancel a decision",
        description="A decision that was never carried out, while it is outstanding: it counts as neither. Never cancel one "
        "because it failed; the certificate says how many were cancelled.",
        responses=responses("It was cancelled, or had been.", ToldReply, 404, 409, 410, 422, *WITH_BODY),
        openapi_extra={
            "parameters": [NAME_PARAMETER], "requestBody": {"required": True, "content": _content(_ref(CancelBody))},
        },
    ),
    RawRoute(
        "/v1/selectors/{name}/play-safe",
        play_safe,
        method="POST",
        tag="selectors",
        summary="Play safe",
        description="For emergencies: issue the safe option whatever happens, until it is switched off with `on` false. "
        "Other servers on the same store follow within a second.",
        responses=responses("The selector.", SelectorReply, 404, 422, *WITH_BODY),
        openapi_extra={
            "parameters": [NAME_PARAMETER], "requestBody": {"required": False, "content": _content(_ref(SwitchBody))},
        },
    ),
    RawRoute(
        "/v1/selectors/{name}",
        put,
        method="PUT",
        tag="selectors",
        summary="Make a selector",
        description="Make a selector, or confirm that it exists: the same plan again is 200 and changes nothing, another plan "
        "under the same name is 409.",
        responses={
            201: {"description": "It is made.", "model": SelectorReply},
            **responses("It existed, with the same plan.", SelectorReply, 409, 422, 429, *WITH_BODY),
        },
        openapi_extra={
            "parameters": [NAME_PARAMETER], "requestBody": {"required": True, "content": _content(_ref(Plan))},
        },
    ),
)  # fmt: skip
