"""Streams made of other streams: phases, hidden costs and attacks."""

import math
from typing import Any

import numpy as np
import pytest

from suffice import Menu, optimum
from suffice.lab.streams import HiddenCosts, LabelRanks, Phases, PredictionApis, RequiredThreshold, Rides, Trap
from tests.lab.test_streams import BARE, SKIP
from tests.support.attack import Attack
from tests.support.refusals import refused


def test_the_truth_of_each_phase() -> None:
    easy, hard = LabelRanks.cifar100(most=5), LabelRanks.cifar100(least=80)
    stream = Phases((easy, 30), (hard, 50), (easy, 7))
    for phase, (part, length) in zip(stream.truths(), ((easy, 30), (hard, 50), (easy, 7)), strict=True):
        assert phase.length == length
        assert (phase.success == part.truth()[0]).all()
        assert (phase.cost == part.truth()[1]).all()
    costs = [optimum(phase.success, phase.cost, 0.9).cost for phase in stream.truths()]
    assert costs == pytest.approx([0.9 * 0.05, 0.9, 0.9 * 0.05], rel=0.01)
    assert not hasattr(stream, "truth")
    assert not hasattr(Phases((SKIP, 5), (BARE, 5)), "truths")  # one of them does not know its own


def test_each_phase_begins_at_its_own_first_step() -> None:
    stream = Phases((SKIP, 5), (Trap(first=2, last=4), 4), (SKIP, 1))
    rng = np.random.default_rng(0)
    latents = np.concatenate([stream.draw(rng, count, start) for start, count in ((0, 3), (3, 4), (7, 5))])
    assert [stream.outcome(latent, 1, 0.0)[0] for latent in latents] == [0, 1, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0]


def test_costs_that_differ_are_told() -> None:
    one, other = PredictionApis("YELP"), PredictionApis("DIGIT")
    assert Phases((one, 1), (PredictionApis("YELP"), 1)).menu is one.menu
    combined = Phases((one, 1), (other, 1)).menu
    assert combined.costs is None
    assert [combined.option(arm) for arm in range(17)] == [one.menu.option(arm) for arm in range(17)]
    renamed = Phases((PredictionApis("IMDB"), 1), (PredictionApis("SHOP"), 1)).menu  # other names, the same prices
    assert renamed.costs is not None
    assert Phases((LabelRanks.cifar100([5, 9]), 1), (LabelRanks.cifar100([5, 7]), 1)).menu.order == "chain"


def test_streams_that_do_not_go_together() -> None:
    ranks = LabelRanks.cifar100()
    refused(lambda: Phases(), "phases must hold at least one (stream, length)")
    refused(lambda: Phases((ranks, 1), (Trap(), 1)), "phases must share one menu, or have menus with as many arms")
    refused(lambda: Phases(ranks), "phases must be pairs (stream, length)")  # type: ignore[arg-type]
    refused(lambda: Phases((ranks, 0)), "length must be at least 1")
    refused(lambda: Phases((3, 1)), "phases must be streams, with menu, draw and outcome, got 3")  # type: ignore[arg-type]
    without = LabelRanks(Menu.top_k([1, 2, 3, 4, 5], classes=100, skip=False))
    refused(lambda: Phases((ranks, 1), (without, 1)), "phases must share one menu")
    refused(
        lambda: HiddenCosts(Rides(requests=20)), "stream must have menu, draw and outcome, and a menu that knows costs"
    )
    refused(lambda: HiddenCosts(ranks, spread=1.1), "spread must lie between 0 and 1, got 1.1")
    refused(lambda: HiddenCosts.from_settings(of="told"), "of must be one of apis, beta")


def told(stream: Any, spread: float = 0.5, draws: int = 4000) -> Any:
    """Successes and costs of every arm in some steps."""
    noisy = HiddenCosts(stream, spread=spread)
    steps = noisy.draw(np.random.default_rng(7), draws)
    return noisy, np.array([[noisy.outcome(step, arm, 0.0) for arm in range(noisy.menu.n_arms)] for step in steps])


def test_told_costs_are_known_costs_times_noise() -> None:
    ranks = LabelRanks.cifar100()
    _, outcomes = told(ranks)
    known, costs = ranks.truth()[1], outcomes[:, :, 1]
    factors = costs[:, 1:-1] / known[1:-1]
    assert factors.min(axis=0) == pytest.approx([0.5] * 4)
    assert factors.max(axis=0) == pytest.approx([1.5] * 4)
    assert factors == pytest.approx(factors[:, :1].repeat(4, axis=1))  # one noise per step, whatever is played
    assert (costs[:, 0] == 0).all()
    assert (costs[:, -1] == 1).all()
    sigma = factors.std() / math.sqrt(len(factors))
    assert abs(factors.mean() - 1) < 4 * sigma


def test_told_costs_keep_their_mean_where_there_is_little_room() -> None:
    dear = RequiredThreshold(step=0.1)
    noisy, outcomes = told(dear, spread=1.0)
    costs = outcomes[:, :, 1]
    assert ((costs >= 0) & (costs <= 1)).all()
    assert costs[:, 9].min() == pytest.approx(0.8)  # 0.9 has room for 0.1 only, and so as much less below
    assert costs[:, 9].max() == pytest.approx(1.0)
    rows = noisy.table().costs.reshape(-1, 8, noisy.menu.n_arms)
    assert rows.mean(axis=1) == pytest.approx(np.tile(dear.truth()[1], (len(rows), 1)))


def test_an_attack_decides_by_the_price() -> None:
    ranks = LabelRanks.cifar100()
    for plan, below, above in (("hover", 0.0, 1.0), ("greedy", 1.0, 0.0), ("fail", 0.0, 0.0)):
        stream = Attack(ranks, level=2, plan=plan)
        for arm in range(1, 5):
            assert stream.outcome(1, arm, 1.999) == (below, ranks.outcome(1, arm, 0.0)[1])
            assert stream.outcome(100, arm, 2.0) == (above, ranks.outcome(1, arm, 0.0)[1])
        assert stream.outcome(1, 0, 0.0) == (0.0, 0.0)
        assert stream.outcome(100, 5, 9.0) == (1.0, 1.0)
        assert not any(hasattr(stream, form) for form in ("windows", "table", "truth"))
    assert Attack(PredictionApis("YELP", unit="usd")).level == pytest.approx(20.253)
    refused(lambda: Attack(ranks, plan="kind"), "plan must be one of hover, greedy, fail, got 'kind'")
    refused(lambda: Attack(ranks, level="high"), "level must be a number")  # type: ignore[arg-type]
    refused(lambda: Attack(3), "stream must have menu, draw and outcome, got 3")  # type: ignore[arg-type]
