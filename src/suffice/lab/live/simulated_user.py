"""A player: asks a selector what to do in a world, sees what happens, and tells it, at once or late or never."""

import heapq
from typing import Protocol

import numpy as np

from suffice.lab.live.scenarios import Phase, Scenario
from suffice.selector.records import Decision


class AskTell(Protocol):
    """A selector, here or in a service: what a player needs of it."""

    def ask(self) -> Decision:
        """What to do now."""

    def tell(self, decision: Decision, success: float, cost: float | None = None) -> None:
        """How it went."""


class SimulatedUser:
    """Plays a world through a selector, one decision a step."""

    def __init__(self, world: Scenario, selector: AskTell, seed: int) -> None:
        self.world, self.selector = world, selector
        self.steps, self.lost = 0, 0
        self.phase: Phase = world.phases[0]
        self._rng, theirs = np.random.default_rng(seed).spawn(2)
        self._course = world.course(theirs)
        self._under_way: list[tuple[int, int, Decision, float, float | None]] = []  # soonest first

    def step(self) -> None:
        """Ask, see, and tell what is due."""
        self.phase, latent = next(self._course)
        decision = self.selector.ask()
        success, cost = self.world.stream.judge(latent, decision.arm, decision.price)
        due = self._due(decision)
        if due is None:
            self.lost += 1
        else:
            told = cost if self.world.menu.costs is None else None
            heapq.heappush(self._under_way, (due, self.steps, decision, success, told))
        while self._under_way and self._under_way[0][0] <= self.steps:
            _, _, decision, success, told = heapq.heappop(self._under_way)
            self.selector.tell(decision, success, told)
        self.steps += 1

    @property
    def under_way(self) -> int:
        """How many outcomes are on their way."""
        return len(self._under_way)

    def _due(self, decision: Decision) -> int | None:
        """At which step the outcome is told; None for never. What the safe option did is never lost nor overdue."""
        soonest, latest = self.world.late
        due = self.steps + int(self._rng.integers(soonest, latest + 1))
        chance = self._rng.random()
        share, after = self.world.overdue
        if decision.is_safe or chance >= self.phase.lost + share:
            return due
        return None if chance < self.phase.lost else self.steps + after
