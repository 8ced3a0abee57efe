"""A journal of all answers that the clients of a storm received, and its comparison with the store."""

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from suffice.service.http.decision_ids import to_id, to_number
from tests.support.recount import AMENDED, SKIPPED, TOLD, WHOLE, Found, Shape

Place = tuple[str, int]  # a selector's name and a decision of it
Outcome = tuple[int, float | None]  # billionths of a success, and the cost


_OPTIONS = {"s": 0.1, "m": 0.3, "l": 0.6, "a person": 1.0}
_MENU = {"kind": "options", "safe": "a person", "skip": "skip", "options": _OPTIONS}
_KNOWN = (0.0, 0.1, 0.3, 0.6, 1.0)
PLANS: dict[str, dict[str, Any]] = {
    "plain": {"menu": _MENU, "target": 0.8},
    "hasty": {
        "menu": {**_MENU, "options": {**dict.fromkeys(_OPTIONS), "a person": 1.0}},
        "target": 0.7,
        "expire_after": 0.2,
    },
    "seeing": {"menu": _MENU, "target": 0.75, "model": "auto", "in_flight": 20, "expire_after": 4.0},
    "grouped": {"menu": _MENU, "target": 0.9, "in_flight": 0, "max_debt": 2, "expire_after": 3.0},
    "dutiful": {"menu": {one: what for one, what in _MENU.items() if one != "skip"}, "target": 0.85, "max_debt": 0},
}
for _plan in PLANS.values():
    _plan["learning"] = {"memory": "full"}  # so that the plays of all arms add up to all outcomes
SHAPES = {
    "plain": Shape(Fraction("0.8"), _KNOWN),
    "hasty": Shape(Fraction("0.7"), (0.0, None, None, None, 1.0)),
    "seeing": Shape(Fraction("0.75"), _KNOWN, in_flight=20),
    "grouped": Shape(Fraction("0.9"), _KNOWN, max_debt=2, in_flight=0),
    "dutiful": Shape(Fraction("0.85"), _KNOWN[1:], has_skip=False, max_debt=0),
}


@dataclass(slots=True)
class Item:
    """An outcome to tell."""

    name: str
    decision: int
    outcome: Outcome
    fate: str = "once"  # once, twice, different, raced
    acknowledged: bool = False  # whether an outcome of this decision was acknowledged before

    @property
    def place(self) -> Place:
        return self.name, self.decision

    def body(self) -> dict[str, Any]:
        """The body of the request."""
        units, cost = self.outcome
        told: dict[str, Any] = {"decision": to_id(self.decision), "success": units / WHOLE}
        return told if cost is None else {**told, "cost": cost}


@dataclass
class Journal:
    """What clients sent and what was answered."""

    issued: dict[Place, tuple[int, str]] = field(default_factory=dict)  # arm and group of each decision
    keyed: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    sent: dict[Place, set[Outcome]] = field(default_factory=dict)
    acknowledged: dict[Place, Outcome] = field(default_factory=dict)
    counted: Counter[Place] = field(default_factory=Counter)  # answers that said "counted" or "amended"
    doubtful: set[Place] = field(default_factory=set)  # an answer to a tell of these was lost
    unanswered: Counter[str] = field(default_factory=Counter)  # decisions that may have been issued without an answer
    unaudited: Counter[str] = field(default_factory=Counter)
    perhaps_unaudited: Counter[str] = field(default_factory=Counter)  # the same, without an answer
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def ask(self, name: str, key: str | None, group: str, decisions: list[dict[str, Any]]) -> bool:
        """Note an answered ask; returns whether it was new."""
        ids = [one["decision"] for one in decisions]
        if key is not None:
            if (name, key) in self.keyed:
                if self.keyed[name, key] != ids:
                    self.wrong.append(f"{name}: key {key} gave {self.keyed[name, key]}, then {ids}")
                return False
            self.keyed[name, key] = ids
        for one in decisions:
            place = name, to_number(one["decision"])
            if place in self.issued:
                self.wrong.append(f"{name}: decision {one['decision']} was issued twice")
            self.issued[place] = (one["arm"], group)
        return True

    def tell(self, item: Item, status: int, result: str | None) -> None:
        """Note an answered tell, and whether the status was wrong."""
        place, earlier = item.place, self.acknowledged.get(item.place)
        if status == 200:
            self.counted[place] += result in ("counted", "amended")
            if earlier is not None and earlier != item.outcome:
                self.wrong.append(f"{place}: {item.outcome} was accepted after {earlier}")
            self.acknowledged[place] = item.outcome
        elif status != 409 or earlier == item.outcome or (earlier is None and item.fate not in ("raced", "different")):
            self.wrong.append(f"{place}: {item} was answered with {status}")

    def check(self, found: Found) -> None:
        """Raise AssertionError if the store lacks anything acknowledged or has anything that was not sent."""
        assert not self.wrong, "\n".join(self.wrong[:20])
        for (name, identity), (arm, group) in self.issued.items():
            line = found.line(name, identity)
            assert line is not None, f"{name}: decision {identity} was issued and is lost"
            assert (line.arm, line.group) == (arm, group), (
                f"{name}: arm {arm} of {group!r} was issued, the store has {line}"
            )
        for (name, identity), outcome in self.acknowledged.items():
            line = found.line(name, identity)
            assert line is not None, f"{name}: decision {identity} was told and is lost"
            assert line.state in (TOLD, AMENDED, SKIPPED), (
                f"{name}: the outcome of {identity} was acknowledged and is lost: {line}"
            )
            assert (line.units, line.cost) == outcome, f"{name}: {outcome} was acknowledged, the store has {line}"
            if line.state == SKIPPED:  # it was settled when it was asked
                assert not self.counted[name, identity], (
                    f"{name}: {identity} was skipped, and its failure counted again"
                )
        for place, times in self.counted.items():
            assert times <= 1, f"{place} was counted {times} times"
        for place in self.acknowledged:
            line = found.line(*place)
            skipped = line is not None and line.state == SKIPPED
            assert skipped or self.counted[place] or place in self.doubtful, (
                f"{place} was acknowledged and never counted"
            )
        for name, lines in found.lines.items():
            known = sum(one == name for one, _ in self.issued)
            assert len(lines) <= known + self.unanswered[name], f"{name}: {len(lines)} decisions, {known} issued"
            shards = [shard for (one, _), some in found.counters.items() if one == name for shard in some.values()]
            more = sum(shard.get("unaudited", 0) for shard in shards) - self.unaudited[name]
            assert 0 <= more <= self.perhaps_unaudited[name], f"{name}: {more} more without audit than were issued"
            for line in lines:
                if line.state in (TOLD, AMENDED):
                    sent = self.sent.get((name, line.id), set())
                    assert (line.units, line.cost) in sent, f"{name}: the store has {line}, but clients sent {sent}"

    def __str__(self) -> str:
        counts = ", ".join(f"{what} {status}: {count}" for (what, status), count in sorted(self.statuses.items()))
        unanswered = sum(self.unanswered.values())
        return f"{len(self.issued)} issued, {len(self.acknowledged)} told, {unanswered} unanswered; {counts}"
