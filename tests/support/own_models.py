"""Custom models that know nothing: one that sometimes raises, and one whose predictions are wrong or impossible."""

import math
from typing import Any

from suffice import Menu


class Own:
    """A custom model that knows nothing, and sometimes raises."""

    means: tuple[float, ...] = (0.5,)

    def __init__(self) -> None:
        self.outcomes_seen: list[Any] = []

    def open(self, menu: Menu) -> None:
        self.menu = menu

    def predict(self, context: Any) -> Any:
        if len(self.outcomes_seen) % 5 == 4:
            raise RuntimeError("not now")
        mean = self.means[len(self.outcomes_seen) % len(self.means)]
        return [mean] * self.menu.n_arms, [0.1] * self.menu.n_arms

    def update(self, context: Any, arm: int, success: float, cost: float | None) -> None:
        self.outcomes_seen.append(context)


class Wild(Own):
    """One whose predictions are wrong or impossible."""

    means = (0.0, 1.0, math.nan, 0.5, 1e300)
