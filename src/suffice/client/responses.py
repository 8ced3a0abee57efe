"""Replies read from JSON: decisions, options, certificates and overviews. No I/O."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, ClassVar, Final, Protocol, TypedDict, cast

from suffice.client.outbox import Outcome
from suffice.client.problems import ResultJson
from suffice.client.requests import UNAUDITED_ID, JsonObject, RemoteDecision, as_json
from suffice.context.learner import ContextReport
from suffice.errors import InvalidArgument, SufficeError, quoted
from suffice.menu.menu import Menu
from suffice.promise.certificate import Certificate, worst
from suffice.promise.record import FREE, SAFE, SKIP, Account
from suffice.promise.rules import Promise
from suffice.selector.records import OptionReport


@dataclass(frozen=True, slots=True)
class Overview:
    """A selector of the service and its state, all at one moment."""

    name: str
    created: float  # in seconds since 1970
    archived: float | None
    plan: Mapping[str, object] | None = field(repr=False)  # None in lists
    status: str  # that of the certificate, or "archived"
    verdict: str
    target: float
    outcomes: int
    successes: float
    rate: float | None
    debt: float
    owed_at_most: float
    debt_at_most: float
    holds: bool
    assumption_violated: bool
    asked: int
    pending: int
    cost: float
    mean_cost: float | None
    safe_cost: float
    playing_safe: bool
    events: Sequence[Mapping[str, object]]
    price: float | None
    asks: int
    tells: int
    expired: int
    bounds: str
    chooser: str
    model: str | None


@dataclass(frozen=True, slots=True)
class RemoteCertificate(Certificate):
    """The service's certificate: its numbers, and the text that it prints. `groups` holds those of the groups, if any.

    The account and the promise stay with the service: here `promise` and `account` are None, and `window` and `bounds_after`
    raise.
    """

    text: str = field(default="", repr=False)
    groups: Mapping[str, "RemoteCertificate"] = field(default_factory=dict, repr=False)

    @property
    def status(self) -> str:
        """The status in one word; with groups, that of the worst one."""
        if self.groups:
            return worst(part.judged(len(self.groups)) for part in self.groups.values())
        return super(RemoteCertificate, self).status

    def _lines(self) -> list[str]:
        return self.text.split("\n")

    def bounds_after(self, outcomes: Iterable[int]) -> list[tuple[float, float]]:
        """Raises: the service has the history of a selector, bounds included."""
        raise InvalidArgument(
            "bounds_after must be asked of a selector in this process: see GET /history of the service"
        )

    def window(self, length: int) -> float:
        """Raises: the service has the account, and its text states the worst window of 500 outcomes."""
        raise InvalidArgument("window must be asked of a selector in this process: print the certificate instead")


_LOCAL: Final = ("promise", "account", "text", "groups")  # fields that are not numbers of the service
_INFINITE: Final = frozenset(("ahead_at_most", "debt_at_most", "upper_success"))


class Record(Protocol):
    """A dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


class DecisionJson(TypedDict):
    """A decision as the service answers it."""

    decision: str | None
    arm: int
    option: object
    price: float | None
    safe: bool
    skip: bool


class PageJson(TypedDict):
    """A page of selectors."""

    selectors: list[JsonObject]
    next: str | None


class MenuJson(TypedDict, total=False):
    """The menu in a plan."""

    kind: str
    recipe: JsonObject


def check_selector(reply: object) -> None:
    """Check that a reply is about a selector. No field of it is read, so it need only be an object."""
    if not isinstance(reply, dict):
        raise TypeError


def _values(kind: type[Record], reply: Mapping[str, object], without: tuple[str, ...] = ()) -> dict[str, Any]:
    """The fields of a record; JSON has null for infinity."""
    values = {item.name: reply[item.name] for item in fields(kind) if item.name not in without}
    return {name: math.inf if value is None and name in _INFINITE else value for name, value in values.items()}


def page(reply: PageJson) -> tuple[list[Overview], str]:
    """A page of selectors, and the name after which the next one begins; "" at the end."""
    after = reply["next"] or ""
    if not isinstance(after, str):
        raise TypeError
    return [overview(selector) for selector in reply["selectors"]], after


def overview(reply: Mapping[str, object]) -> Overview:
    """A selector of the service and its state."""
    return Overview(**_values(Overview, reply))


def certificate(reply: Mapping[str, object]) -> RemoteCertificate:
    """A certificate, and those of the groups."""
    groups = cast(Mapping[str, JsonObject], reply.get("groups") or {})
    return RemoteCertificate(
        **_values(RemoteCertificate, reply, _LOCAL),
        promise=cast(Promise, None),
        account=cast(Account, None),
        text=str(reply["text"]),
        groups={name: certificate(part) for name, part in groups.items()},
    )


def decision(reply: DecisionJson, menu: Menu | None, key: str) -> RemoteDecision:
    """A decision. Its option is as the menu has it, or as JSON has it where the menu is not known."""
    identity, arm, option = reply["decision"], int(reply["arm"]), reply["option"]
    if not (identity is None or isinstance(identity, str)):
        raise TypeError
    if menu is not None:
        if not 0 <= arm < menu.n_arms or as_json(menu.option(arm)) != option:
            raise InvalidArgument(f"menu must be the selector's own: of that, arm {arm} is {quoted(option)}")
        option = menu.option(arm)
    role = SAFE if reply["safe"] else SKIP if reply["skip"] else FREE
    price = float(reply["price"] or 0.0)
    return RemoteDecision.make(UNAUDITED_ID if identity is None else identity, arm, option, role, price, key)


def options(reply: Mapping[str, list[JsonObject]], menu: Menu | None) -> list[OptionReport]:
    """A row per arm. Its option is as the menu has it, if that is known."""
    rows = [OptionReport(**_values(OptionReport, row)) for row in reply["options"]]
    if not rows:
        raise ValueError
    return rows if menu is None else [replace(row, option=menu.option(row.arm)) for row in rows]


def context_report(reply: Mapping[str, object]) -> ContextReport:
    """The report on contexts."""
    return ContextReport(**_values(ContextReport, reply))


def menu_of(reply: Mapping[str, Mapping[str, MenuJson]]) -> Menu | None:
    """The menu of a selector that a Python client made; None for one that was made in another form."""
    plan = reply["plan"]
    try:
        form = plan["menu"]
        return Menu.from_recipe(form["recipe"]) if form["kind"] == "recipe" else None
    except (LookupError, TypeError, ValueError, SufficeError):
        return None


def rejections(reply: Mapping[str, list[ResultJson]], sent: Sequence[Outcome]) -> list[ResultJson]:
    """The results of outcomes that are errors. There must be one result of each outcome that was sent."""
    results = reply["results"]
    if sorted(result["decision"] for result in results) != sorted(outcome.decision for outcome in sent):
        raise ValueError
    if not all(200 <= result["status"] < 300 or 400 <= result["status"] < 500 for result in results):
        raise ValueError
    return [result for result in results if result["status"] >= 300]
