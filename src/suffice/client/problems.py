"""Answers that are errors, as exceptions: what the library itself raises there, if it would, and a ServiceProblem always."""

import json
from collections.abc import Callable, Sequence
from http.client import responses
from typing import Any, Final, TypeVar

import httpx

from suffice.errors import (
    AccessDenied,
    AlreadyTold,
    InvalidArgument,
    ServiceProblem,
    ServiceUnreachable,
    SufficeError,
    UnknownDecision,
)

T = TypeVar("T")

NAMED: Final = 5  # refused outcomes that an error quotes; all are in its `failed`


class InvalidArgumentProblem(ServiceProblem, InvalidArgument):
    """The service says that an argument breaks its rule; nothing was changed."""


class UnknownDecisionProblem(ServiceProblem, UnknownDecision):
    """The service never handed out this decision."""


class AlreadyToldProblem(ServiceProblem, AlreadyTold):
    """The service was told another outcome of this decision before."""


ANSWERS: Final[dict[int, type[ServiceProblem]]] = {401: AccessDenied, 403: AccessDenied, 422: InvalidArgumentProblem}
ITEMS: Final[dict[int, type[ServiceProblem]]] = {
    404: UnknownDecisionProblem,
    409: AlreadyToldProblem,
    422: InvalidArgumentProblem,
}


# What reading an answer may come to that is not what a suffice service answers.
STRANGE: Final = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)


def raise_problem(answer: httpx.Response, read: Callable[[Any], T]) -> T:
    """What `read` makes of a good answer. A refusal is raised as what it is.

    Whatever no service in order says is Unreachable: a 5xx, and the page or the redirection of something that stands in its
    place, which may well say 200.
    """
    status = answer.status_code
    if 200 <= status < 300:
        try:
            return read(json.loads(answer.content))
        except SufficeError:
            raise
        except STRANGE:
            raise ServiceUnreachable(
                "url must be that of a suffice service: what answered there is something else, or a version that is not "
                "understood",
                status=status,
            ) from None
    detail, request = detail_of(answer)
    if is_refusal(answer):
        kind = ANSWERS.get(status, ServiceProblem)
        raise kind(detail, status=status, detail=detail, request_id=request)
    if 300 <= status < 400:
        where = answer.headers.get("Location")
        detail = f"url must be that of the service itself: it answered with a redirection to {where}"
    elif str(status) not in detail:
        detail = f"{status}, {detail}"
    raise ServiceUnreachable(detail, status=status, request_id=request)


def is_refusal(answer: httpx.Response) -> bool:
    """Whether asking again would get the same answer. 429 is a limit that is there to stay, unless it says when to come."""
    return 400 <= answer.status_code < 500 and not (answer.status_code == 429 and "Retry-After" in answer.headers)


def detail_of(answer: httpx.Response) -> tuple[str, str | None]:
    """The sentence in an answer that is an error, and the id of the request, as far as it has them."""
    try:
        said = json.loads(answer.content)
    except (ValueError, RecursionError):
        said = None
    said = said if isinstance(said, dict) else {}
    detail = said.get("detail") or said.get("title")
    if not isinstance(detail, str):
        detail = f"the service answered {answer.status_code} {responses.get(answer.status_code, '')}".rstrip()
    request = said.get("request_id")
    return detail, request if isinstance(request, str) else None


def reasons(items: Sequence[dict[str, Any]]) -> dict[int, str]:
    """Why outcomes were refused, by decision."""
    return {int(item["decision"]): str(item.get("detail") or f"status {item['status']}") for item in items}


def refusal(items: Sequence[dict[str, Any]], of: int, others: str = "counted") -> ServiceProblem:
    """Outcomes that were refused, as one error: of the library's kind where all were refused for the same reason."""
    failed = reasons(items)
    kinds = {int(item["status"]) for item in items}
    status = min(kinds)
    kind = ITEMS.get(status, ServiceProblem) if len(kinds) == 1 else ServiceProblem
    if of == 1:
        message = next(iter(failed.values()))
    else:
        quoted = "; ".join(f"decision {one}: {why}" for one, why in list(failed.items())[:NAMED])
        more = f"; and {len(failed) - NAMED:,} more" if len(failed) > NAMED else ""
        which = f"{len(failed):,} of {of:,} outcomes were refused, the others are {others}"
        message = f"{which if of > len(failed) else f'{of:,} outcomes were refused'}: {quoted}{more}"
    request = items[0].get("request_id") if of == 1 else None
    return kind(message, status=status, detail=message, request_id=request, failed=failed)
