"""The script of a run: what is asked for in each step, which outcomes are told when, and how options perform.

All random numbers come from generators of the standard library, seeded by the configuration's name. The outcome of an option
in a step does not depend on earlier choices.
"""

import heapq
import random
import zlib
from dataclasses import dataclass
from typing import Any, Final

from .making import View
from .records import Flow, World

FRACTIONS: Final = (0.25, 0.3333, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0)
LEVELS: Final = 8
TELL, GIVE_UP, TWICE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for in a step."""

    count: int = 1
    options: list[Any] | None = None
    audited: bool = True
    contexts: list[dict[str, Any]] | None = None
    group: str | None = None
    insist: bool = False


@dataclass(frozen=True, slots=True)
class Event:
    """An outcome that is told."""

    what: int
    decision: Any
    success: float
    cost: float | None


class Judge:
    """The outcome of each option in each step."""

    def __init__(self, world: World, view: View, steps: int, seed: int) -> None:
        self.world, self.view, self.steps, self.seed = world, view, steps, seed
        inner = view.n_arms - 1 - view.first
        self.strength = [(arm - view.first + 1) / (inner + 1) for arm in range(view.n_arms)]

    def phase(self, step: int) -> float:
        """How easy this step is."""
        phases = self.world.phases
        return phases[min(len(phases) - 1, step * len(phases) // self.steps)]

    def judge(self, step: int, arm: int, option: Any, context: dict[str, Any] | None) -> tuple[float, float | None]:
        """The success and, where the menu does not know it, the cost."""
        luck = random.Random(self.seed * 1_000_003 + step)
        draw, other, spread = luck.random(), luck.random(), luck.random()
        world = self.world
        if arm == self.view.n_arms - 1:
            success = float(other < world.best)
        elif arm < self.view.first:
            success = float(other < world.leak)
        else:
            success = float(self._succeeds(luck, draw, step, arm, option, context))
        if success and world.fractions and (arm < self.view.n_arms - 1 or world.best < 1.0):
            success = FRACTIONS[int(8.0 * spread)]
        known = self.view.costs[arm]
        cost = self.strength[arm] * self.view.top * world.cost_scale * (0.4 + 0.6 * spread) if known is None else None
        return success, cost

    def _succeeds(
        self, luck: random.Random, draw: float, step: int, arm: int, option: Any, context: dict[str, Any] | None
    ) -> bool:
        ease, kind = self.phase(step), self.world.kind
        if context is not None:
            ease *= 2.0 - 1.9 * (0.5 if context["level"] is None else context["level"])
        if kind == "points":
            point = ease + 0.5 * (draw - 0.5) * luck.random()
            return bool(option[0] <= point <= option[1])
        if kind == "parts":
            right = {name: luck.random() < 1.0 - 0.5 / (place + ease) for place, name in enumerate("abcdef")}
            return any(right[name] for name in option)
        if kind == "coins":
            draw = [luck.random() for _ in range(arm + 1)][arm]
        strength = float(self.strength[arm])
        if self.view.options[arm] is None:  # a threshold between the ends
            low, high = self.view.options[0], self.view.options[2]
            strength = (option - low) / (high - low)
        return bool(draw**ease <= strength)


class Script:
    """The asks of a run, and the outcomes that are due. Steps are taken in order."""

    def __init__(self, name: str, flow: Flow, world: World, view: View, steps: int) -> None:
        seed = zlib.crc32(name.encode())
        self.flow, self.view, self.steps = flow, view, steps
        self.random = random.Random(seed)
        self.judge = Judge(world, view, steps, seed)
        self.planned: list[tuple[int, float, int, Event]] = []  # by step, then at random
        self.asked = 0

    def wish(self) -> Wish:
        """What is asked for next."""
        flow, luck = self.flow, self.random
        options, insist = None, False
        if flow.restricted and luck.random() < flow.restricted:
            inner = self.view.options[self.view.first : -1]
            options = [option for option in inner if luck.random() < 0.6]
            insist = bool(flow.insisted) and luck.random() < flow.insisted
            options += (inner[:1] if not options else []) if insist else self.view.options[-1:]
        audited = not (flow.unaudited and luck.random() < flow.unaudited)
        group = luck.choice(flow.groups) if flow.groups else None
        contexts = [self._context() for _ in range(flow.batch)] if flow.contexts else None
        return Wish(flow.batch, options, audited, contexts, group, insist)

    def _context(self) -> dict[str, Any]:
        luck = self.random
        level = None if luck.random() < 0.04 else luck.randrange(LEVELS) / LEVELS
        return {"level": level, "kind": luck.choice("abc")}

    def take(self, step: int, decision: Any, arm: int, option: Any, context: dict[str, Any] | None = None) -> None:
        """Plan what happens to a decision."""
        flow, luck = self.flow, self.random
        success, cost = self.judge.judge(self.asked, arm, option, context)
        self.asked += 1
        if flow.priced and cost is None and luck.random() < 0.5:
            cost = 0.9 * (self.view.costs[arm] or 0.0)
        event = Event(TELL, decision, success, cost)
        when = max(step + (luck.randint(0, flow.delay) if flow.delay else 0), flow.hoard)
        if flow.lost and luck.random() < flow.lost:
            return
        if flow.given_up and luck.random() < flow.given_up:
            self._plan(when, Event(GIVE_UP, decision, 0.0, None))
            if luck.random() < flow.amended:
                self._plan(when + luck.randint(1, 40), event)
            return
        self._plan(when, event)
        if flow.twice and luck.random() < flow.twice and arm >= self.view.first:  # a skip would be amended
            self._plan(when + luck.randint(1, 5), Event(TWICE, decision, 1.0 - success, cost))

    def _plan(self, when: int, event: Event) -> None:
        heapq.heappush(self.planned, (when, self.random.random(), len(self.planned), event))

    def due(self, step: int) -> list[Event]:
        """The outcomes that are due by the end of a step."""
        events = []
        while self.planned and self.planned[0][0] <= step:
            events.append(heapq.heappop(self.planned)[3])
        return events


def moments_of(steps: int) -> set[int]:
    """The steps after which certificates are read."""
    return {steps // 3 - 1, 2 * steps // 3 - 1, steps - 1}
