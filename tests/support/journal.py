"""What clients of a storm know: what they were given, what they told, and what they never heard of."""

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tests.support.recount import AMENDED, TOLD, WHOLE, Found, Shape

Place = tuple[str, int]  # a selector's name and a decision of it
Said = tuple[int, float | None]  # an outcome: billionths of a success, and the cost


_MENU = {"kind": "options", "safe": "a person", "skip": "skip", "options": {"s": 0.1, "m": 0.3, "l": 0.6}}
_KNOWN = (0.0, 0.1, 0.3, 0.6, 1.0)
PLANS: dict[str, dict[str, Any]] = {
    "plain": {"menu": _MENU, "target": 0.8},
    "hasty": {"menu": {**_MENU, "options": ["s", "m", "l"]}, "target": 0.7, "expire_after": 0.2},
    "seeing": {"menu": _MENU, "target": 0.75, "model": "auto", "max_pending": 300, "expire_after": 4.0},
    "grouped": {"menu": _MENU, "target": 0.9, "max_pending": 200, "expire_after": 3.0},
    "dutiful": {"menu": {one: what for one, what in _MENU.items() if one != "skip"}, "target": 0.85},
}
for _plan in PLANS.values():
    _plan["memory"] = "full"  # so that the plays of all arms add up to all that was told
SHAPES = {
    "plain": Shape(Fraction("0.8"), _KNOWN),
    "hasty": Shape(Fraction("0.7"), (0.0, None, None, None, 1.0)),
    "seeing": Shape(Fraction("0.75"), _KNOWN),
    "grouped": Shape(Fraction("0.9"), _KNOWN),
    "dutiful": Shape(Fraction("0.85"), _KNOWN[1:], has_skip=False),
}


@dataclass(slots=True)
class Item:
    """An outcome that is to be told."""

    name: str
    decision: int
    said: Said
    fate: str = "once"  # once, twice, different, raced
    heard: bool = False  # whether an outcome was acknowledged before

    @property
    def place(self) -> Place:
        return self.name, self.decision

    def body(self) -> dict[str, Any]:
        """As it is sent."""
        units, cost = self.said
        told: dict[str, Any] = {"decision": self.decision, "success": units / WHOLE}
        return told if cost is None else {**told, "cost": cost}


@dataclass
class Journal:
    """What clients know."""

    given: dict[Place, tuple[int, str]] = field(default_factory=dict)  # acknowledged decisions: arm and group
    keyed: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    sent: dict[Place, set[Said]] = field(default_factory=dict)
    heard: dict[Place, Said] = field(default_factory=dict)  # acknowledged outcomes
    counted: Counter[Place] = field(default_factory=Counter)  # answers that said "counted" or "amended"
    doubtful: set[Place] = field(default_factory=set)  # an answer to a tell of these was lost
    unheard: Counter[str] = field(default_factory=Counter)  # decisions that may have been issued and never arrived
    unaudited: Counter[str] = field(default_factory=Counter)
    perhaps: Counter[str] = field(default_factory=Counter)  # of those, the ones that nobody heard of
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def ask(self, name: str, key: str | None, group: str, decisions: list[dict[str, Any]]) -> bool:
        """Note an answered ask; whether it was new."""
        ids = [one["decision"] for one in decisions]
        if key is not None:
            if (name, key) in self.keyed:
                if self.keyed[name, key] != ids:
                    self.wrong.append(f"{name}: key {key} gave {self.keyed[name, key]}, then {ids}")
                return False
            self.keyed[name, key] = ids
        for one in decisions:
            if (name, one["decision"]) in self.given:
                self.wrong.append(f"{name}: decision {one['decision']} was given to two askers")
            self.given[name, one["decision"]] = (one["arm"], group)
        return True

    def tell(self, item: Item, status: int, result: str | None) -> None:
        """Note an answered tell that was to be accepted, or to be refused."""
        place, there = item.place, self.heard.get(item.place)
        if status == 200:
            self.counted[place] += result in ("counted", "amended")
            if there is not None and there != item.said:
                self.wrong.append(f"{place}: {item.said} was accepted after {there}")
            self.heard[place] = item.said
        elif status != 409 or there == item.said or (there is None and item.fate not in ("raced", "different")):
            self.wrong.append(f"{place}: {item} was answered with {status}")

    def check(self, found: Found) -> None:
        """Raise AssertionError if something acknowledged is not in the store, or something in it came from nowhere."""
        assert not self.wrong, "\n".join(self.wrong[:20])
        for (name, identity), (arm, group) in self.given.items():
            line = found.line(name, identity)
            assert line is not None, f"{name}: decision {identity} was given and is lost"
            assert (line.arm, line.group) == (arm, group), f"{name}: given was arm {arm} of {group!r}, there is {line}"
        for (name, identity), said in self.heard.items():
            line = found.line(name, identity)
            assert line is not None, f"{name}: decision {identity} was told and is lost"
            assert line.state in (TOLD, AMENDED), (
                f"{name}: the outcome of {identity} was acknowledged and is lost: {line}"
            )
            assert (line.units, line.cost) == said, f"{name}: {said} was acknowledged, there is {line}"
        for place, times in self.counted.items():
            assert times <= 1, f"{place} was counted {times} times"
        for place in self.heard:
            assert self.counted[place] or place in self.doubtful, f"{place} was acknowledged and never counted"
        for name, lines in found.lines.items():
            known = sum(one == name for one, _ in self.given)
            assert len(lines) <= known + self.unheard[name], f"{name}: {len(lines)} decisions, {known} given"
            shards = [shard for (one, _), some in found.counters.items() if one == name for shard in some.values()]
            more = sum(shard.get("unaudited", 0) for shard in shards) - self.unaudited[name]
            assert 0 <= more <= self.perhaps[name], f"{name}: {more} more without audit than were given"
            for line in lines:
                if line.state in (TOLD, AMENDED):
                    sent = self.sent.get((name, line.id), set())
                    assert (line.units, line.cost) in sent, f"{name}: nobody told {line}, only {sent}"

    def __str__(self) -> str:
        counts = ", ".join(f"{what} {status}: {count}" for (what, status), count in sorted(self.statuses.items()))
        return f"{len(self.given)} given, {len(self.heard)} told, {sum(self.unheard.values())} unheard; {counts}"
