"""Attacks: an adversary that sees the price and decides how every interior arm does."""

from typing import Any

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.lab.streams.base import Stream, drawn
from suffice.lab.streams.ranks import LabelRanks
from suffice.numbers import as_fraction

PLANS = ("hover", "greedy", "fail")


class Attack:
    """Menu and costs of a stream, and outcomes that are as bad as an adversary that reads the price can make them.

    The skip and the safe option do what they say: no promise could be kept otherwise. All other arms succeed or fail alike in
    a step, whatever would have happened in it:

    - "hover": they fail where the price is below `level` and succeed from there on. The price is held at `level`; near
      the cap this makes the method pay the most while it stays on the brink of falling behind.
    - "greedy": they succeed where the price is below `level` and fail from there on. Each outcome pushes the price further
      away from `level`, to the rail it is nearer to: credit is given to those who are ahead and taken from those who
      are not, so that what was learned at one rail is wrong at the other.
    - "fail": they always fail.

    The adversary answers the price, so there are no windows and no table, and no truth. Contexts are the stream's, and say
    nothing of what the adversary will do.

    >>> import suffice
    >>> stream = Attack(LabelRanks.cifar100(), level=2.0, plan="hover")
    >>> stream.judge(1, 3, price=1.9), stream.judge(100, 3, price=2.0)
    ((0.0, 0.2), (1.0, 0.2))
    >>> trace = suffice.simulate(suffice.Selector(stream.menu, target=0.9), stream, horizon=500)
    >>> bool(trace.largest_debt <= 0.9)
    True
    """

    name = "attack"
    about = "an adversary that sees the price decides how every interior arm does"

    def __init__(self, stream: Stream, *, level: float | None = None, plan: str = "hover") -> None:
        if not all(hasattr(stream, part) for part in ("menu", "draw", "judge")):
            raise InvalidArgument(f"stream must have menu, draw and judge, got {quoted(stream)}")
        if plan not in PLANS:
            raise InvalidArgument(f"plan must be one of {', '.join(PLANS)}, got {quoted(plan)}")
        self.stream, self.menu, self.plan = stream, stream.menu, plan
        self.level = self.menu.safe_cost if level is None else float(as_fraction("level", level))
        for part in ("context", "look"):
            if hasattr(stream, part):
                setattr(self, part, getattr(stream, part))

    @classmethod
    def named(cls, *, level: float | None = None, plan: str = "hover") -> "Attack":
        """An attack on the labels of CIFAR-100; the level is what the safe option costs if left out."""
        return cls(LabelRanks.cifar100(), level=level, plan=plan)

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Any:
        """The stream's latents: costs may depend on them."""
        return drawn(self.stream, rng, count, start)

    def judge(self, latent: Any, arm: int, price: float) -> tuple[float, float]:
        """The stream's cost, and the adversary's success."""
        success, cost = self.stream.judge(latent, arm, price)
        if self.menu.is_boundary(arm):
            return success, cost
        kind = self.plan != "fail" and (price >= self.level) == (self.plan == "hover")
        return float(kind), cost
