"""What comes back: decisions, arms, certificates and standings, read from JSON. No I/O."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, cast

from suffice.client.outbox import Outcome
from suffice.client.requests import as_json
from suffice.context.learner import ContextReport
from suffice.errors import InvalidArgument, SufficeError, quoted
from suffice.menu.menu import Menu
from suffice.promise.account import FREE, SAFE, SKIP, Account
from suffice.promise.certificate import Certificate, worst
from suffice.promise.rules import Promise
from suffice.selector.records import UNAUDITED, Decision, OptionReport


@dataclass(frozen=True, slots=True)
class Overview:
    """A selector of the service and where it stands, all of one moment."""

    name: str
    created: float  # in seconds since 1970
    archived: float | None
    plan: Mapping[str, Any] | None = field(repr=False)  # None in lists
    status: str  # as a certificate's, or "archived"
    verdict: str
    target: float
    outcomes: int
    successes: float
    rate: float | None
    debt: float
    debt_at_most: float
    holds: bool
    breach: bool
    pending: int
    cost: float
    mean_cost: float | None
    safe_cost: float
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

    What the numbers follow from stays with the service, so there is no `promise`, there is no `account`, no `window` and no
    `bounds_after`.
    """

    text: str = field(default="", repr=False)
    groups: Mapping[str, "RemoteCertificate"] = field(default_factory=dict, repr=False)

    @property
    def status(self) -> str:
        """In one word, of the worst group where there are groups."""
        if self.groups:
            return worst(self.groups.values())
        return super(RemoteCertificate, self).status

    @property
    def verdict(self) -> str:
        """The first sentence of what it says."""
        return self.text.partition("\n")[0]

    def bounds_after(self, tolds: Iterable[int]) -> list[tuple[float, float]]:
        """Refused: the service has the history of a selector, bounds included."""
        raise InvalidArgument(
            "bounds_after must be asked of a selector in this process: see GET /history of the service"
        )

    def window(self, length: int) -> float:
        """Refused: the service knows what this follows from, and its text says it for 500 outcomes."""
        raise InvalidArgument("window must be asked of a selector in this process: print the certificate instead")

    def __str__(self) -> str:
        return self.text


_KEPT_THERE: Final = ("promise", "account", "text", "groups")
_INFINITE: Final = frozenset(("ahead_at_most", "debt_at_most", "upper_success"))


def check_selector(said: Any) -> None:
    """That a selector is there. Nothing is read of it, so it need not be more than an object."""
    if not isinstance(said, dict):
        raise TypeError


def _values(kind: type[Any], said: Mapping[str, Any], less: tuple[str, ...] = ()) -> dict[str, Any]:
    """The fields of a record; what JSON cannot say, infinity, is null there."""
    values = {one.name: said[one.name] for one in fields(kind) if one.name not in less}
    return {name: math.inf if value is None and name in _INFINITE else value for name, value in values.items()}


def page(said: Any) -> tuple[list[Overview], str]:
    """Some selectors of the service, and after which name to go on; "" for nowhere."""
    after = said["next"] or ""
    if not isinstance(after, str):
        raise TypeError
    return [overview(one) for one in said["selectors"]], after


def overview(said: Mapping[str, Any]) -> Overview:
    """A selector of the service and where it stands."""
    return Overview(**_values(Overview, said))


def certificate(said: Mapping[str, Any]) -> RemoteCertificate:
    """A certificate, and those of the groups."""
    return RemoteCertificate(
        **_values(RemoteCertificate, said, _KEPT_THERE),
        promise=cast(Promise, None),
        account=cast(Account, None),
        text=str(said["text"]),
        groups={name: certificate(part) for name, part in (said.get("groups") or {}).items()},
    )


def decision(said: Mapping[str, Any], menu: Menu | None, key: str) -> Decision:
    """A decision, its option as the menu has it; as JSON has it where the menu is not known."""
    identity, arm, option = said["decision"], int(said["arm"]), said["option"]
    if menu is not None:
        if not 0 <= arm < menu.n_arms or as_json(menu.option(arm)) != option:
            raise InvalidArgument(f"menu must be the selector's own: of that, arm {arm} is {quoted(option)}")
        option = menu.option(arm)
    kind = SAFE if said["safe"] else SKIP if said["skip"] else FREE
    return Decision(
        UNAUDITED if identity is None else int(identity),
        arm,
        option,
        kind,
        float(said["price"] or 0.0),
        key,
    )


def options(said: Any, menu: Menu | None) -> list[OptionReport]:
    """A row per arm, its option as the menu has it."""
    rows = [OptionReport(**_values(OptionReport, row)) for row in said["options"]]
    if not rows:
        raise ValueError
    return rows if menu is None else [replace(row, option=menu.option(row.arm)) for row in rows]


def context_report(said: Any) -> ContextReport:
    """What is made of contexts."""
    return ContextReport(**_values(ContextReport, said))


def menu_of(plan: Any) -> Menu | None:
    """The menu that a Python client sent; None for one that was sent in another form."""
    try:
        form = plan["menu"]
        return Menu.from_recipe(form["recipe"]) if form["kind"] == "recipe" else None
    except (LookupError, TypeError, ValueError, SufficeError):
        return None


def rejections(said: Any, sent: Sequence[Outcome]) -> list[dict[str, Any]]:
    """The results of outcomes that are errors. There has to be one of each, or none of them counts as delivered."""
    results = said["results"]
    if sorted(item["decision"] for item in results) != sorted(one.decision for one in sent):
        raise ValueError
    if not all(200 <= item["status"] < 300 or 400 <= item["status"] < 500 for item in results):
        raise ValueError
    return [item for item in results if item["status"] >= 300]
