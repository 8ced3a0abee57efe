"""The routes that show the state of one selector: certificate, options, context report, history, decisions, events."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Annotated, Final, Literal, TypeVar

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel
from starlette.responses import StreamingResponse

from suffice.errors import InvalidArgument, quoted
from suffice.promise.group_certificate import GroupCertificate
from suffice.service.history import OTHERS
from suffice.service.http import serializers
from suffice.service.http.decision_ids import NO_DECISION, to_number
from suffice.service.http.event_streams import EventStream, Streams
from suffice.service.http.export import PAGE, lines
from suffice.service.http.keys import READ, Keyring
from suffice.service.http.raw_route import Named, reject_unknown_query, responses
from suffice.service.http.routes_write import service_of
from suffice.service.http.schemas_read import (
    CertificateReply,
    ContextReportReply,
    HistoryReply,
    OptionsReply,
    RowsReply,
)
from suffice.service.http.schemas_write import JsonObject, SelectorReply
from suffice.service.plans.fields import MOST_WHOLE, Name
from suffice.service.selectors import MANY_GROUPS

Handler = TypeVar("Handler", bound=Callable[..., Awaitable[Response]])

CSV: Final[JsonObject] = {"text/csv": {"schema": {"type": "string"}}}
EVENT: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "event": {"const": "selector"},
        "id": {"type": "string", "description": "The number of outcomes so far."},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {"$ref": f"#/components/schemas/{SelectorReply.__name__}"},
        },
    },
}

read_routes = APIRouter(prefix="/v1/selectors/{name}", tags=["read"], dependencies=[Depends(reject_unknown_query)])


def route(
    path: str, summary: str, description: str, model: type[BaseModel] | None = None, content: JsonObject | None = None
) -> Callable[[Handler], Handler]:
    """Add a handler as a GET route."""
    announced = responses(description, model, 404, 422, content=content)
    return read_routes.get(path, summary=summary, response_model=None, responses=announced)


@route("/certificate", "Certificate", "The certificate.", CertificateReply)
async def certificate(
    request: Request,
    name: Named,
    group: Annotated[Name | None, Query(description="The certificate of this group alone.")] = None,
    groups: Annotated[
        int | None,
        Query(ge=0, le=MOST_WHOLE, description="How many groups at most, the worst first; left out, all."),
    ] = None,
) -> Response:
    """What is promised, whether it holds, and if not, which assumption failed and what to do."""
    report = await service_of(request).certificate(name, group)
    if isinstance(report, GroupCertificate) and len(report.groups) > MANY_GROUPS:  # others need not wait for it
        return await asyncio.to_thread(lambda: serializers.json_response(serializers.certificate(report, groups)))
    return serializers.json_response(serializers.certificate(report, groups))


@route("/options", "Options", "A row for each option.", OptionsReply)
async def options(
    request: Request,
    name: Named,
    order: Annotated[
        Literal["arm", "plays"], Query(description="By place in the menu, or those played most often first.")
    ] = "arm",
    limit: Annotated[int | None, Query(ge=1, le=MOST_WHOLE, description="How many at most; left out, all.")] = None,
) -> Response:
    """How often each option was played, how it did, and what is certain of it."""
    service = service_of(request)
    total = (await service.plan(name)).menu().n_arms
    most = min(limit or total, total)
    rows = await service.options(name, most if order == "plays" else None)
    return serializers.json_response({"options": [serializers.option_row(row) for row in rows[:most]], "total": total})


@route("/context-report", "Context report", "The effect of contexts.", ContextReportReply)
async def context_report(request: Request, name: Named) -> Response:
    """Whether the selector follows its model, how the model did, what contexts lacked. 422 where there is no model."""
    return serializers.json_response(serializers.context_report(await service_of(request).context_report(name)))


@route("/history", "History", "Stretches of time, in order.", HistoryReply)
async def history(
    request: Request,
    name: Named,
    bins: Annotated[int, Query(ge=1, le=1000, description="Into how many stretches of time at most.")] = 200,
    since: Annotated[
        float | None,
        Query(ge=0, le=MOST_WHOLE, description="Only after this time, in seconds since the beginning of 1970."),
    ] = None,
    width: Annotated[
        float | None,
        Query(
            gt=0,
            le=MOST_WHOLE,
            description="Stretches of so many seconds from `since` on, instead of `bins`: to ask for new ones only.",
        ),
    ] = None,
) -> Response:
    """Rates, debt, price, cost, shares of options and promised bounds over time, for charts."""
    service = service_of(request)
    stretches, finest = await service.history(name, bins, -math.inf if since is None else since, width)
    arms = {arm for stretch in stretches for arm in stretch.arms} - {OTHERS}
    options = await service.options_of(name, sorted(arms))
    return serializers.json_response({
        "bins": [serializers.stretch(stretch) for stretch in stretches],
        "options": {str(arm): option for arm, option in options.items()},
        "width": stretches[0].end - stretches[0].start if stretches else None,
        "finest": finest,
    })  # fmt: skip


@route("/decisions", "Decisions", "Decisions.", RowsReply)
async def decisions(
    request: Request,
    name: Named,
    after: Annotated[
        str | None,
        Query(
            description="The decisions after this one, in order; empty: from the first one on. Left out: the newest first."
        ),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="How many at most.")] = 100,
) -> Response:
    """The latest decisions, the newest first; or, with `after`, all of them in order, a page at a time."""
    service = service_of(request)
    menu = (await service.plan(name)).menu()
    if after is None:
        rows = await service.recent(name, limit)
    else:
        rows = await service.decisions(name, _number_after(after), limit + 1)
    page = [serializers.decision_row(row, menu) for row in rows[:limit]]
    return serializers.json_response({"decisions": page, "next": page[-1]["decision"] if len(rows) > limit else None})


def _number_after(after: str) -> int:
    number = to_number(after)
    if after and number == NO_DECISION:
        raise InvalidArgument(f"after must be the id of a decision, or empty, got {quoted(after)}")
    return number  # NO_DECISION, -1, comes before the first one


@route("/decisions.csv", "Decisions as CSV", "A CSV file with a header.", content=CSV)
async def decisions_csv(
    request: Request,
    name: Named,
    state: Annotated[
        Literal["pending", "told", "expired", "amended", "skipped", "cancelled"] | None,
        Query(description="Only those in this state."),
    ] = None,
) -> Response:
    """All decisions as CSV, for an audit, or for `suffice replay decisions.csv --target 0.9`.

    Times are ISO 8601, UTC. An option is its text, or JSON if it is no text. `success` is empty where no outcome was told;
    an expired decision counts as a failure. `cost` is as told, or as the menu has it; empty where it was cancelled. Text that
    begins with = + - @ has a ' before it, so that no spreadsheet runs it as a formula.
    """
    service = service_of(request)
    menu = (await service.plan(name)).menu()
    first = await service.decisions(name, -1, PAGE)
    headers = {"content-disposition": f'attachment; filename="{name}-decisions.csv"'}
    body = lines(service, name, menu, first, state)
    return StreamingResponse(body, media_type="text/csv; charset=utf-8; header=present", headers=headers)


@route("/events", "Events", "Events named `selector`.", content={"text/event-stream": {"schema": EVENT}})
async def events(
    request: Request,
    name: Named,
    every: Annotated[float, Query(ge=0.2, le=60, description="Seconds between two events at least.")] = 0.5,
) -> Response:
    """Server-sent events: the state of the selector, at once and again whenever it has changed.

    Each is named `selector`; its id is the number of outcomes so far, its data what `GET /v1/selectors/{name}` answers,
    without the plan.
    """
    streams: Streams = request.app.state.streams
    keyring: Keyring = request.app.state.keyring
    first = await streams.snapshot(name)

    async def check_key() -> None:
        await keyring.authorise(request.headers.get("authorization"), READ)

    required = getattr(request.state, "key", None) is not None
    return EventStream(streams, name, streams.events(name, every, first, check_key if required else None))
