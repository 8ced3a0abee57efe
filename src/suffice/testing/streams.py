"""The contract of streams: subclass `StreamContract`, make your stream in one method, and run pytest."""

import copy
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from suffice.best_mix import contextual_optimum, optimum
from suffice.promise.rules import MAX_DEBT
from suffice.selector.selector import Selector
from suffice.simulator import Stream, drawn, simulate

if TYPE_CHECKING:
    from suffice.kernels.rows import Floats

DRAWS = 24_000  # steps whose outcomes are averaged
SIGMAS = 5.0  # how many standard errors a mean may be away from its expectation


class StreamContract:
    """What the simulator and the selector rely on, as tests.

    Optional methods are tested where the stream has them: `windows` or `table`, `truth`, `context`, `context_cost`, `cases`.

    >>> class TestCoins(StreamContract):  # in a file that pytest collects
    ...     def make_stream(self):
    ...         return Coins()
    """

    def make_stream(self) -> Stream:
        """Your stream. It may be made again for every test."""
        raise NotImplementedError("return your stream")

    @pytest.fixture
    def stream(self) -> Stream:
        return self.make_stream()

    def test_the_same_seed_gives_the_same_latents(self, stream: Stream) -> None:
        first, second = (drawn(stream, np.random.default_rng(5), 100, 7) for _ in range(2))
        assert [*map(str, first)] == [*map(str, second)]
        assert len(first) == 100
        assert len(drawn(stream, np.random.default_rng(5), 0, 7)) == 0

    def test_outcomes_are_floats_in_their_ranges(self, stream: Stream) -> None:
        menu = stream.menu
        for latent in drawn(stream, np.random.default_rng(0), 60, 0):
            for arm in range(menu.n_arms):
                success, cost = stream.outcome(latent, arm, 0.5)
                assert type(success) is type(cost) is float
                assert 0 <= success <= 1
                assert 0 <= cost <= menu.safe_cost
                known = menu.known_cost(arm)
                assert known is None or cost == pytest.approx(known, rel=1e-12)

    def test_the_skip_fails_at_no_cost(self, stream: Stream) -> None:
        if stream.menu.has_skip:
            for latent in drawn(stream, np.random.default_rng(0), 60, 0):
                assert stream.outcome(latent, 0, 0.5) == (0.0, 0.0)

    def test_the_safe_option_succeeds(self, stream: Stream) -> None:
        if stream.menu.safe_success == 1:
            for latent in drawn(stream, np.random.default_rng(0), 60, 0):
                assert stream.outcome(latent, stream.menu.n_arms - 1, 0.5)[0] == 1.0

    def test_windows_and_tables_agree_with_outcomes(self, stream: Stream) -> None:
        rng = np.random.default_rng(1)
        latents = drawn(stream, rng, 80, 0)
        pairs = [(latent, arm) for latent in latents for arm in rng.integers(stream.menu.n_arms, size=5)]
        if hasattr(stream, "windows"):
            low, high, costs = stream.windows()
            assert low.shape == high.shape == costs.shape == (stream.menu.n_arms,)
            for latent, arm in pairs:
                assert stream.outcome(latent, arm, 0.5) == (float(low[arm] <= latent <= high[arm]), costs[arm])
        if hasattr(stream, "table"):
            successes, costs = stream.table()
            assert successes.shape == costs.shape == (len(costs), stream.menu.n_arms)
            assert np.asarray(latents).dtype.kind == "i"
            assert ((successes >= 0) & (successes <= 1)).all()
            assert ((costs >= 0) & (costs <= stream.menu.safe_cost)).all()
            for latent, arm in pairs:
                assert stream.outcome(latent, arm, 0.5) == (successes[latent, arm], costs[latent, arm])

    def test_truth_is_the_mean_of_outcomes(self, stream: Stream) -> None:
        if not hasattr(stream, "truth"):
            return
        success, cost = stream.truth()
        latents = drawn(stream, np.random.default_rng(3), DRAWS, 0)
        for arm in np.unique(np.linspace(0, stream.menu.n_arms - 1, 7).astype(int)).tolist():
            outcomes = np.array([stream.outcome(latent, arm, 0.5) for latent in latents])
            assert is_mean_of(success[arm], outcomes[:, 0]), arm
            assert is_mean_of(cost[arm], outcomes[:, 1]), arm
        assert success[-1] == float(stream.menu.safe_success)
        for target in (0.1, 0.8):
            best = optimum(success, cost, target)
            assert best.weights @ success >= target - 1e-9
            assert 0 <= best.cost <= stream.menu.safe_cost

    def test_contexts_are_new_objects_with_the_same_fields(self, stream: Stream) -> None:
        if not hasattr(stream, "context"):
            return
        latents = drawn(stream, np.random.default_rng(0), 50, 0)
        fields = [*stream.context(latents[0])] if hasattr(stream.context(latents[0]), "keys") else None
        for latent in latents:
            context = stream.context(latent)
            before = str(context)
            if fields is not None:
                assert [*context] == fields
                context.clear()  # the caller may change its context
            assert str(stream.context(latent)) == before

    def test_cases_add_up_to_the_truth(self, stream: Stream) -> None:
        if not (hasattr(stream, "cases") and hasattr(stream, "truth")):
            return
        weights, success, cost = stream.cases()
        assert success.shape == cost.shape == (weights.size, stream.menu.n_arms)
        assert (weights > 0).all()
        assert weights.sum() == pytest.approx(1.0)
        assert ((success >= 0) & (success <= 1)).all()
        assert ((cost >= 0) & (cost <= stream.menu.safe_cost)).all()
        true_success, true_cost = stream.truth()
        assert weights @ success == pytest.approx(true_success, abs=1e-12)
        assert weights @ cost == pytest.approx(true_cost + context_costs(stream), abs=1e-12)
        # Contexts can only help, except for what it costs to know them.
        without = optimum(true_success, true_cost, 0.85).cost
        assert contextual_optimum(weights, success, cost, 0.85).cost <= without + context_costs(stream).max() + 1e-9

    def test_a_selector_holds_its_promise(self, stream: Stream) -> None:
        if stream.menu.safe_success == 1:
            assert simulate(Selector(stream.menu, 0.8), stream, 300, seed=1).largest_debt <= MAX_DEBT

    def test_a_copy_is_the_same_world(self, stream: Stream) -> None:
        twin = copy.deepcopy(stream)
        latents = drawn(stream, np.random.default_rng(0), 5, 0)
        assert [*map(str, latents)] == [*map(str, drawn(twin, np.random.default_rng(0), 5, 0))]
        arm = stream.menu.n_arms - 1
        assert twin.outcome(latents[0], arm, 0.5) == stream.outcome(latents[0], arm, 0.5)


def is_mean_of(expected: float, values: "Floats") -> bool:
    """Whether a mean may have this expectation, by its standard error."""
    return abs(float(values.mean()) - expected) <= SIGMAS * float(values.std()) / math.sqrt(values.size) + 1e-9


def context_costs(stream: Stream) -> "Floats":
    """What the context adds to the cost of every arm."""
    arms = range(stream.menu.n_arms)
    if not hasattr(stream, "context_cost"):
        return np.zeros(len(arms))
    latent = drawn(stream, np.random.default_rng(0), 1, 0)[0]
    return np.array([stream.context_cost(latent, arm) for arm in arms], dtype=np.float64)
