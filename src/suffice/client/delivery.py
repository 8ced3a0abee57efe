"""Outcomes on their way to the service: sent, or kept and sent later. No I/O."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from suffice.client import bodies, replies
from suffice.client.line import Line, log
from suffice.client.outbox import Outbox, Outcome
from suffice.client.problems import refusal
from suffice.client.replies import understood
from suffice.client.steps import JSON, Request, Steps
from suffice.errors import InvalidArgument, Refused, ServiceProblem, Unreachable, shown


def path_of(name: Any) -> str:
    """Where the selector of this name is."""
    if not isinstance(name, str) or not name.strip(". "):
        raise InvalidArgument(f'name must be text such as "routing", got {shown(name)}')
    return f"/v1/selectors/{quote(name, safe='')}"


def send(line: Line, path: str, outcomes: Sequence[Outcome], *, force: bool = False) -> Steps[list[dict[str, Any]]]:
    """Tell the service; the results that are errors. A list even of one: then a 404 speaks of the selector alone."""
    content = bodies.encode([outcome.body() for outcome in outcomes])
    said = yield from line.call(Request("POST", f"{path}/tell", content, JSON), force=force)
    return understood(replies.refused, said, len(outcomes))


def deliver(line: Line, name: str, outbox: Outbox, parcels: int | None = None) -> Steps[list[dict[str, Any]]]:
    """Send what is kept, or so many parcels of it. What the service refuses for good is logged, returned and not kept."""
    refused: list[dict[str, Any]] = []
    done = 0
    while len(outbox) and done != parcels:
        with outbox.parcel() as parcel:
            if not parcel.outcomes:  # others have them in hand
                break
            try:
                found = yield from send(line, path_of(name), parcel.outcomes, force=parcels is None)
            except (Unreachable, Refused):
                raise
            except ServiceProblem as problem:  # it would be refused again, and stand in the way of all others
                found = [
                    {"decision": one.decision, "status": problem.status or 500, "detail": str(problem)}
                    for one in parcel.outcomes
                ]
            parcel.arrived = True
        for item in found:
            log.error("an outcome that was kept for selector %r is refused: %s", name, item)
        refused += found
        done += 1
    return refused


def flush(line: Line, only: str | None = None) -> Steps[None]:
    """Send all that is kept, of all selectors or of one."""
    refused: list[dict[str, Any]] = []
    for name, outbox in line.outboxes():
        if only in (None, name):
            refused += yield from deliver(line, name, outbox)
    if refused:
        raise refusal(refused, len(refused))


def leaving(line: Line, problem: ServiceProblem) -> str:
    """What to say when a client is closed and not all could be delivered."""
    lost = sum(len(outbox) for _, outbox in line.outboxes())
    return f"{lost:,} outcomes could not be delivered and are lost: {problem}" if lost else str(problem)
