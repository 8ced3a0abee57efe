"""Rivals: one contract that each passes, and what the paper says of the projected baseline."""

import inspect
from collections.abc import Callable

import numpy as np
import pytest

import suffice
from suffice import Menu, rivals, simulate
from suffice.rivals import AlwaysEverything, Projected, Rival
from suffice.streams import LabelRanks, Trap

MENU = Menu({"a": 0.1, "b": 0.4}, everything="all", nothing="none")
MAKE: dict[str, Callable[[Menu, float], Rival]] = {
    "AlwaysEverything": AlwaysEverything,
    "Projected": lambda menu, target: Projected(menu, target, 500),
}


def test_every_rival_is_under_contract() -> None:
    public = {name for name in rivals.__all__ if name != "Rival"}
    assert public == set(MAKE)


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE.keys())
class TestEveryRival:
    def test_it_says_what_it_is(self, make: Callable[[Menu, float], Rival]) -> None:
        rival = make(MENU, 0.8)
        for said in (rival.name, rival.source, rival.feedback, rival.guarantee, inspect.getdoc(type(rival))):
            assert said

    def test_ask_and_tell(self, make: Callable[[Menu, float], Rival]) -> None:
        rival = make(MENU, 0.8)
        rng = np.random.default_rng(0)
        cost = 0.0
        for _ in range(300):
            decision = rival.ask()
            assert decision.option == MENU.option(decision.arm)
            assert rival.pending == 1
            rival.tell(decision, float(rng.random() < 0.5))
            cost += MENU.known_cost(decision.arm) or 0.0
        assert 298 <= rival.told <= 300
        assert rival.cost == pytest.approx(cost)
        assert rival.debt == pytest.approx(0.8 * rival.told - rival.successes)
        with pytest.raises(suffice.AlreadyTold):
            rival.tell(decision, True)
        with pytest.raises(suffice.ForeignDecision):
            rival.tell(make(MENU, 0.8).ask(), True)
        with pytest.raises(suffice.InvalidArgument, match="success must lie between 0 and 1"):
            rival.tell(rival.ask(), 2)

    def test_costs_must_be_told_where_they_are_not_known(self, make: Callable[[Menu, float], Rival]) -> None:
        rival = make(Menu(["a"], everything="all", nothing="none"), 0.8)
        decision = rival.ask()
        if decision.option == "a":
            with pytest.raises(suffice.InvalidArgument, match="cost must be told"):
                rival.tell(decision, True)
        rival.tell(decision, True, 0.3)

    def test_it_can_be_simulated(self, make: Callable[[Menu, float], Rival]) -> None:
        stream = LabelRanks.cifar100()
        one, other = (simulate(make(stream.menu, 0.9), stream, 200, seed=3) for _ in range(2))
        assert (one.arms == other.arms).all()


def test_the_lemma_of_the_projected_dual() -> None:
    """Figure 3: stuck at the cap 2, no success in the outage, and each capped round loses step·target."""
    stream = Trap()
    trace = simulate(Projected(stream.menu, 0.5, 2000, step=0.05), stream, 2000)
    outage = slice(stream.first, stream.last)
    assert trace.successes[outage].sum() == 0
    assert trace.duals[stream.first + 100 : stream.last].tolist() == [2.0] * 400
    kept = simulate(suffice.paper(stream.menu, 0.5, 2000, step=0.05), stream, 2000)
    assert kept.successes[outage].mean() > 0.4
    assert trace.debts[stream.last - 1] - trace.debts[stream.first - 1] == 250.0  # target·L is owed for the outage
    assert trace.worst_window(500) == 0.0
    assert kept.worst_window(500) > 0.4
