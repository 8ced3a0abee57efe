"""Answers that are errors, as exceptions: what the library itself raises there, if it would, and a ServiceProblem always."""

import json
from collections.abc import Sequence
from http.client import responses
from typing import Any, Final

from suffice.client.steps import Answer
from suffice.errors import AlreadyTold, InvalidArgument, Refused, ServiceProblem, UnknownDecision

NAMED: Final = 5  # refused outcomes that an error quotes; all are in its `failed`


class InvalidArgumentProblem(ServiceProblem, InvalidArgument):
    """The service says that an argument breaks its rule; nothing was changed."""


class UnknownDecisionProblem(ServiceProblem, UnknownDecision):
    """The service never handed out this decision."""


class AlreadyToldProblem(ServiceProblem, AlreadyTold):
    """The service was told another outcome of this decision before."""


ANSWERS: Final[dict[int, type[ServiceProblem]]] = {401: Refused, 403: Refused, 422: InvalidArgumentProblem}
ITEMS: Final[dict[int, type[ServiceProblem]]] = {
    404: UnknownDecisionProblem,
    409: AlreadyToldProblem,
    422: InvalidArgumentProblem,
}


def read(answer: Answer) -> Any:
    """The JSON of a good answer; of any other, the problem is raised."""
    if not 200 <= answer.status < 300:
        raise problem(answer)
    try:
        return json.loads(answer.content)
    except ValueError:
        raise unreadable(answer.status) from None


def unreadable(status: int | None = None) -> ServiceProblem:
    """For an answer that no suffice service gives."""
    return ServiceProblem(
        "url must be that of a suffice service: what answered there is something else, or a version that is not understood",
        status=status,
    )


def problem(answer: Answer) -> ServiceProblem:
    """What an answer that is an error says."""
    detail, request = detail_of(answer)
    if 300 <= answer.status < 400:
        detail = f"url must be that of the service itself: it answered with a redirection to {answer.location}"
    return ANSWERS.get(answer.status, ServiceProblem)(detail, status=answer.status, detail=detail, request_id=request)


def detail_of(answer: Answer) -> tuple[str, str | None]:
    """The sentence in an answer that is an error, and the id of the request, as far as it has them."""
    try:
        said = json.loads(answer.content)
    except ValueError:
        said = None
    said = said if isinstance(said, dict) else {}
    detail = said.get("detail") or said.get("title")
    if not isinstance(detail, str):
        detail = f"the service answered {answer.status} {responses.get(answer.status, '')}".rstrip()
    request = said.get("request_id")
    return detail, request if isinstance(request, str) else None


def refusal(items: Sequence[dict[str, Any]], of: int) -> ServiceProblem:
    """Outcomes that were refused, as one error: of the library's kind where all were refused for the same reason."""
    failed = {int(item["decision"]): str(item.get("detail") or f"status {item['status']}") for item in items}
    kinds = {int(item["status"]) for item in items}
    status = min(kinds)
    kind = ITEMS.get(status, ServiceProblem) if len(kinds) == 1 else ServiceProblem
    if of == 1:
        message = next(iter(failed.values()))
    else:
        quoted = "; ".join(f"decision {one}: {why}" for one, why in list(failed.items())[:NAMED])
        more = f"; and {len(failed) - NAMED:,} more" if len(failed) > NAMED else ""
        which = f"{len(failed):,} of {of:,} outcomes were refused, the others are counted"
        message = f"{which if of > len(failed) else f'{of:,} outcomes were refused'}: {quoted}{more}"
    return kind(message, status=status, detail=message, failed=failed)
