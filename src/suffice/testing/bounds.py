"""The contract of bounds: subclass `BoundsContract`, make your bounds in one method, and run pytest."""

import json

import numpy as np
import pytest

from suffice.learning.bounds import Bounds, Tally
from suffice.learning.settings import Learning
from suffice.menu.menu import Menu
from suffice.promise.rules import MAX_DEBT, Rule
from suffice.selector.selector import Selector

KNOWN = Menu({"a": 0.1, "b": 0.4}, safe="all", skip="none", safe_cost=1.0)
REPORTED = Menu(["a", "b"], safe="all", skip="none", safe_cost=2.0)
SUCCESS = np.array([0.0, 0.3, 0.8, 1.0])  # of each arm
COST = np.array([0.0, 0.5, 1.0, 2.0])  # the mean of each arm, where costs come with outcomes


class BoundsContract:
    """What a selector relies on, as tests. Set the attributes to what your bounds promise.

    >>> class TestMyBounds(BoundsContract):  # in a file that pytest collects
    ...     def make_bounds(self):
    ...         return MyBounds()
    """

    hold_at_all_times = True  # with high probability no bound is ever wrong
    use_known_costs = True  # the lower cost of an arm with a known cost is that cost

    def make_bounds(self) -> Bounds:
        """Your bounds, before `start`. They are made again for every test."""
        raise NotImplementedError("return your bounds")

    @pytest.fixture(params=[KNOWN, REPORTED], ids=["known costs", "reported costs"])
    def menu(self, request: pytest.FixtureRequest) -> Menu:
        menu: Menu = request.param
        return menu

    @pytest.fixture(params=[None, 1000])
    def horizon(self, request: pytest.FixtureRequest) -> int | None:
        horizon: int | None = request.param
        return horizon

    def after(self, outcomes: int, menu: Menu, horizon: int | None) -> tuple[Bounds, Tally]:
        """Bounds and the tally after outcomes of random arms."""
        rng = np.random.default_rng(0)
        bounds, tally = self.make_bounds(), Tally(menu.n_arms)
        bounds.start(menu, horizon)
        for count in range(1, outcomes + 1):
            arm = int(rng.integers(menu.n_arms))
            cost = COST[arm] * (2.0 * rng.random() if arm in (1, 2) else 1.0)
            tally.add(arm, float(rng.random() < SUCCESS[arm]), min(cost, menu.safe_cost))
            bounds.update(tally, arm, count)
        return bounds, tally

    def test_boundary_arms_are_exact(self, menu: Menu, horizon: int | None) -> None:
        bounds, _ = self.after(300, menu, horizon)
        assert (bounds.upper[0], bounds.lower[0]) == (0.0, 0.0)
        assert (bounds.upper[-1], bounds.lower[-1]) == (menu.safe_success, menu.safe_cost)

    def test_updates_one_by_one_equal_a_refresh(self, menu: Menu, horizon: int | None) -> None:
        bounds, tally = self.after(300, menu, horizon)
        refreshed = self.make_bounds()
        refreshed.start(menu, horizon)
        refreshed.refresh(tally, 300)
        assert refreshed.upper.tolist() == bounds.upper.tolist()
        assert refreshed.lower.tolist() == bounds.lower.tolist()

    def test_bounds_surround_the_means_and_narrow(self, menu: Menu, horizon: int | None) -> None:
        bounds, tally = self.after(300, menu, horizon)
        for arm in (1, 2):
            assert bounds.upper[arm] > tally.successes[arm] / tally.plays[arm]
            known = menu.known_cost(arm) if self.use_known_costs else None
            if known is None:
                assert bounds.lower[arm] < tally.costs[arm] / tally.priced[arm]
            else:
                assert bounds.lower[arm] == known
        assert self.after(3000, menu, horizon)[0].upper[1] < bounds.upper[1]

    def test_an_unplayed_arm_has_the_widest_bounds(self, menu: Menu, horizon: int | None) -> None:
        bounds, _ = self.after(0, menu, horizon)
        assert (bounds.upper[menu.interior] >= 1.0).all()
        assert (bounds.lower[menu.interior] <= (0.0 if menu.costs is None else menu.costs)).all()

    def test_an_expired_play_has_no_cost(self) -> None:
        bounds, tally = self.make_bounds(), Tally(REPORTED.n_arms)
        bounds.start(REPORTED, 100)
        tally.add(1, 0.0, None)
        bounds.update(tally, 1, 1)
        assert bounds.lower[1] <= 0.0

    @pytest.mark.parametrize("horizon", [None, 400])
    def test_bounds_hold_at_all_times(self, horizon: int | None) -> None:
        """In at most one of forty runs is any bound of any arm ever wrong."""
        if not self.hold_at_all_times:
            pytest.skip("these bounds are declared to be wrong sometimes")
        wrong = 0
        for seed in range(40):
            rng = np.random.default_rng(seed)
            selector = Selector(REPORTED, 0.7, rule=Rule(horizon=horizon), learning=Learning(bounds=self.make_bounds()))
            holds = True
            for _ in range(400):
                decision = selector.ask()
                cost = COST[decision.arm] * (2.0 * rng.random() if decision.arm in (1, 2) else 1.0)
                selector.tell(decision, bool(rng.random() < SUCCESS[decision.arm]), min(cost, 2.0))
                columns = selector.learner.columns()
                holds = holds and not ((columns.upper < SUCCESS).any() or (columns.lower > COST).any())
            wrong += not holds
        assert wrong <= 1

    def test_a_saved_selector_goes_on_like_the_original(self, menu: Menu) -> None:
        rng = np.random.default_rng(1)
        selectors = [Selector(menu, 0.8, learning=Learning(bounds=self.make_bounds())) for _ in range(2)]
        for step in range(400):
            if step == 200:
                state = json.loads(json.dumps(selectors[0].state()))
                selectors[0] = Selector.from_state(state, learning=Learning(bounds=self.make_bounds()))
            decisions = [selector.ask() for selector in selectors]
            assert decisions[0].arm == decisions[1].arm
            success = bool(rng.random() < SUCCESS[decisions[0].arm])
            for selector, decision in zip(selectors, decisions, strict=True):
                selector.tell(decision, success, None if menu.costs is not None else float(COST[decision.arm]))
                assert selector.debt <= MAX_DEBT
