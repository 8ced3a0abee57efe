"""Responses that are errors, as exceptions: a ServiceProblem, which is also what the library would raise, if it would."""

import json
from collections.abc import Callable, Sequence
from http.client import responses
from typing import Final, TypedDict, TypeVar

import httpx

from suffice.errors import (
    AccessDenied,
    AlreadyTold,
    InvalidArgument,
    SafeUnavailable,
    ServiceProblem,
    ServiceUnreachable,
    SufficeError,
    UnknownDecision,
)

Reply = TypeVar("Reply")
T = TypeVar("T")

NAMED: Final = 5  # refused outcomes that an error quotes; all are in its `failed`


class ResultJson(TypedDict, total=False):
    """The result of one outcome, as the service answers it."""

    decision: str
    status: int
    detail: str | None


class InvalidArgumentProblem(ServiceProblem, InvalidArgument):
    """The service refused an argument; nothing was changed."""


class UnknownDecisionProblem(ServiceProblem, UnknownDecision):
    """The service never issued this decision."""


class AlreadyToldProblem(ServiceProblem, AlreadyTold):
    """The service has another outcome of this decision."""


class SafeUnavailableProblem(ServiceProblem, SafeUnavailable):
    """The promise needs the safe option now, and `available` leaves it out; no decision was made."""


ANSWERS: Final[dict[int, type[ServiceProblem]]] = {
    401: AccessDenied,
    403: AccessDenied,
    422: InvalidArgumentProblem,
    424: SafeUnavailableProblem,
}
ITEMS: Final[dict[int, type[ServiceProblem]]] = {
    404: UnknownDecisionProblem,
    409: AlreadyToldProblem,
    422: InvalidArgumentProblem,
}


# What reading a response may raise that is not one of a suffice service.
UNREADABLE: Final = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)


def read_response(response: httpx.Response, read: Callable[[Reply], T]) -> T:
    """What `read` makes of the JSON of a success. A refusal is raised as what it is.

    Everything that a working service does not send is ServiceUnreachable: a 5xx, a redirection, or the page of a proxy, which
    may well have status 200.
    """
    status = response.status_code
    if 200 <= status < 300:
        try:
            return read(json.loads(response.content))
        except SufficeError:
            raise
        except UNREADABLE:
            raise ServiceUnreachable(
                "url must be that of a suffice service: what answered there is something else, or a version that is not "
                "understood",
                status=status,
            ) from None
    detail, request = detail_of(response)
    # A 429 without Retry-After is a limit that stays.
    if 400 <= status < 500 and not (status == 429 and "Retry-After" in response.headers):
        kind = ANSWERS.get(status, ServiceProblem)
        raise kind(detail, status=status, detail=detail, request_id=request)
    if 300 <= status < 400:
        where = response.headers.get("Location")
        detail = f"url must be that of the service itself: it answered with a redirection to {where}"
    elif str(status) not in detail:
        detail = f"{status}, {detail}"
    raise ServiceUnreachable(detail, status=status, request_id=request)


def detail_of(response: httpx.Response) -> tuple[str, str | None]:
    """The sentence in a response that is an error, and the id of the request, where it has them."""
    try:
        body = json.loads(response.content)
    except (ValueError, RecursionError):
        body = None
    problem: dict[str, object] = body if isinstance(body, dict) else {}
    detail, request = problem.get("detail") or problem.get("title"), problem.get("request_id")
    if not isinstance(detail, str):
        detail = f"the service answered {response.status_code} {responses.get(response.status_code, '')}".rstrip()
    return detail, request if isinstance(request, str) else None


def of_decision(problem: ServiceProblem) -> ServiceProblem:
    """A refusal that is about one decision, as what the library would raise."""
    kind = ITEMS.get(problem.status or 0)
    if kind is None or isinstance(problem, ServiceUnreachable):
        return problem
    return kind(str(problem), status=problem.status, detail=problem.detail, request_id=problem.request_id)


def reasons(results: Sequence[ResultJson]) -> dict[str, str]:
    """Why outcomes were refused, by decision."""
    return {result["decision"]: result.get("detail") or f"status {result['status']}" for result in results}


def refusal(results: Sequence[ResultJson], of: int, others: str = "counted") -> ServiceProblem:
    """Outcomes that were refused, as one error: of the library's kind if all were refused for the same reason."""
    failed = reasons(results)
    statuses = {result["status"] for result in results}
    status = min(statuses)
    kind = ITEMS.get(status, ServiceProblem) if len(statuses) == 1 else ServiceProblem
    if of == 1:
        message = next(iter(failed.values()))
    else:
        quoted = "; ".join(f"decision {decision}: {why}" for decision, why in list(failed.items())[:NAMED])
        more = f"; and {len(failed) - NAMED:,} more" if len(failed) > NAMED else ""
        which = f"{len(failed):,} of {of:,} outcomes were refused, the others are {others}"
        message = f"{which if of > len(failed) else f'{of:,} outcomes were refused'}: {quoted}{more}"
    return kind(message, status=status, detail=message, failed=failed)
