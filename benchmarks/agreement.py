"""Before anything is timed: the plain NumPy version chooses what suffice chooses, or the comparison means nothing."""

import math

import numpy as np

import suffice
from benchmarks.plain import PlainNumpy, TunedNumpy
from benchmarks.world import TARGET, World, menu_of

SIZES = (3, 20, 210, 1_000)  # few arms are played often, so that their bounds, not only their costs, decide
STEPS = 2_500


class Disagreement(RuntimeError):
    """The two versions chose differently."""


def check() -> str:
    """Run both on the same outcomes; raise at the first difference, else say in a sentence what was compared."""
    for bounds in ("hoeffding", "half-log"):
        for n in SIZES:
            _compare(n, bounds, PlainNumpy)
            _compare(n, bounds, TunedNumpy)
    sizes = ", ".join(str(n) for n in SIZES)
    return (
        f"NumPy, plain and tuned, and suffice chose the same arm at the same price in each of {STEPS:,} steps, and ended "
        f"with the same bounds, for n = {sizes} and both kinds of bounds."
    )


def _compare(n: int, bounds: str, version: type[PlainNumpy]) -> None:
    world = World(n, seed=n)
    selector = suffice.Selector(menu_of(n), TARGET, learning=suffice.Learning(bounds=bounds))
    plain = version(World(n).costs, TARGET, bounds)
    for step in range(STEPS):
        decision = selector.ask()
        arm = plain.ask()
        if decision.arm != arm or not math.isclose(decision.price, plain.price(), rel_tol=1e-12, abs_tol=1e-12):
            raise Disagreement(
                f"{bounds}, n = {n}, step {step}: suffice chose arm {decision.arm} at price {decision.price!r}, "
                f"plain NumPy arm {arm} at price {plain.price()!r}; nothing is timed until they agree"
            )
        success = world.judge(arm)
        selector.tell(decision, success)
        plain.tell(arm, success)
    ours = [row.upper_success for row in selector.options()]
    if not np.allclose(ours, plain.upper, rtol=0.0, atol=1e-9):
        raise Disagreement(f"{bounds}, n = {n}: the upper bounds differ after {STEPS:,} steps; nothing is timed")
