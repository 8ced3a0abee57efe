"""A simulated user: asks a selector what to do in a scenario and reports the outcome, at once, late or never."""

import heapq
from typing import Protocol

import numpy as np

from suffice.lab.live.scenarios import Phase, Scenario
from suffice.selector.records import Decision


class AskTell(Protocol):
    """What a simulated user needs of a selector, local or remote."""

    def ask(self) -> Decision:
        """What to do now."""

    def tell(self, decision: Decision, success: float, cost: float | None = None) -> None:
        """The outcome."""


class SimulatedUser:
    """Plays a scenario through a selector, one decision a step."""

    def __init__(self, scenario: Scenario, selector: AskTell, seed: int) -> None:
        self.scenario, self.selector = scenario, selector
        self.steps, self.lost = 0, 0
        self.phase: Phase = scenario.phases[0]
        self._rng, stream_rng = np.random.default_rng(seed).spawn(2)
        self._latents = scenario.latents(stream_rng)
        self._waiting: list[tuple[int, int, Decision, float, float | None]] = []  # by the step when it is due

    def step(self) -> None:
        """Ask, and report the outcomes that are due."""
        self.phase, latent = next(self._latents)
        decision = self.selector.ask()
        success, cost = self.scenario.stream.outcome(latent, decision.arm, decision.price)
        due = self._due(decision)
        if due is None:
            self.lost += 1
        else:
            reported_cost = cost if self.scenario.menu.costs is None else None
            heapq.heappush(self._waiting, (due, self.steps, decision, success, reported_cost))
        while self._waiting and self._waiting[0][0] <= self.steps:
            _, _, decision, success, reported_cost = heapq.heappop(self._waiting)
            self.selector.tell(decision, success, reported_cost)
        self.steps += 1

    @property
    def waiting(self) -> int:
        """How many outcomes are not reported yet."""
        return len(self._waiting)

    def _due(self, decision: Decision) -> int | None:
        """The step at which to report the outcome; None for never. The safe option's are never lost nor overdue."""
        soonest, latest = self.scenario.late
        due = self.steps + int(self._rng.integers(soonest, latest + 1))
        chance = self._rng.random()
        share, after = self.scenario.overdue
        if decision.is_safe or chance >= self.phase.lost + share:
            return due
        return None if chance < self.phase.lost else self.steps + after
