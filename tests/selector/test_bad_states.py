"""States that contradict themselves are refused, whatever is wrong with them."""

from typing import Any

import pytest

from suffice import Menu, Selector, StateError
from suffice.numbers import ONE_SUCCESS
from tests.support.busy import busy

MENU = Menu.top_k([5, 10], classes=100, skip=True)


# A place in a state, and a value that must not be there.
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("accounts", []),
        ("accounts", None),
        ("accounts 0 counts", None),
        ("accounts 0 counts", {}),
        ("accounts 0 counts outcomes", -1),
        ("accounts 0 counts outcomes", 10**9),
        ("accounts 0 counts outcomes", 8),
        ("accounts 0 counts outcomes", 1.5),
        ("accounts 0 counts outcomes", 2**53),
        ("accounts 0 counts outcomes", True),
        ("accounts 0 counts unknown", 1),
        ("accounts 0 counts max_debt", 10**12),
        ("accounts 0 counts target", 10**8),
        ("accounts 0 counts successes", 11 * ONE_SUCCESS),
        ("accounts 0 counts owed", 8 * ONE_SUCCESS),
        ("accounts 0 counts owed", 10**400),
        ("accounts 0 counts carried", 1),
        ("accounts 0 counts carried", -1),
        ("accounts 0 counts safe_shortage", 10 * ONE_SUCCESS),
        ("accounts 0 counts shortfall", 5 * ONE_SUCCESS),
        ("accounts 0 counts expired", 11),
        ("accounts 0 counts outstanding", 7),
        ("accounts 0 counts outstanding", 1),
        ("accounts 0 counts most_outstanding", 1),
        ("accounts 0 counts pending", 1),
        ("accounts 0 counts most_pending", 1),
        ("accounts 0 counts reserved", 0),
        ("accounts 0 counts expected", 0),
        ("accounts 0 counts skipped", 8),
        ("accounts 0 counts safe_plays", 10),
        ("accounts 0 counts safe_lost", 2),
        ("accounts 0 counts cancelled", 1),
        ("accounts 0 counts uncovered", -1),
        ("accounts 0 hints", [1.0]),
        ("accounts 0 hints 1", -2.0),
        ("accounts 0 hints", "much"),
        ("accounts 0 hints 0", -1.0),
        ("accounts 0 hints 0", float("nan")),
        ("accounts 0 spent", float("nan")),
        ("accounts 0 spent", -1.0),
        ("accounts 0 spent", "much"),
        ("accounts 0 name", "a group"),
        ("outstanding", 5),
        ("outstanding 0 0", 10**6),
        ("outstanding 0 0", "0"),
        ("outstanding 0 0", -1),
        ("outstanding 0 0", 9),
        ("outstanding 0 1", 1),
        ("outstanding 0 2", 99),
        ("outstanding 0 2", 1.0),
        ("outstanding 0 3", None),
        ("outstanding 0 3", 0.5),
        ("outstanding 0 3", 2 * ONE_SUCCESS),
        ("outstanding 0 4", 1),
        ("outstanding 0 4", None),
        ("outstanding 0 5", None),
        ("outstanding 0 5", float("nan")),
        ("outstanding 0 6", None),
        ("outstanding 0 6", float("inf")),
        ("outstanding 0 7", 1),
        ("outstanding 0 8", None),
        ("outstanding 0", [5, 0, 3, 0, 0, 1.0, 0.0, True]),
        ("expired 0 0", 5),
        ("next_id", None),
        ("next_id", 11),
        ("next_id", 10**300),
        ("keys", []),
        ("learner tally", [[99, 1, 1.0, 1, 1.0]]),
        ("learner tally", [[1, "x", 1.0, 1, 1.0]]),
        ("learner tally", [[1, 1, 5.0, 1, 1.0]]),
        ("learner tally", [[1, 1, float("nan"), 1, 1.0]]),
        ("learner tally", [[-1, 1, 1.0, 1, 1.0]]),
        ("learner steps", -1),
        ("learner gap", float("nan")),
        ("playing_safe", 1),
        ("promise", None),
        ("promise max_debt", -1),
        ("promise max_debt", 0.5),
        ("promise max_debt", 10**40),
        ("promise in_flight", -1),
        ("promise in_flight", None),
        ("promise target", 0),
        ("promise target", 0.9),
        ("promise cap", 0),
        ("promise cap", -1.0),
        ("promise start", -1.0),
        ("promise start", "x"),
        ("promise max_surplus", "x"),
        ("promise max_surplus", -5.0),
        ("promise step", 0.0),
        ("promise safe_success", 2 * ONE_SUCCESS),
        ("promise safe_success", ONE_SUCCESS // 2),
        ("promise forgiving", "no"),
        ("menu", {"kind": "from_recipe"}),
        ("menu", {"kind": "mystery", "safe_success": 1.0}),
        ("learning bounds", "unheard of"),
        ("learning guard", 0),
        ("learning memory", "window 10000000000000"),
        ("learning memory", None),
        ("learner past", None),
        ("learner past", []),
        ("learning colour", "red"),
        ("first_unplayed", -3),
    ],
)
def test_a_state_that_contradicts_itself_is_refused(path: str, value: Any) -> None:
    state = busy(Selector(MENU, 0.9)).state()
    *way, last = [int(part) if part.isdigit() else part for part in path.split()]
    place: Any = state
    for part in way:
        place = place[part]
    place[last] = value
    with pytest.raises(StateError, match="the state does not describe a Selector"):
        Selector.from_state(state)


def test_any_missing_field_is_refused() -> None:
    state = busy(Selector(MENU, 0.9)).state()
    for name in state:
        with pytest.raises(StateError):
            Selector.from_state({key: value for key, value in state.items() if key != name})
