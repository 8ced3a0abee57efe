"""The history of a selector: periods, and the proved bounds in them."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice import Menu, Rule, Selector
from suffice.service.history import History


def unbounded(tolds: list[int]) -> list[tuple[float, float]]:
    return [(math.inf, math.inf) for _ in tolds]


def history_of(outcomes: list[tuple[float, bool]]) -> History:
    history = History()
    for at, success in outcomes:
        history.add(at, outcomes=1, units=int(success) * 10**9, cost=0.5, price=1.0, arm=1)
    return history


@pytest.mark.parametrize("most", [7, 30, 240])
@pytest.mark.parametrize("since", [-math.inf, 1090.0, 1133.3, 1200.6])
def test_new_periods_continue_earlier_ones(most: int, since: float) -> None:
    """Earlier periods and the new ones together equal all periods at once, which begin where the earlier ones begin."""
    outcomes = [(1000.3 + 0.7 * step, step % 4 > 0) for step in range(400)]
    later = history_of(outcomes)
    first = history_of(outcomes[:350]).bins(most, unbounded, 0.7, since)
    width = first[0].end - first[0].start
    new = later.bins(most, unbounded, 0.7, first[-1].start + 1e-3, width)
    every = [*first[:-1], *new]
    assert every == later.bins(most, unbounded, 0.7, first[0].start, width)
    assert all((each.start - first[0].start) % width == 0 for each in every)
    assert sum(each.outcomes for each in every) == every[-1].total - every[0].total + every[0].outcomes
    assert every[-1].total == 400
    assert later.bins(most, unbounded, 0.7, every[-1].end, width) == []


@given(
    st.lists(
        st.tuples(st.floats(0.0, 60.0), st.booleans(), st.integers(0, 4), st.integers(0, 3), st.booleans()), max_size=60
    ),
    st.integers(1, 30),
    st.none() | st.floats(-5.0, 70.0),
    st.none() | st.floats(1e-9, 100.0),
)
def test_bins_are_sums(
    outcomes: list[tuple[float, bool, int, int, bool]], most: int, since: float | None, width: float | None
) -> None:
    """Periods equal direct sums, with any order, gaps, late outcomes and buckets that were widened."""
    history, began = History(), 1_700_000_000.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("suffice.service.history.MOST_BUCKETS", 16)
        for at, success, cost, arm, late in outcomes:
            history.add(
                began + at, outcomes=int(not late), units=int(success) * 10**9, cost=cost / 4, price=at,
                arm=None if late else arm,
            )  # fmt: skip
    after = -math.inf if since is None else began + since
    bins = history.bins(most, lambda tolds: [(float(told), -1.0) for told in tolds], 0.5, after, width)
    places = [(math.floor((began + at) / history.width) * history.width, *rest) for at, *rest in outcomes]
    shown = [each for each in places if each[0] + history.width > after]
    assert sum(each.outcomes for each in bins) == sum(not late for *_, late in shown)
    assert width is not None or len(bins) <= most
    for each in bins:
        inside = [other for other in places if each.start <= other[0] < each.end]
        before = [other for other in places if other[0] < each.end]
        assert (each.outcomes, each.successes) == (
            sum(not late for *_, late in inside),
            sum(won for _, won, *_ in inside),
        )
        assert each.cost == sum(cost / 4 for _, _, cost, *_ in inside)
        assert each.arms == Counter(arm for *_, arm, late in inside if not late)
        assert each.total_successes == sum(won for _, won, *_ in before)
        assert each.total_cost == sum(cost / 4 for _, _, cost, *_ in before)
        assert each.total == each.debt_at_most == sum(not late for *_, late in before)
        assert each.debt == 0.5 * each.total - sum(won for _, won, *_ in before)
        assert inside
    assert len({(each.start - bins[0].start) % (each.end - each.start) for each in bins}) <= 1
    assert len({each.end - each.start for each in bins}) <= 1


@pytest.mark.parametrize("plan", [{}, {"max_surplus": 5}, {"max_debt": 0}, {"rule": Rule("cheap", max_surplus=5)}])
def test_the_bounds_of_a_history_are_those_of_the_promise(plan: dict[str, Any]) -> None:
    """The bounds of each time equal those of the certificate at that time, and no debt was above them."""
    selector = Selector(Menu({"a": 0.1, "b": 0.3}, safe="all", skip="none", safe_cost=1.0), 0.8, **plan)
    bounds, debts = [], []
    for step in range(300):
        decision = selector.ask()
        selector.tell(decision, decision.is_safe or (not decision.is_skip and step % 3 > 0))
        certificate = selector.certificate()
        bounds.append((certificate.debt_at_most, certificate.ahead_at_most))
        debts.append(certificate.debt)
    after = selector.certificate().bounds_after(range(1, 301))
    assert np.array(after) == pytest.approx(np.array(bounds))
    assert all(-ahead <= debt <= behind for debt, (behind, ahead) in zip(debts, after, strict=True))


def test_groups_have_the_current_bounds() -> None:
    selector = Selector(Menu({"a": 0.1}, safe="all", safe_cost=1.0), 0.8)
    for group in ("x", "y"):
        selector.tell(selector.ask(group=group), True)
    certificate = selector.certificate()
    assert certificate.bounds_after([1, 2]) == [(certificate.debt_at_most, certificate.ahead_at_most)] * 2
