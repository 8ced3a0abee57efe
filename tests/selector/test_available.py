"""What is not available is never played, the safe option least of all: where a limit needs it, the ask is refused."""

import random

import pytest

from suffice import InvalidArgument, Menu, SafeUnavailable, Selector
from suffice.learning.settings import Learning
from tests.support.context_models import ENGINES, use_engine

MENUS = {
    "chain": Menu.top_k([5, 10, 20, 50], classes=100),
    "chain with a skip": Menu.top_k([5, 10, 20, 50], classes=100, skip=True),
    "priced": Menu({"a": 0.1, "b": 0.3, "c": 0.6, "all": 1.0}, safe="all"),
    "told": Menu(["a", "b", "c"], safe="all", safe_cost=1.0),
    "told with a skip": Menu(["a", "b", "c"], safe="all", safe_cost=1.0, skip="none"),
    "subsets": Menu.subsets({"a": 0.1, "b": 0.2, "c": 0.3}, safe="all", safe_cost=1.0),
    "intervals": Menu.intervals(step=0.25),
}
CHOOSERS = ("thompson", "optimist", "model")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("chooser", CHOOSERS)
@pytest.mark.parametrize("menu", MENUS.values(), ids=MENUS)
def test_only_what_is_available_is_played(
    menu: Menu, chooser: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_engine(engine, monkeypatch)
    rng, model = random.Random(7), "auto" if chooser == "model" else None
    learning = Learning(chooser="thompson" if model else chooser)
    selector = Selector(menu, 0.8, model=model, learning=learning, max_surplus=3)
    every = [*menu.options, menu.safe]
    refused = 0
    for _ in range(400):
        available = [option for option in every if rng.random() < 0.4] or [menu.options[0]]
        context = {"x": rng.random()} if model else None
        try:
            decision = selector.ask(available=available, context=context)
        except SafeUnavailable:
            refused += 1
            assert menu.safe not in available
            decision = selector.ask(available=[menu.safe], context=context)
            assert decision.is_safe
            available = [menu.safe]
        assert decision.is_skip or decision.option in available
        selector.tell(decision, decision.is_safe or (not decision.is_skip and rng.random() < 0.5), 0.2)
    assert refused > 0
    assert selector.certificate().insisted == 0
    assert selector.failures.warning is None


def test_nothing_but_the_skip_may_be_available() -> None:
    selector = Selector(MENUS["chain with a skip"], 0.8)
    assert selector.ask(available=[]).is_skip
    with pytest.raises(InvalidArgument, match="available must list at least one option"):
        Selector(MENUS["chain"], 0.8).ask(available=[])


def test_an_error_half_way_holds_the_decisions_that_were_made() -> None:
    menu = Menu({"a": 0.1, "b": 0.4, "all": 1.0}, safe="all")
    selector = Selector(menu, 0.8, max_debt=1, in_flight=0)
    with pytest.raises(SafeUnavailable) as raised:
        selector.ask_many(3, available=["a"])
    assert [decision.id for decision in raised.value.decisions] == [0]
    selector.tell(raised.value.decisions[0], True)
    assert selector.pending == 0
