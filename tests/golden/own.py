"""Parts that a user might write: choosers, bounds, functions that look at contexts, orders of containment."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Turns:
    """A chooser that plays the allowed options in turn."""

    name = "turns"

    def __init__(self) -> None:
        self.turn = 0

    def choose(self, price: float, bounds: Any, allowed: NDArray[np.bool_] | None) -> int:
        arms = len(bounds.upper)
        for _ in range(arms):
            self.turn = (self.turn + 1) % arms
            if allowed is None or allowed[self.turn]:
                return self.turn
        return arms - 1


class Greedy:
    """A chooser that uses the bounds and outcomes only; some of its calls fail."""

    name = "greedy"
    context_free = True

    def __init__(self) -> None:
        self.outcomes = 0

    def choose(self, price: float, bounds: Any, allowed: NDArray[np.bool_] | None) -> int:
        if self.outcomes % 97 == 96:
            raise RuntimeError("no idea")
        worth = np.asarray(bounds.lower) - 0.9 * price * np.asarray(bounds.upper)
        if allowed is not None:
            worth = np.where(allowed, worth, math.inf)
        return int(np.argmin(worth))

    def learn(self, arm: int, success: float, cost: float | None) -> None:
        self.outcomes += 1


class Sighted(Greedy):
    """Like `Greedy`, but it may know more than the bounds do: so they do not learn from its plays."""

    name = "sighted"
    context_free = False


class Cautious:
    """Bounds a fixed number of deviations wide."""

    name = "cautious"
    upper: NDArray[np.float64]
    lower: NDArray[np.float64]

    def start(self, menu: Any, horizon: int | None) -> None:
        self.menu = menu
        self.upper, self.lower = np.ones(menu.n_arms), np.zeros(menu.n_arms)
        for arm in range(menu.n_arms):
            self.lower[arm] = menu.known_cost(arm) or 0.0
        if menu.has_skip:
            self.upper[0] = 0.0

    def update(self, tally: Any, arm: int, told: int) -> None:
        if self.menu.is_boundary(arm):
            return
        plays = float(tally.plays[arm])
        width = math.sqrt(1.5 / max(1.0, plays))
        self.upper[arm] = min(1.0, float(tally.successes[arm]) / max(1.0, plays) + width)
        if self.menu.known_cost(arm) is None:
            self.lower[arm] = max(0.0, float(tally.costs[arm]) / max(1.0, float(tally.priced[arm])) - width)

    def refresh(self, tally: Any, told: int) -> None:
        for arm in range(self.menu.n_arms):
            if tally.plays[arm]:
                self.update(tally, arm, told)


def guess(context: dict[str, Any]) -> list[float]:
    """Rough probabilities of three options."""
    hard = context["level"] if context["level"] is not None else 0.5
    return [round(max(0.05, min(0.95, strength - 0.4 * hard)), 3) for strength in (0.5, 0.75, 0.95)]


def has_letters_of(a: str, b: str) -> bool:
    """An order of containment: an option has all letters of another."""
    return set(b) <= set(a)
