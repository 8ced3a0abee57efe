"""A stream for tests: an adversary that knows the price and decides whether the interior arms succeed."""

from collections.abc import Sequence

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.lab.streams.base import Stream, drawn
from suffice.numbers import as_fraction

PLANS = ("hover", "greedy", "fail")


class Attack:
    """Menu and costs of a stream, and outcomes that are chosen by an adversary that knows the price.

    The skip always fails and the safe option always succeeds: no promise could be kept otherwise. All other arms succeed or
    fail alike in a step, whatever the stream's own outcome is:

    - "hover": they fail where the price is below `level` and succeed from there on. The price is held at `level`; near
      the cap this makes the method pay the most while it stays on the brink of falling behind.
    - "greedy": they succeed where the price is below `level` and fail from there on. Each outcome pushes the price further
      away from `level`, to the limit it is nearer to, so that estimates from one limit are wrong at the other.
    - "fail": they always fail.

    Outcomes depend on the price, so there are no windows, no table and no truth, and no contexts.
    """

    def __init__(self, stream: Stream, *, level: float | None = None, plan: str = "hover") -> None:
        if not all(hasattr(stream, part) for part in ("menu", "draw", "outcome")):
            raise InvalidArgument(f"stream must have menu, draw and outcome, got {quoted(stream)}")
        if plan not in PLANS:
            raise InvalidArgument(f"plan must be one of {', '.join(PLANS)}, got {quoted(plan)}")
        self.stream, self.menu, self.plan = stream, stream.menu, plan
        self.level = self.menu.safe_cost if level is None else float(as_fraction("level", level))

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Sequence[object]:
        """The stream's latents: costs may depend on them."""
        latents: Sequence[object] = drawn(self.stream, rng, count, start)
        return latents

    def outcome(self, latent: object, arm: int, price: float) -> tuple[float, float]:
        """The stream's cost, and the adversary's success."""
        success, cost = self.stream.outcome(latent, arm, price)
        if self.menu.is_boundary(arm):
            return success, cost
        succeeds = self.plan != "fail" and (price >= self.level) == (self.plan == "hover")
        return float(succeeds), cost
