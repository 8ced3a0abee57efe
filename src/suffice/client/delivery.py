"""Outcomes on their way to the service: sent, or kept and sent later."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from suffice.client import requests, responses
from suffice.client.circuit_breaker import PAUSE
from suffice.client.httpx_adapter import JSON, Request
from suffice.client.outbox import Outbox, Outcome
from suffice.client.problems import refusal
from suffice.client.transport import Transport, log
from suffice.errors import AccessDenied, InvalidArgument, ServiceProblem, ServiceUnreachable, quoted

TOO_MUCH: Final = frozenset((413, 422))  # what a list that is too long, or too large, gets


def path_of(name: Any) -> str:
    """Where the selector of this name is."""
    if not isinstance(name, str) or not name.strip(". "):
        raise InvalidArgument(f'name must be text such as "routing", got {quoted(name)}')
    return f"/v1/selectors/{quote(name, safe='')}"


async def send(
    transport: Transport, path: str, outbox: Outbox, outcomes: Sequence[Outcome], *, force: bool = False
) -> tuple[int, list[dict[str, Any]]]:
    """Tell the service the first of them, as many as it takes at once. How many they were, and the results that are errors.

    A list even of one: then a 404 speaks of the selector alone. A list that is refused as a whole is halved, until it is taken
    or a single outcome is refused, which is then its result.
    """
    while True:
        piece = outcomes[: outbox.size]
        content = requests.encode([outcome.body() for outcome in piece])
        request = Request("POST", f"{path}/tell", content, JSON)
        try:
            refused = await transport.call(request, partial(responses.rejections, sent=piece), force=force)
        except ServiceProblem as problem:
            if problem.status not in TOO_MUCH:
                raise
            if len(piece) == 1:
                return 1, [_alone(piece[0], problem)]
            outbox.refused(len(piece))
        else:
            outbox.taken(len(piece))
            return len(piece), refused


def _alone(outcome: Outcome, problem: ServiceProblem) -> dict[str, Any]:
    """A request that was refused, as the result of the one outcome in it."""
    said = {"status": problem.status, "detail": problem.detail, "request_id": problem.request_id}
    return {"decision": outcome.decision} | said


async def deliver(transport: Transport, name: str, outbox: Outbox, chunks: int | None = None) -> list[dict[str, Any]]:
    """Send what is kept, or so many parcels of it; the results that are errors, which are logged.

    An outcome is let go once the service has answered for it by name, or has refused it alone. Until then it is kept,
    whatever comes back. With `parcels` an error that is about none of them in particular is logged, and whoever calls
    goes on.
    """
    refused: list[dict[str, Any]] = []
    done = 0
    while len(outbox) and done != chunks:
        with outbox.chunk() as chunk:
            if not chunk.outcomes:  # others have them in hand
                break
            try:
                chunk.arrived, found = await send(
                    transport, path_of(name), outbox, chunk.outcomes, force=chunks is None
                )
            except (ServiceUnreachable, AccessDenied):
                raise
            except ServiceProblem as problem:
                if chunks is None:
                    raise
                outbox.rest = transport.clock() + PAUSE
                log.error("outcomes of selector %r are not taken, and stay kept: %s", name, problem)
                break
        for item in found:
            log.error("an outcome that was kept for selector %r is refused: %s", name, item)
        refused += found
        done += 1
    return refused


async def flush(transport: Transport, only: str | None = None) -> None:
    """Send all that is kept, of all selectors or of one. One that fails does not keep the others from being sent."""
    refused: list[dict[str, Any]] = []
    first: ServiceProblem | None = None
    for name, outbox in transport.outboxes():
        if only in (None, name):
            try:
                refused += await deliver(transport, name, outbox)
            except ServiceProblem as problem:
                first = first or problem
                if problem.status is None:  # nobody is there
                    break
    if first is not None:
        raise first
    if refused:
        raise refusal(refused, len(refused))


def undelivered_warning(transport: Transport, problem: ServiceProblem) -> str:
    """What to say when a client is closed and not all could be delivered."""
    lost = sum(len(outbox) for _, outbox in transport.outboxes())
    return f"{lost:,} outcomes could not be delivered and are lost: {problem}" if lost else str(problem)
