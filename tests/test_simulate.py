"""The simulator: the same step as ask and tell, the same world for every method, and what a trace says."""

import numpy as np
import pytest

from suffice import Selector, ThresholdSelector, Trace, paper, simulate
from suffice.streams import LabelRanks, Trap


@pytest.mark.parametrize("name", ["auto", "paper"])
def test_it_plays_the_same_arms_as_ask_and_tell(name: str) -> None:
    stream = LabelRanks.cifar100()
    method = Selector(stream.menu, 0.9) if name == "auto" else paper(stream.menu, 0.9, 500)
    trace = simulate(method, stream, 500, seed=4)
    assert method.told == 0  # the method is copied, not consumed
    latents = stream.draw(np.random.default_rng(4), 500)
    for step in range(500):
        decision = method.ask()
        success, cost = stream.judge(latents[step], decision.arm, decision.dual)
        method.tell(decision, success, cost)
        seen = (trace.arms[step], trace.successes[step], trace.costs[step], trace.duals[step])
        assert seen == (decision.arm, success, cost, decision.dual)
    assert trace.method.state()["counts"] == method.state()["counts"]


def test_the_numbers_of_a_trace() -> None:
    successes = np.array([1.0, 0, 0, 1, 1, 0, 0, 0, 1, 1])
    trace = Trace(0.5, np.zeros(10, dtype=np.int64), successes, np.full(10, 0.25), np.zeros(10), None)
    assert trace.rate == 0.5
    assert trace.mean_cost == 0.25
    assert trace.debts.tolist() == [-0.5, 0, 0.5, 0, -0.5, 0, 0.5, 1, 0.5, 0]
    assert (trace.debt, trace.largest_debt) == (0.0, 1.0)
    assert trace.worst_window(3) == 0.0
    assert trace.worst_window(4) == 0.25
    assert trace.worst_window(100) == 0.5


def test_progress_is_reported() -> None:
    seen: list[int] = []
    simulate(Selector(Trap().menu, 0.5), Trap(), 600, progress=seen.append)
    assert seen == [256, 512, 600]


def test_a_threshold_can_be_simulated() -> None:
    class Scores:
        """Succeeds where the threshold exceeds a uniform score."""

        menu = Trap().menu

        def draw(self, rng: np.random.Generator, count: int) -> np.ndarray:
            return rng.random(count)

        def judge(self, latent: float, arm: int, dual: float) -> tuple[float, float]:
            return float(arm == 2 or (arm == 1 and dual > latent)), dual

    trace = simulate(ThresholdSelector(0.8, 0, 1), Scores(), 3000)
    assert trace.largest_debt <= 0.8
    assert trace.rate == pytest.approx(0.8, abs=0.03)
