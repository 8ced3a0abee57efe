"""Records as JSON: what is answered, in the terms that `replies` describes."""

from collections import Counter
from dataclasses import asdict, fields
from typing import Any, Final

import pydantic_core
from starlette.responses import Response

from suffice.context.learner import ContextReport
from suffice.menu.menu import Menu
from suffice.numbers import ONE_SUCCESS
from suffice.promise.certificate import STATUSES, Certificate
from suffice.promise.group_certificate import GroupCertificate
from suffice.selector.records import OptionReport
from suffice.service.history import OTHERS
from suffice.service.plans.json_options import option_json
from suffice.service.records import (
    AMENDED,
    EXPIRED,
    PENDING,
    STATES,
    Bin,
    DecisionRow,
    IssuedDecision,
    Overview,
    TellResult,
)

MEDIA: Final = "application/json"

_WRITTEN: Final = [one.name for one in fields(Certificate) if one.name not in ("promise", "account")]


def json_response(body: Any, status: int = 200) -> Response:
    """JSON; what is infinite or no number is null."""
    return Response(pydantic_core.to_json(body, inf_nan_mode="null"), status, media_type=MEDIA)


def written(body: Any) -> bytes:
    """A body as it is sent."""
    return pydantic_core.to_json(body, inf_nan_mode="null")


def issued(one: IssuedDecision) -> dict[str, Any]:
    """A decision."""
    return {
        "decision": one.decision, "arm": one.arm, "option": one.option, "price": one.price, "safe": one.safe,
        "skip": one.skip,
    }  # fmt: skip


def tell_result(one: TellResult) -> dict[str, Any]:
    """What became of one outcome of several."""
    said = {"result": one.result} if one.status == 200 else {"detail": one.detail}
    return {"decision": one.decision, "status": one.status, **said}


def known(one: Overview) -> dict[str, Any]:
    """A selector and where it stands."""
    found = one.certificate
    return {
        "name": one.name, "created": one.created, "archived": one.archived, "plan": one.plan,
        "status": found.status if one.archived is None else "archived", "verdict": found.verdict, "target": found.target,
        "outcomes": found.outcomes, "successes": found.successes, "rate": found.rate, "debt": found.debt,
        "debt_at_most": found.debt_at_most, "ahead_at_most": found.ahead_at_most, "holds": found.holds,
        "breach": found.breach, "breaches": found.breaches,
        "feasible": found.feasible, "consistent": found.consistent, "pending": found.pending,
        "cost": one.cost, "mean_cost": one.cost / found.outcomes if found.outcomes else None,
        "safe_cost": one.safe_cost, "price": one.price, "cap": found.promise.cap,
        "asks": one.asks, "tells": one.tells,
        "expired": found.expired, "bounds": one.bounds, "chooser": one.chooser, "model": one.model,
    }  # fmt: skip


def listed(one: Overview) -> dict[str, Any]:
    """The same in a list, without the plan: a page of plans may be as large as all bodies that made them."""
    return {**known(one), "plan": None}


def certificate(one: Certificate, most: int | None = None) -> dict[str, Any]:
    """What was promised, and whether it is so: of all groups, and of so many of them, the worst first."""
    body = {name: getattr(one, name) for name in _WRITTEN}
    body |= {"status": one.status, "missing": max(0, one.account.most_outstanding - 1), "text": str(one)}
    if isinstance(one, GroupCertificate):
        statuses = {name: part.status for name, part in one.groups.items()}
        found = Counter(statuses.values())
        body["group_statuses"] = {status: found[status] for status in STATUSES if found[status]}
        order = sorted(statuses, key=lambda name: (STATUSES.index(statuses[name]), -one.groups[name].outcomes, name))
        body["groups"] = {name: certificate(one.groups[name]) for name in order[:most]}
    return body


def option_row(one: OptionReport) -> dict[str, Any]:
    """An option and how it did."""
    return {one_field.name: getattr(one, one_field.name) for one_field in fields(OptionReport)}


def context_report(one: ContextReport) -> dict[str, Any]:
    """What is made of contexts."""
    return {**asdict(one), "text": str(one)}


def stretch(one: Bin) -> dict[str, Any]:
    """A stretch of time."""
    arms = {"others" if arm == OTHERS else str(arm): count for arm, count in sorted(one.arms.items())}
    every = sum(arms.values())
    # What amends decisions that expired in an earlier stretch counts here too: then these are no means of this one.
    rate = one.successes / one.outcomes if one.outcomes and one.successes <= one.outcomes else None
    mean_cost = one.cost / one.outcomes if one.outcomes and one.cost >= 0.0 else None
    return {
        "start": one.start, "end": one.end, "outcomes": one.outcomes, "successes": one.successes,
        "rate": rate, "cost": one.cost, "mean_cost": mean_cost, "debt": one.debt, "price": one.price, "arms": arms,
        "shares": {name: count / every for name, count in arms.items()}, "total": one.total,
        "total_rate": one.total_successes / one.total if one.total else None,
        "total_cost": max(0.0, one.total_cost) / one.total if one.total else None,
        "debt_at_most": one.debt_at_most, "ahead_at_most": one.ahead_at_most,
    }  # fmt: skip


def row(one: DecisionRow, menu: Menu) -> dict[str, Any]:
    """A decision as it is kept."""
    told = one.state not in (PENDING, EXPIRED) and one.units is not None
    return {
        "decision": one.id, "asked_at": one.asked_at, "told_at": one.told_at, "state": STATES[one.state],
        "group": one.group or None, "arm": one.arm, "option": option_json(menu, one.arm),
        "success": (one.units or 0) / ONE_SUCCESS if told else None,
        "cost": menu.known_cost(one.arm) if one.cost is None else one.cost, "price": one.price,
        "late": one.state == AMENDED, "context": one.context(),
    }  # fmt: skip
