"""Delivering outcomes to the service: at once, or later from the outbox."""

from collections.abc import Sequence
from functools import partial
from urllib.parse import quote

from suffice.client import requests, responses
from suffice.client.circuit_breaker import PAUSE
from suffice.client.httpx_adapter import JSON, Request
from suffice.client.outbox import Outbox, Outcome
from suffice.client.problems import ResultJson, refusal
from suffice.client.transport import Transport, log
from suffice.errors import AccessDenied, InvalidArgument, ServiceProblem, ServiceUnreachable, quoted


def path_of(name: object) -> str:
    """The path of the selector with this name."""
    if not isinstance(name, str) or not name.strip(". "):
        raise InvalidArgument(f'name must be text such as "routing", got {quoted(name)}')
    return f"/v1/selectors/{quote(name, safe='')}"


async def send(
    transport: Transport, path: str, outcomes: Sequence[Outcome], *, force: bool = False
) -> list[ResultJson]:
    """Tell outcomes to the service in one request; the results that are errors.

    The request is a list even of one outcome: then a 404 is about the selector, not about the decision.
    """
    content = requests.encode([outcome.body() for outcome in outcomes])
    request = Request("POST", f"{path}/tell", content, JSON)
    return await transport.call(request, partial(responses.rejections, sent=outcomes), force=force)


async def deliver(transport: Transport, name: str, outbox: Outbox, chunks: int | None = None) -> list[ResultJson]:
    """Send the outcomes of an outbox, or so many chunks of them; the results that are errors, which are also logged.

    An outcome leaves the outbox once the service has answered it by its decision. With `chunks`, a request that is refused
    as a whole is logged instead of raised, so that the call of which this is a part goes on.
    """
    refused: list[ResultJson] = []
    done = 0
    while len(outbox) and done != chunks:
        with outbox.chunk() as chunk:
            if not chunk.outcomes:  # another thread is sending them
                break
            try:
                rejected = await send(transport, path_of(name), chunk.outcomes, force=chunks is None)
                chunk.answered = len(chunk.outcomes)
            except (ServiceUnreachable, AccessDenied):
                raise
            except ServiceProblem as problem:
                if chunks is None:
                    raise
                outbox.retry_at = transport.clock() + PAUSE
                log.error("outcomes of selector %r are not taken, and stay kept: %s", name, problem)
                break
        for result in rejected:
            log.error("an outcome that was kept for selector %r is refused: %s", name, result)
        refused += rejected
        done += 1
    return refused


async def flush(transport: Transport, only: str | None = None) -> None:
    """Send all outboxes, or that of one selector. A selector that fails does not prevent the others from being sent."""
    refused: list[ResultJson] = []
    first: ServiceProblem | None = None
    for name, outbox in transport.outboxes():
        if only in (None, name):
            try:
                refused += await deliver(transport, name, outbox)
            except ServiceProblem as problem:
                first = first or problem
                if problem.status is None:  # there was no answer at all
                    break
    if first is not None:
        raise first
    if refused:
        raise refusal(refused, len(refused))


def undelivered_warning(transport: Transport, problem: ServiceProblem) -> str:
    """The warning of a client that is closed before all outcomes are delivered."""
    lost = sum(len(outbox) for _, outbox in transport.outboxes())
    return f"{lost:,} outcomes could not be delivered and are lost: {problem}" if lost else str(problem)
