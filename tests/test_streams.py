"""Streams: one contract that each passes, and their exact probabilities."""

import numpy as np
import pytest

from suffice.streams import CIFAR100, LabelRanks, Phases, Stream, Trap

STREAMS: dict[str, Stream] = {
    "ranks": LabelRanks.cifar100(),
    "easy ranks": LabelRanks.cifar100(most=5),
    "trap": Trap(),
    "phases": Phases((LabelRanks.cifar100(most=5), 30), (LabelRanks.cifar100(least=80), 30)),
}


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS.keys())
class TestEveryStream:
    def test_the_same_seed_gives_the_same_world(self, stream: Stream) -> None:
        one, other = (stream.draw(np.random.default_rng(5), 100) for _ in range(2))
        assert list(one) == list(other)
        assert len(one) == 100

    def test_outcomes_are_possible_and_boundary_arms_do_what_they_say(self, stream: Stream) -> None:
        menu = stream.menu
        for latent in stream.draw(np.random.default_rng(0), 100):
            for arm in range(menu.arms):
                success, cost = stream.judge(latent, arm, 0.5)
                assert 0 <= success <= 1
                assert 0 <= cost <= menu.max_cost
                assert menu.known_cost(arm) is None or cost == pytest.approx(menu.known_cost(arm))
            assert stream.judge(latent, 0, 0.5) == (0.0, 0.0)
            assert stream.judge(latent, menu.arms - 1, 0.5) == (1.0, menu.max_cost)


def test_the_histogram_is_the_one_of_the_source() -> None:
    assert len(CIFAR100) == 100
    assert sum(CIFAR100) == 10_000
    assert sum(CIFAR100[79:]) == 6
    assert CIFAR100[0] == 7048
    assert sum(CIFAR100[:5]) == 9020


def test_truth_is_what_is_drawn() -> None:
    stream = LabelRanks.cifar100()
    success, cost = stream.truth()
    ranks = stream.draw(np.random.default_rng(0), 20_000)
    drawn = [np.mean([stream.judge(rank, arm, 0.0)[0] for rank in ranks]) for arm in range(stream.menu.arms)]
    assert drawn == pytest.approx(success.tolist(), abs=0.01)
    assert cost.tolist() == [0, 0.05, 0.1, 0.2, 0.5, 1.0]


def test_phases_follow_each_other() -> None:
    stream = STREAMS["phases"]
    worked = [stream.judge(latent, 1, 0.0)[0] for latent in stream.draw(np.random.default_rng(0), 80)]
    assert worked == [1.0] * 30 + [0.0] * 50


def test_the_trap_fails_when_it_should() -> None:
    works = Trap().draw(np.random.default_rng(0), 2000)
    assert works.sum() == 1500
    assert works[799] == 1
    assert works[800] == 0
    assert works[1299] == 0
    assert works[1300] == 1
