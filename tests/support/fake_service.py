"""A fake of the decision service for tests of the client: real selectors behind the interface, and failures on demand."""

import json
from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from typing import Any
from urllib.parse import unquote

import httpx

import suffice
from suffice import Certificate, Menu, Selector
from suffice.selector.records import UNAUDITED
from suffice.service.http.decision_ids import to_id, to_number

SETTINGS = (
    "horizon",
    "max_surplus",
    "step",
    "cap",
    "start",
    "model",
    "seed",
)


class Late:
    """Do what is requested, and lose the answer."""


class FakeService:
    """Answers requests. The next requests meet `trouble`, one each: a status, a response, an error, or `Late`.

    While it is set, `override` may answer any request instead.
    """

    def __init__(self, key: str | None = None) -> None:
        self.key = key
        self.down = False
        self.trouble: list[int | httpx.Response | Exception | type[Late]] = []
        self.override: Callable[[httpx.Request], httpx.Response | None] | None = None
        self.requests: list[httpx.Request] = []
        self.plans: dict[str, dict[str, Any]] = {}
        self.selectors: dict[str, Selector] = {}
        self.archived: set[str] = set()
        self.outcomes: dict[str, tuple[Any, Any]] = {}
        self.kept: dict[str, tuple[bytes, Any]] = {}  # answers by idempotency key

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if self.down:
            raise httpx.ConnectError("connection refused", request=request)
        trouble = self.trouble.pop(0) if self.trouble else None
        if isinstance(trouble, int):
            return problem(trouble, f"trouble {trouble}")
        if isinstance(trouble, httpx.Response):
            return trouble
        if isinstance(trouble, Exception):
            raise trouble
        response = (self.override(request) if self.override else None) or self._route(request)
        if trouble is Late:
            raise httpx.ReadTimeout("too late", request=request)
        return response

    def paths(self) -> list[str]:
        """What was requested, in order."""
        return [f"{request.method} {request.url.path.removeprefix('/v1/selectors')}" for request in self.requests]

    def _route(self, request: httpx.Request) -> httpx.Response:
        if self.key is not None and request.headers.get("authorization") != f"Bearer {self.key}":
            return problem(401, "the key is not known")
        way = request.url.raw_path.decode().partition("?")[0].partition("/v1/selectors")[2]
        parts = way.split("/")[1:]
        if not parts:
            known = [self._known(name) for name in sorted(self.selectors) if name > request.url.params.get("after", "")]
            rest = known[2:]  # pages of two
            return answer({"selectors": known[:2], "next": known[1]["name"] if rest else None})
        name, what = unquote(parts[0]), parts[1] if len(parts) > 1 else ""
        body = json.loads(request.content) if request.content else {}
        if request.method == "PUT":
            return self._put(name, body)
        if name not in self.selectors:
            return problem(404, f"there is no selector {name!r}")
        if request.method == "DELETE":
            self.archived.add(name)
        if what == "ask":
            return self._ask(name, request, body)
        if what == "tell":
            return answer({"results": [self._tell(self.selectors[name], one) for one in body]})
        if what == "certificate":
            return answer(certificate(self.selectors[name].certificate(request.url.params.get("group"))))
        if what == "options":
            limit = request.url.params.get("limit")
            rows = self.selectors[name].options(None if limit is None else int(limit))
            return answer({"options": [{one.name: getattr(row, one.name) for one in fields(row)} for row in rows]})
        if what == "context-report":
            found = self.selectors[name].context_report()
            return answer({one.name: getattr(found, one.name) for one in fields(found)} | {"text": str(found)})
        return answer(self._known(name))

    def _put(self, name: str, plan: dict[str, Any]) -> httpx.Response:
        if self.plans.setdefault(name, plan) != plan:
            return problem(409, f"selector {name!r} exists with another plan")
        if name not in self.selectors:
            form = plan["menu"]
            menu = Menu.from_recipe(form["recipe"]) if form["kind"] == "recipe" else Menu(**form["arguments"])
            settings = {one: plan[one] for one in SETTINGS if one in plan}
            try:
                learning = suffice.Learning(**plan.get("learning", {}))
                target = plan["target"]
                self.selectors[name] = Selector(
                    menu, Fraction(target) if isinstance(target, str) else target, learning=learning, **settings
                )
            except suffice.InvalidArgument as error:
                del self.plans[name]
                return problem(422, str(error))
        self.archived.discard(name)
        return answer(self._known(name))

    def _ask(self, name: str, request: httpx.Request, body: dict[str, Any]) -> httpx.Response:
        key = request.headers["idempotency-key"]
        if key not in self.kept:
            try:
                self.kept[key] = request.content, self._decide(self.selectors[name], body)
            except suffice.InvalidArgument as error:
                return problem(422, str(error))
        content, said = self.kept[key]
        if content != request.content:
            return problem(409, "another body with the same key")
        return problem(410, "archived") if name in self.archived else answer(said)

    def _decide(self, selector: Selector, body: dict[str, Any]) -> Any:
        common = {"available": body.get("available"), "audit": body.get("audit", True), "group": body.get("group")}
        if common["available"] is not None:
            common["available"] = [tuple(one) if isinstance(one, list) else one for one in common["available"]]
        if "count" not in body:
            return decided(selector.ask(**common, context=body.get("context")))
        many = selector.ask_many(body["count"], **common, contexts=body.get("contexts"))
        return {"decisions": [decided(one) for one in many]}

    def _tell(self, selector: Selector, outcome: dict[str, Any]) -> dict[str, Any]:
        identity, said = outcome["decision"], (outcome["success"], outcome.get("cost"))
        if identity in self.outcomes:
            if self.outcomes[identity] == said:
                return {"decision": identity, "status": 200, "result": "unchanged"}
            return {"decision": identity, "status": 409, "detail": "the decision was told another outcome"}
        try:
            selector.tell(to_number(identity), *said)
        except suffice.UnknownDecision as error:
            return {"decision": identity, "status": 404, "detail": str(error)}
        except suffice.InvalidArgument as error:
            return {"decision": identity, "status": 422, "detail": str(error)}
        self.outcomes[identity] = said
        return {"decision": identity, "status": 200, "result": "counted"}

    def _known(self, name: str) -> dict[str, Any]:
        selector, whole = self.selectors[name], self.selectors[name].certificate()
        same = (
            "status", "verdict", "target", "outcomes", "successes", "rate", "debt", "debt_at_most", "holds", "breach",
            "pending", "expired",
        )  # fmt: skip
        return {one: getattr(whole, one) for one in same} | {
            "name": name, "created": 1.0, "archived": 2.0 if name in self.archived else None, "plan": self.plans[name],
            "cost": selector.cost, "mean_cost": selector.mean_cost, "safe_cost": selector.menu.safe_cost,
            "price": selector.price, "asks": 0, "tells": selector.outcomes, "bounds": selector.learning.bounds,
            "chooser": selector.learning.chooser, "model": None, "a field of a later version": 1,
        }  # fmt: skip


def answer(said: Any, status: int = 200) -> httpx.Response:
    """JSON; infinity is null."""
    return httpx.Response(status, json=json.loads(json.dumps(said).replace("Infinity", "null")))


def problem(status: int, detail: str, headers: dict[str, str] | None = None) -> httpx.Response:
    """An error, as RFC 9457 has it."""
    said = {"type": "about:blank", "title": "Trouble", "status": status, "detail": detail, "request_id": "abc"}
    return httpx.Response(status, json=said, headers=headers)


def decided(decision: suffice.Decision) -> dict[str, Any]:
    """A decision as the service answers it."""
    return {
        "decision": None if decision.id == UNAUDITED else to_id(decision.id),
        "arm": decision.arm, "option": decision.option,
        "price": decision.price, "safe": decision.is_safe, "skip": decision.is_skip,
    }  # fmt: skip


def certificate(given: Certificate) -> dict[str, Any]:
    """A certificate as the service answers it."""
    names = [one.name for one in fields(Certificate) if one.name not in ("promise", "account")]
    groups: dict[str, Certificate] = getattr(given, "groups", {})
    said = {name: getattr(given, name) for name in names} | {"text": str(given)}
    return said | ({"groups": {name: certificate(part) for name, part in groups.items()}} if groups else {})
