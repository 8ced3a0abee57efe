"""The contract of rivals: subclass `RivalContract`, make your rival in one method, and run pytest."""

import copy
import inspect

import numpy as np
import pytest

from suffice.errors import AlreadyTold, ForeignDecision, InvalidArgument
from suffice.kernels.rows import Floats
from suffice.lab.rivals.base import CONTEXT, FEEDBACK, Rival
from suffice.lab.streams import LabelRanks
from suffice.selector.records import Decision
from suffice.simulator import Stream, simulate


class ContextualRanks:
    """CIFAR-100 label ranks with a context that depends on the rank."""

    def __init__(self) -> None:
        ranks = LabelRanks.cifar100()
        self.menu, self.draw, self.outcome = ranks.menu, ranks.draw, ranks.outcome

    def context(self, latent: int) -> dict[str, float]:
        return {"hint": float(latent) % 7.0}


class ConstantOutcome:
    """The same outcome whatever is played, the boundary arms included."""

    def __init__(self, success: float) -> None:
        self.success = success
        self.menu = LabelRanks.cifar100().menu

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Floats:
        return np.ones(count)

    def context(self, latent: float) -> dict[str, float]:
        return {"hint": latent}

    def outcome(self, latent: float, arm: int, price: float) -> tuple[float, float]:
        return self.success, self.menu.known_cost(arm) or 0.0


class RivalContract:
    """What the simulator and `suffice compare` rely on, as tests.

    >>> class TestStaircase(RivalContract):  # in a file that pytest collects
    ...     def make_rival(self, stream):
    ...         return Staircase(stream.menu, 0.9)
    """

    def make_rival(self, stream: Stream) -> Rival:
        """Your rival for the menu of this stream, a chain with known costs and a skip; the same in every call."""
        raise NotImplementedError("return your rival")

    def ask(self, rival: Rival, hint: float = 1.0) -> Decision:
        return rival.ask(context={"hint": hint})

    def test_it_describes_itself(self) -> None:
        kind = type(self.make_rival(ranks()))
        assert all(isinstance(text, str) and text for text in (kind.name, kind.source, kind.read, kind.guarantee))
        assert kind.feedback in FEEDBACK
        assert kind.contextual == (kind.feedback == CONTEXT)
        assert ">>> " in (inspect.getdoc(kind) or "")
        assert "common knowledge" not in kind.read or "in the manner of" in kind.source

    def test_every_decision_is_counted_once(self) -> None:
        rival, rng, cost = self.make_rival(ranks()), np.random.default_rng(0), 0.0
        uncounted = 0
        for step in range(1, 301):
            decision = self.ask(rival)
            assert 0 <= decision.arm < rival.menu.n_arms
            assert decision.option == rival.menu.option(decision.arm)
            assert rival.pending == 1
            rival.tell(decision, float(rng.random() < 0.5))
            cost += rival.menu.known_cost(decision.arm) or 0.0
            uncounted = max(uncounted, step - rival.outcomes)  # a first round is not counted
            assert step - rival.outcomes == uncounted < rival.menu.n_arms
        assert rival.pending == 0
        assert rival.cost == pytest.approx(cost)
        assert rival.debt == pytest.approx(rival.target * rival.outcomes - rival.successes)

    def test_what_must_not_be_told_is_refused(self) -> None:
        rival = self.make_rival(ranks())
        decision = self.ask(rival)
        rival.tell(decision, True)
        with pytest.raises(AlreadyTold):
            rival.tell(decision, True)
        with pytest.raises(ForeignDecision):
            rival.tell(self.ask(self.make_rival(ranks())), True)
        with pytest.raises(InvalidArgument, match="success must lie between 0 and 1"):
            rival.tell(self.ask(rival), 2)

    def test_a_run_is_reproducible_and_leaves_the_rival_unchanged(self) -> None:
        stream = ranks()
        rival = self.make_rival(stream)
        first, second = (simulate(rival, stream, 2000, seed=3) for _ in range(2))
        assert (first.arms == second.arms).all()
        assert rival.outcomes == 0
        for column in (first.arms, first.successes, first.costs, first.prices):
            assert np.isfinite(column).all()
        assert first.method.cost == pytest.approx(first.costs.sum())

    def test_a_copy_continues_in_the_same_way(self) -> None:
        stream = ranks()
        rival: Rival = simulate(self.make_rival(stream), stream, 100).method
        twin = copy.deepcopy(rival)
        for latent in stream.draw(np.random.default_rng(9), 200).tolist():
            decisions = [self.ask(method, latent % 7.0) for method in (rival, twin)]
            assert decisions[0].arm == decisions[1].arm
            success, cost = stream.outcome(latent, decisions[0].arm, 0.0)
            for method, decision in zip((rival, twin), decisions, strict=True):
                method.tell(decision, success, cost)

    @pytest.mark.parametrize("constant", [0.0, 1.0])
    def test_constant_outcomes_do_not_overflow(self, constant: float) -> None:
        stream = ConstantOutcome(constant)
        with np.errstate(over="raise", invalid="raise"):
            trace = simulate(self.make_rival(stream), stream, 2000)
        assert ((trace.arms >= 0) & (trace.arms < stream.menu.n_arms)).all()
        for value in vars(trace.method).values():
            if isinstance(value, float | np.ndarray):
                assert np.isfinite(value).all()

    def test_outcomes_may_come_late_and_in_any_order(self) -> None:
        rival, rng = self.make_rival(ranks()), np.random.default_rng(1)
        for _ in range(30):
            decisions = [self.ask(rival, float(hint)) for hint in range(5)]
            for place in rng.permutation(5):
                rival.tell(decisions[place], 1.0)
        assert rival.pending == 0


def ranks() -> ContextualRanks:
    return ContextualRanks()
