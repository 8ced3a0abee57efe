"""The event that says that a cost was above `safe_cost`."""

import pytest

from suffice import Event, Menu, Selector


@pytest.mark.filterwarnings("ignore::suffice.SufficeWarning")
def test_a_cost_above_safe_cost_is_announced_once() -> None:
    seen: list[Event] = []
    selector = Selector(Menu(["a", "b"], safe="all", safe_cost=1.0), 0.9, on_event=seen.append)
    for step in range(301):
        selector.tell(selector.ask(), True, 1.5 if step >= 120 else 0.5)
    assert [(event.kind, event.decision) for event in seen] == [("cost_above_safe", 151)]
    assert "cost 1.5, above safe_cost 1:" in seen[0].text
