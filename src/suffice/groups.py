"""Groups: a debt and a promise for each city, tenant or language, and what is learned shared by all.

A group is a selector of its own as far as the promise goes: its own book, its own decisions out, its own price. What is
learned of the options, and of contexts, all groups have in common. The price of a group begins at the price of all, and
follows its own from OWN_PRICE outcomes on.
"""

import copy
from typing import TYPE_CHECKING, Any, Final

from suffice.checks import cost_told, whole
from suffice.controller import Controller
from suffice.errors import InvalidArgument, UnknownDecision, shown
from suffice.grouped import Grouped
from suffice.kernels import layout as flat
from suffice.kernels.arms import remember
from suffice.learner import Floats, Learner, Mask
from suffice.ledger import Ledger
from suffice.looking import Insight, LookingLearner
from suffice.records import UNAUDITED, Decision
from suffice.selector import Selector

if TYPE_CHECKING:
    from collections.abc import Iterable

SHIFT: Final = 40  # an id says which group it is of in the bits above these
OWN_PRICE: Final = 1024  # by measurement: as long as groups are small, what all pay is the better hint
LONGEST: Final = 200  # characters of a name
COPIED: Final = ("_ledger", "_proposed", "_notes", "_cost", "_last_seen")


class SharedLearner(Learner):
    """The learner of all groups as one of them sees it: the same but for the price."""

    def __init__(self, whole_one: Grouped) -> None:
        self._whole = whole_one
        main = self._main
        self.menu, self.bounds, self.chooser, self.memory = main.menu, main.bounds, main.chooser, main.memory
        self.arms = [0.0] * flat.HEAD  # for the price
        for cell in (flat.HINT, flat.CEILING, flat.CURVE):
            self.arms[cell] = float(main.arms[cell])
        self.arms[flat.HINT_AT], self.arms[flat.PRICE_NOW] = OWN_PRICE, self.arms[flat.CEILING]

    @property
    def _main(self) -> Learner:
        return self._whole._learner

    def _share_price(self) -> None:
        """Take over the hint of all, until there is one of its own."""
        if self.arms[flat.HINT_AT] <= OWN_PRICE:
            self.arms[flat.HINT] = float(self._main.arms[flat.HINT])

    def dual(self, book: Any) -> float:
        self._share_price()
        return super().dual(book)

    def price(self, book: Any) -> float:
        self._share_price()
        return super().price(book)

    def hint(self) -> list[float]:
        self._share_price()
        return super().hint()

    @property
    def proposed(self) -> bool:
        """Whether a model, or a chooser of the user's own, had the last arm played."""
        return self._main.proposed

    @proposed.setter
    def proposed(self, value: bool) -> None:
        self._main.proposed = value

    def propose(self, price: float, allowed: Mask | None, told: int) -> int:
        return self._main.propose(price, allowed, self._whole._steps())

    def optimistic(self, price: float, allowed: Mask | None) -> int:
        return self._main.optimistic(price, allowed)

    def learn(
        self, arm: int, success: float, cost: float | None, plays: int, told: int, price: float, proposed: bool = False
    ) -> None:
        self._whole._elsewhere += plays
        if plays and self.arms[flat.CURVE]:
            remember(self.arms, told, price)
        main = self._main
        own = float(main.arms[flat.PRICE_NOW])
        main.arms[flat.PRICE_NOW] = self.arms[flat.PRICE_NOW]  # what the guard charges is what this group paid
        try:
            main.learn(arm, success, cost, plays, self._whole._steps(), price, proposed)
        finally:
            main.arms[flat.PRICE_NOW] = own
        self.arms[flat.PRICE_NOW] = price

    def columns(self) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
        return self._main.columns()

    def fill(self, rows: list[list[Any]], told: int, price: float, kept: dict[str, Any]) -> None:
        """Nothing: what is learned is saved with all groups."""


class Group(Selector):
    """One group of a selector; ask and tell through the selector, or here."""

    _number = 0  # among all groups, from 1 on

    def __init__(self, whole_one: Grouped, name: str) -> None:
        Controller.__init__(
            self, whole_one._promise, max_pending=whole_one._max_pending, expire_after=whole_one._expire_after,
            clock=whole_one._clock,
        )  # fmt: skip
        self.name, self._whole = name, whole_one
        self._lock = whole_one._lock
        self._menu, self._horizon, self._prices = whole_one._menu, whole_one._horizon, whole_one._prices
        self._learner: Learner = SharedLearner(whole_one)
        self._proposed, self._notes, self._groups, self._elsewhere = set(), {}, {}, 0
        self._opened = self._menu.arms  # a first round is not played again for each group
        self._chooser_failed = False
        self._desk = None

    @property
    def _looking(self) -> LookingLearner | None:
        return self._whole._looking

    def _own_id(self, decision: Decision) -> int:
        return decision.id & ((1 << SHIFT) - 1)

    def _unseat(self, looking: LookingLearner, identity: int) -> None:
        """Nothing: only decisions without a group have seats, and theirs bear the same numbers."""

    def _ask(self, allowed: Any, audit: bool, now: float, at: tuple[float, int] | None = None) -> Decision:
        self._learner.proposed = False
        decision = Controller._ask(self, allowed, audit, now, at)
        if not audit:
            return decision
        if self._learner.proposed:
            self._proposed.add(decision.id)
        return decision._replace(id=decision.id | (self._number << SHIFT))

    def ask(
        self, *, available: "Iterable[Any] | None" = None, audit: bool = True, context: Any = None,
        group: str | None = None,
    ) -> Decision:  # fmt: skip
        """What to do now; as `Selector.ask`, for this group."""
        self._no_group(group)
        if self._looking is not None or context is not None:
            return self._look_and_ask([context], available, audit)[0]
        return Controller.ask(self, available=available, audit=audit)

    def reseed(self, seed: int) -> None:
        """Refused: groups share what is random."""
        raise InvalidArgument("a group must be reseeded with the selector that it belongs to: selector.reseed(seed)")

    def insight(self) -> Insight:
        """What is made of contexts: the same for all groups."""
        return self._whole.insight()

    def _no_group(self, group: Any) -> None:
        if group is not None:
            raise InvalidArgument(f"group must be left out where one is asked by itself, got {shown(group)}")

    def _group(self, name: Any) -> "Group":
        self._no_group(name)
        return self

    def tell(self, decision: Decision | int, success: float, cost: float | None = None) -> None:
        """How a decision of this group went; as `Selector.tell`."""
        Controller.tell(self, decision, success, cost)
        self._say_warning()

    def _holder(self, decision: Any) -> tuple[Controller, Any]:
        found = holder(self._whole, decision)
        if found[0] is not self:
            raise UnknownDecision(f"decision {shown(decision)} was never asked of group {self.name!r}")
        return found

    def _warn_once(self, message: str) -> None:
        self._whole._warn_once(message)

    def _say_warning(self) -> None:
        self._whole._say_warning()

    def __repr__(self) -> str:
        return super().__repr__().replace("<Group", f"<Group {self.name!r}", 1)

    # --- saving

    def part(self) -> dict[str, Any]:
        """What the group adds to the state of all, in JSON's terms."""
        return {
            "name": self.name,
            "hint": self._learner.hint(),
            "cost": self.cost,
            "proposed": sorted(self._proposed),
            "notes": self._notes_written(),
            **self._ledger.state(),
        }

    def state(self) -> dict[str, Any]:
        """Refused: a group has no state without the others."""
        raise InvalidArgument("a group must be saved with the selector that it belongs to: selector.save(path)")

    def copied(self) -> dict[str, Any]:
        """What a copy of the group is made from."""
        return {"name": self.name, "arms": list(self._learner.arms)} | {
            name: copy.deepcopy(getattr(self, name)) for name in COPIED
        }

    def __getstate__(self) -> dict[str, Any]:
        raise InvalidArgument("a group must be copied with the selector that it belongs to")

    def __deepcopy__(self, memo: dict[int, Any]) -> "Controller":
        raise InvalidArgument("a group must be copied with the selector that it belongs to")


def make_group(whole_one: Grouped, name: Any) -> Group:
    """A group that is not yet one of the selector's."""
    if not isinstance(name, str) or not name or len(name) > LONGEST:
        raise InvalidArgument(f"group must be a name of 1 to {LONGEST} characters, got {shown(name)}")
    if whole_one._opened < whole_one._menu.arms - 1:
        raise InvalidArgument("group must be left out where the paper's first round is played")
    return Group(whole_one, name)


def add_group(whole_one: Grouped, group: Group) -> Group:
    """Make it one of the selector's."""
    if group.name in whole_one._groups:
        raise InvalidArgument(f"group must have a name of its own, got {group.name!r} twice")
    whole_one._numbered.append(group)
    group._number = len(whole_one._numbered)
    whole_one._groups[group.name] = group
    return group


def holder(whole_one: Grouped, decision: Any) -> tuple[Grouped, Any]:
    """The group whose decision it is, or the selector itself, and how it is called there."""
    identity = decision.id if isinstance(decision, Decision) else decision
    if isinstance(identity, bool) or not hasattr(identity, "__index__"):
        return whole_one, decision
    if identity == UNAUDITED and isinstance(decision, Decision):
        raise InvalidArgument("decision was asked with audit=False, so its outcome is not counted")
    if identity.__index__() < 1 << SHIFT:
        return whole_one, decision
    number = int(identity) >> SHIFT
    if number > len(whole_one._numbered):
        raise UnknownDecision(f"decision {shown(identity)} was never asked of this selector")
    own = int(identity) & ((1 << SHIFT) - 1)
    return whole_one._numbered[number - 1], decision._replace(id=own) if isinstance(decision, Decision) else own


def restore_groups(whole_one: Grouped, parts: list[dict[str, Any]]) -> None:
    """The groups that were saved."""
    for part in parts:
        group = add_group(whole_one, make_group(whole_one, part["name"]))
        group._cost = cost_told(part["cost"])
        group._ledger = Ledger.from_state(whole_one._promise, part, group._arms(), group._kind)
        if whole_one._prices == "curve":
            group._learner.take_hint(part["hint"])
        group._learner.arms[flat.PRICE_NOW] = group._learner.price(group._ledger.page())
        group._proposed = {whole("proposed", identity, 0) for identity in part["proposed"]}
        group._take_notes(part["notes"])


def paste_groups(whole_one: Grouped, parts: list[dict[str, Any]]) -> None:
    """The groups of a copy."""
    for part in parts:
        group = add_group(whole_one, make_group(whole_one, part["name"]))
        for name in COPIED:
            setattr(group, name, part[name])
        group._learner.arms = part["arms"]
        group._ledger.restored = True
