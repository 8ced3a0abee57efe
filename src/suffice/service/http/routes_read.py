"""The routes that look at one selector: certificate, arms, context report, history, decisions, events."""

import asyncio
import math
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from starlette.responses import StreamingResponse

from suffice.promise.group_certificate import GroupCertificate
from suffice.service.history import OTHERS
from suffice.service.http import serializers
from suffice.service.http.event_streams import EventStream, Streams
from suffice.service.http.export import PAGE, lines
from suffice.service.http.keys import READ, Keyring
from suffice.service.http.raw_route import Named, outcomes, reject_unknown_query
from suffice.service.http.routes_write import service_of
from suffice.service.http.schemas_read import (
    CertificateReply,
    ContextReportReply,
    HistoryReply,
    OptionsReply,
    RowsReply,
)
from suffice.service.http.schemas_write import SelectorReply
from suffice.service.plans.fields import MOST_WHOLE, Name
from suffice.service.selectors import MANY

CSV: Final[dict[str, Any]] = {"text/csv": {"schema": {"type": "string"}}}
EVENT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "event": {"const": "standing"},
        "id": {"type": "string", "description": "How many outcomes were told."},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {"$ref": f"#/components/schemas/{SelectorReply.__name__}"},
        },
    },
}

looks = APIRouter(prefix="/v1/selectors/{name}", tags=["look"], dependencies=[Depends(reject_unknown_query)])


@looks.get(
    "/certificate",
    summary="Certificate",
    response_model=None,
    responses=outcomes(404, 422, said="The certificate.", model=CertificateReply),
)
async def certificate(
    request: Request,
    name: Named,
    group: Annotated[Name | None, Query(description="Of this group alone.")] = None,
    groups: Annotated[
        int | None,
        Query(ge=0, le=MOST_WHOLE, description="Of how many groups at most, the worst first; left out, of all."),
    ] = None,
) -> Response:
    """What was promised, whether it is so, and if not, which assumption broke and what to do."""
    found = await service_of(request).certificate(name, group)
    if isinstance(found, GroupCertificate) and len(found.groups) > MANY:  # others need not wait for it
        return await asyncio.to_thread(lambda: serializers.json_response(serializers.certificate(found, groups)))
    return serializers.json_response(serializers.certificate(found, groups))


@looks.get(
    "/options",
    summary="Arms",
    response_model=None,
    responses=outcomes(404, 422, said="A row for each option.", model=OptionsReply),
)
async def options(
    request: Request,
    name: Named,
    order: Annotated[
        Literal["arm", "plays"], Query(description="By number, or those played most often first.")
    ] = "arm",
    limit: Annotated[int | None, Query(ge=1, le=MOST_WHOLE, description="How many at most; left out, all.")] = None,
) -> Response:
    """How often each option was played, how it did, and what is certain of it."""
    service = service_of(request)
    total = (await service.plan(name)).menu().n_arms
    most = min(limit or total, total)
    found = await service.options(name, most if order == "plays" else None)
    return serializers.json_response({"options": [serializers.option_row(one) for one in found[:most]], "total": total})


@looks.get(
    "/context-report",
    summary="Context report",
    response_model=None,
    responses=outcomes(404, 422, said="What is made of contexts.", model=ContextReportReply),
)
async def context_report(request: Request, name: Named) -> Response:
    """What is made of contexts: whether the model is followed, how it did, what was missing. 422 where there is no model."""
    return serializers.json_response(serializers.context_report(await service_of(request).context_report(name)))


@looks.get(
    "/history",
    summary="History",
    response_model=None,
    responses=outcomes(404, 422, said="Stretches of time, in order.", model=HistoryReply),
)
async def history(
    request: Request,
    name: Named,
    bins: Annotated[int, Query(ge=1, le=1000, description="Into how many stretches of time at most.")] = 200,
    since: Annotated[
        float | None,
        Query(ge=0, le=MOST_WHOLE, description="Only what is after this time, in seconds since the beginning of 1970."),
    ] = None,
    width: Annotated[
        float | None,
        Query(
            gt=0,
            le=MOST_WHOLE,
            description="Stretches of so many seconds from `since` on, instead of `bins`: to ask for what is new.",
        ),
    ] = None,
) -> Response:
    """Rates, debt, price, cost and the shares of options over time, and what was promised, for charts."""
    service = service_of(request)
    found, finest = await service.history(name, bins, -math.inf if since is None else since, width)
    named = {arm for one in found for arm in one.arms} - {OTHERS}
    options = await service.options_of(name, sorted(named))
    return serializers.json_response({
        "bins": [serializers.stretch(one) for one in found],
        "options": {str(arm): option for arm, option in options.items()},
        "width": found[0].end - found[0].start if found else None,
        "finest": finest,
    })  # fmt: skip


@looks.get(
    "/decisions",
    summary="Decisions",
    response_model=None,
    responses=outcomes(404, 422, said="Decisions.", model=RowsReply),
)
async def decisions(
    request: Request,
    name: Named,
    after: Annotated[
        int | None,
        Query(ge=-1, le=MOST_WHOLE, description="Those with larger numbers, in order; left out, the newest first."),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="How many at most.")] = 100,
) -> Response:
    """The decisions asked last, the newest first; or, with `after`, all of them in order, a page at a time."""
    service = service_of(request)
    menu = (await service.plan(name)).menu()
    found = await (service.recent(name, limit) if after is None else service.decisions(name, after, limit + 1))
    more = after is not None and len(found) > limit
    page = [serializers.row(one, menu) for one in found[:limit]]
    return serializers.json_response({"decisions": page, "next": page[-1]["decision"] if more else None})


@looks.get(
    "/decisions.csv",
    summary="Decisions as CSV",
    response_model=None,
    responses=outcomes(404, 422, said="A CSV file with a header.", content=CSV),
)
async def decisions_csv(
    request: Request,
    name: Named,
    state: Annotated[
        Literal["pending", "told", "expired", "amended"] | None, Query(description="Only those in this state.")
    ] = None,
) -> Response:
    """All decisions as CSV, for an audit, or for `suffice replay decisions.csv --target 0.9`.

    Times are ISO 8601, UTC. An option is its text, or JSON if it is no text. `success` is empty where nothing was told;
    what has expired counts as a failure. `cost` is what was told, or what is known. So that no spreadsheet runs them, texts
    that begin with = + - @ have a ' before them.
    """
    service = service_of(request)
    menu = (await service.plan(name)).menu()
    first = await service.decisions(name, -1, PAGE)
    headers = {"content-disposition": f'attachment; filename="{name}-decisions.csv"'}
    body = lines(service, name, menu, first, state)
    return StreamingResponse(body, media_type="text/csv; charset=utf-8; header=present", headers=headers)


@looks.get(
    "/events",
    summary="Events",
    response_model=None,
    responses=outcomes(
        404, 422, said="Events named `standing`, as they come.", content={"text/event-stream": {"schema": EVENT}}
    ),
)
async def events(
    request: Request,
    name: Named,
    every: Annotated[float, Query(ge=0.2, le=60, description="Seconds between two events at least.")] = 0.5,
) -> Response:
    """Server-sent events: where the selector stands, at once and again whenever it has changed.

    Each is named `standing`; its id is how many outcomes were told, its data what `GET /v1/selectors/{name}` answers,
    without the plan.
    """
    streams: Streams = request.app.state.streams
    keyring: Keyring = request.app.state.keyring
    first = await streams.seen(name)

    async def check() -> None:
        """The key may be revoked while somebody listens."""
        await keyring.authorise(request.headers.get("authorization"), READ)

    keyed = getattr(request.state, "key", None) is not None  # there is none where none is required
    return EventStream(streams, name, streams.events(name, every, first, check if keyed else None))
