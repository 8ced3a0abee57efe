"""The contract of choosers: subclass `ChooserContract`, make your chooser in one method, and run pytest."""

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from suffice.best_mix import optimum
from suffice.errors import SufficeWarning
from suffice.kernels.rows import Floats
from suffice.lab.streams import UnitPoints
from suffice.learning.choosers import Chooser
from suffice.learning.guard import allowance, follows
from suffice.learning.settings import Learning
from suffice.menu.menu import Menu
from suffice.promise.rules import MAX_DEBT
from suffice.selector.selector import Selector
from suffice.simulator import Stream, drawn

TARGET = 0.8


class Coins:
    """Options without a common order, each with a coin of its own; a step is one number per arm."""

    chances = np.array([0.0, 0.35, 0.5, 0.62, 0.7, 0.86, 0.93, 1.0])
    costs = np.array([0.0, 0.06, 0.2, 0.15, 0.5, 0.3, 0.7, 1.0])
    menu = Menu(range(1, 7), costs=costs[1:7].tolist(), safe="all", skip="none", safe_cost=1.0)

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Floats:
        """One number per step and arm."""
        return rng.random((count, 8))

    def outcome(self, latent: Floats, arm: int, price: float) -> tuple[float, float]:
        """The success and the cost of an arm."""
        return float(latent[arm] < self.chances[arm]), float(self.costs[arm])

    def truth(self) -> tuple[Floats, Floats]:
        """The success probability and the cost of every arm."""
        return self.chances, self.costs


STREAMS: dict[str, Any] = {"8 arms": Coins(), "211 intervals": UnitPoints()}


def run_guarded(
    selector: Selector, stream: Any, steps: int, seed: int = 1, before: Callable[[object], None] = lambda latent: None
) -> tuple[float, float]:
    """Run a selector on a stream with known costs, and check theorem C (docs/choosers.md) after each step.

    On every path the debt is at most `max_debt`; a gap that was within the allowance exceeds it by one play at most; and
    regret <= drift + gap + shortfall of the bounds of the optimum. `before` is called with the latent of each step before
    the ask. Returns the regret, and the regret at shadow prices.
    """
    learner, cap = selector.learner, selector.promise.cap
    success, cost = stream.truth()
    best = optimum(success, cost, TARGET)
    regret = drift = shortfall = 0.0
    for latent in drawn(stream, np.random.default_rng(seed), steps, 0):
        before(latent)
        price = min(max(selector.price, 0.0), cap)
        upper, followed = learner.columns().upper.copy(), follows(learner.head)
        decision = selector.ask()
        succeeded, paid = stream.outcome(latent, decision.arm, decision.price)
        selector.tell(decision, succeeded)
        assert selector.debt <= MAX_DEBT
        assert not followed or learner.head.gap <= allowance(learner.head) + cap + stream.menu.safe_cost
        shortfall += price * float(best.weights @ np.maximum(success - upper, 0.0))
        regret += paid - best.cost
        drift += price * (succeeded - TARGET)
        assert regret <= drift + learner.head.gap + shortfall + 1e-6
    return regret, regret + best.price * selector.debt


class ChooserContract:
    """What a selector relies on, as tests.

    >>> class TestMyChooser(ChooserContract):  # in a file that pytest collects
    ...     def make_chooser(self, menu):
    ...         return MyChooser(menu.n_arms)
    """

    guarded = True  # whether the guard counts what the chooser costs; it does for all but our optimist

    def make_chooser(self, menu: Menu) -> Chooser | str:
        """Your chooser, or the name of one of ours. It is made again for every test."""
        raise NotImplementedError("return your chooser")

    def selector(self, stream: Stream, guard: float | None) -> Selector:
        """A selector with your chooser on the menu of a stream."""
        learning = Learning(chooser=self.make_chooser(stream.menu), guard=guard, memory="full")
        return Selector(stream.menu, TARGET, learning=learning)

    @pytest.fixture(params=STREAMS.values(), ids=list(STREAMS))
    def stream(self, request: pytest.FixtureRequest) -> Stream:
        stream: Stream = request.param
        return stream

    @pytest.mark.parametrize("guard", [0.1, 1.0])
    def test_the_guard_bounds_the_cost(self, stream: Stream, guard: float) -> None:
        if not self.guarded:
            pytest.skip("this chooser is declared to need no guard")
        run_guarded(self.selector(stream, guard), stream, 700)

    def test_every_proposal_is_an_available_option(self, stream: Stream) -> None:
        """Also where few options are available. A proposal that is not allowed, or an exception, is a SufficeWarning."""
        selector, rng = self.selector(stream, None), np.random.default_rng(2)
        with warnings.catch_warnings():
            warnings.simplefilter("error", SufficeWarning)
            for latent in drawn(stream, rng, 200, 0):
                options = [option for option in stream.menu.options if rng.random() < 0.3] + [stream.menu.safe]
                decision = selector.ask(available=options)
                assert decision.is_safe or decision.is_skip or decision.option in options
                selector.tell(decision, stream.outcome(latent, decision.arm, decision.price)[0])

    def test_a_copy_plays_the_same(self, stream: Stream) -> None:
        selector, copied = self.selector(stream, 1.0), None
        for step, latent in enumerate(drawn(stream, np.random.default_rng(3), 400, 0)):
            if step < 200:
                decision = selector.ask()
                selector.tell(decision, stream.outcome(latent, decision.arm, decision.price)[0])
                continue
            copied = copied or copy.deepcopy(selector)
            decisions = selector.ask(), copied.ask()
            assert decisions[0].arm == decisions[1].arm
            success, _ = stream.outcome(latent, decisions[0].arm, decisions[0].price)
            selector.tell(decisions[0], success)
            copied.tell(decisions[1], success)
