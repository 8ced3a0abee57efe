"""Menus: the five constructors, arms and options, containment, and recipes that build the same menu again."""

import json
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from suffice import InvalidArgument, Menu

MENUS = {
    "top_k": Menu.top_k([5, 10, 20, 50], classes=100, skip=True),
    "top_k without a skip": Menu.top_k([5, 10], classes=100, skip=False),
    "thresholds": Menu.thresholds(0, 2, step=0.25, skip=True, safe_cost=1.0),
    "thresholds with costs": Menu.thresholds(
        -1, 1, horizon=1000, costs=lambda x: (x + 1) / 2, skip=True, safe_cost=1.0
    ),
    "grid": Menu.grid(
        distance=[1, 5, 50], rating=[4.5, 4.0, 0], costs=lambda o: o["distance"] / 50, skip=True, safe_cost=1.0
    ),
    "intervals": Menu.intervals(step=0.05, skip=True),
    "intervals by horizon": Menu.intervals(horizon=10_000, skip=True),
    "subsets": Menu.subsets({"a": 0.1, "b": 0.2, "c": Fraction(1, 3)}, safe="a person", safe_cost=5, skip=True),
    "subsets of sensors": Menu.subsets({"a": 1, "b": 2}, safe_success=0.99, skip=False),
    "fine thresholds": Menu.thresholds(Fraction(1, 3), Fraction(5, 7), step=Fraction(1, 21), skip=True, safe_cost=1.0),  # type: ignore[arg-type]
    "grid of tuples": Menu.grid(a=[(1, 2), (3, 4)], b=np.arange(3), skip=True, safe_cost=1.0),  # type: ignore[arg-type]
    "subsets of tuples": Menu.subsets({("a", 1): 1, ("b", 2): 2}, at_most=np.int64(1), skip=True),  # type: ignore[dict-item,arg-type]
    "own": Menu({"x": 0.1, ("y", 2): 0.2}, safe={"all": [1, 2]}, skip=None, order="chain", safe_cost=1.0),
    "own, listed": Menu({"all": 2.0, "x": 0.5, "y": 1}, safe="all", skip="none"),
    "own, told": Menu([1, 2.5, "three"], safe="all", safe_cost=7),
}


@pytest.mark.parametrize("menu", MENUS.values(), ids=MENUS.keys())
class TestEveryMenu:
    def test_arms_and_options_correspond(self, menu: Menu) -> None:
        options = [menu.option(arm) for arm in range(menu.n_arms)]
        assert [menu.arm(option) for option in options] == list(range(menu.n_arms))
        assert options[-1] == menu.safe
        assert options[menu.interior] == list(menu.options)
        assert (options[0] == menu.skip) == menu.has_skip
        assert [arm for arm in range(menu.n_arms) if menu.is_boundary(arm)] == [0] * menu.has_skip + [menu.n_arms - 1]

    def test_known_costs_lie_between_the_boundary_costs(self, menu: Menu) -> None:
        assert menu.known_cost(menu.n_arms - 1) == menu.safe_cost
        if menu.has_skip:
            assert menu.known_cost(0) == 0.0
        if menu.costs is not None:
            assert ((menu.costs >= 0) & (menu.costs <= menu.safe_cost)).all()

    def test_containment_is_an_order_and_costs_respect_it(self, menu: Menu) -> None:
        rng = np.random.default_rng(0)
        for a, b, c in rng.integers(0, menu.n_arms, (300, 3)).tolist():
            assert menu.nested(a, a)
            assert menu.nested(a, menu.n_arms - 1)
            if a != b and menu.nested(a, b):
                assert not menu.nested(b, a)
                cheap, dear = menu.known_cost(a), menu.known_cost(b)
                assert cheap is None or dear is None or cheap <= dear
                if menu.nested(b, c):
                    assert menu.nested(a, c)

    def test_the_recipe_builds_the_same_menu(self, menu: Menu) -> None:
        again = Menu.from_recipe(json.loads(json.dumps(menu.recipe())))
        assert [again.option(arm) for arm in range(again.n_arms)] == [menu.option(arm) for arm in range(menu.n_arms)]
        assert again.recipe() == menu.recipe()
        for a, b in np.random.default_rng(0).integers(0, menu.n_arms, (300, 2)).tolist():
            assert again.nested(a, b) == menu.nested(a, b)
        assert again.safe_success == menu.safe_success
        assert (again.costs is None) == (menu.costs is None)
        if menu.costs is not None and again.costs is not None:
            assert (again.costs == menu.costs).all()

    def test_menus_pickle(self, menu: Menu) -> None:
        again = pickle.loads(pickle.dumps(menu))
        assert again.recipe() == menu.recipe()
        assert again.nested(0, menu.n_arms - 1)

    def test_menus_read_well(self, menu: Menu) -> None:
        assert repr(menu).startswith(f"<Menu of {menu.n_arms} arms (")


@pytest.mark.parametrize("costs", [[0.2, 0.9, 0.5], np.array([0.2, 0.9, 0.5])], ids=["list", "array"])
def test_the_safe_option_may_stand_among_the_others(costs: Any) -> None:
    beside = Menu({"small": 0.2, "large": 0.5}, safe="a person", safe_cost=0.9)
    listed = Menu({"small": 0.2, "a person": 0.9, "large": 0.5}, safe="a person")
    twice = Menu({"small": 0.2, "large": 0.5, "a person": 0.9}, safe="a person", safe_cost=0.9)
    in_a_row = Menu(["small", "a person", "large"], safe="a person", costs=costs)
    assert listed.options == ("small", "large")
    assert beside.recipe() == listed.recipe() == twice.recipe() == in_a_row.recipe()
    told = Menu(["small", "a person", "large"], safe="a person", safe_cost=0.9)
    assert (told.options, told.costs, told.safe_cost) == (("small", "large"), None, 0.9)
    assert Menu(["a person"], safe="a person", safe_cost=1).options == ()


def test_no_menu_has_a_skip_unless_it_is_given_one() -> None:
    """Neither a skip that is left out nor None is one."""
    makers: list[tuple[Any, dict[str, Any], Any]] = [
        (Menu.top_k, {"ks": [5, 10], "classes": 100}, 0),
        (Menu.thresholds, {"low": -1, "high": 1, "step": 0.5, "safe_cost": 3}, -1.0),
        (Menu.grid, {"distance": [1, 5], "safe_cost": 3}, "skip"),
        (Menu.intervals, {"step": 0.25}, "skip"),
        (Menu.subsets, {"prices": {"a": 1, "b": 2}}, ()),
    ]
    for make_menu, settings, skip in makers:
        bare, same, skipping = (
            make_menu(**settings),
            make_menu(**settings, skip=False),
            make_menu(**settings, skip=True),
        )
        assert bare.recipe() == same.recipe()
        assert (bare.has_skip, bare.skip) == (False, None)
        assert (skipping.has_skip, skipping.skip, skipping.option(0)) == (True, skip, skip)
        assert skipping.options == bare.options
        assert skipping.known_cost(0) == 0.0
    assert not Menu({"a": 0.1, "b": 1}, safe="b").has_skip
    assert not Menu({"a": 0.1, "b": 1}, safe="b", skip=None).has_skip


def test_costs_that_are_a_function_say_what_the_safe_option_costs() -> None:
    thresholds = Menu.thresholds(0, 2, step=1, costs=lambda threshold: threshold**2)
    assert (thresholds.known_cost(0), thresholds.safe_cost) == (1.0, 4.0)
    points = Menu.grid(near=[1, 2], rated=[3, 0], costs=lambda point: 10 * point["near"] - point["rated"])
    assert points.costs is not None
    assert (points.costs.tolist(), points.safe_cost) == ([7.0, 10.0, 17.0], 20.0)
    assert Menu.thresholds(0, 2, step=1, costs=lambda threshold: threshold**2, safe_cost=9).safe_cost == 9.0


def test_top_k() -> None:
    menu = Menu.top_k([0, 50, 5, 100], classes=100, skip=True)
    assert (menu.skip, menu.options, menu.safe) == (0, (5, 50), 100)
    assert menu.known_cost(1) == 0.05
    assert menu.nested(1, 2)
    assert not menu.nested(2, 1)


def test_thresholds() -> None:
    assert Menu.thresholds(0, 1, horizon=1000, skip=True, safe_cost=1.0).options == tuple(i / 10 for i in range(1, 10))
    assert Menu.thresholds(0, 1, step=0.3, skip=True, safe_cost=1.0).options == (0.3, 0.6, 0.9)
    assert len(Menu.thresholds(10, 30, horizon=1_000_000, skip=True, safe_cost=1.0).options) == 99
    assert Menu.thresholds(0, 1, step=1 / 3, skip=True, safe_cost=1.0).options == pytest.approx((1 / 3, 2 / 3))


def test_grid() -> None:
    menu = Menu.grid(distance=[1, 5, 50], rating=[4.5, 4.0, 0], skip=True, safe_cost=1.0)
    assert menu.n_arms == 10
    assert menu.safe == {"distance": 50, "rating": 0}
    near, far = menu.arm({"distance": 1, "rating": 4.0}), menu.arm({"rating": 4.0, "distance": 5})
    fussy = menu.arm({"distance": 5, "rating": 4.5})
    assert menu.nested(near, far)
    assert not menu.nested(near, fussy)
    assert not menu.nested(fussy, near)


def test_intervals() -> None:
    menu = Menu.intervals(step=0.25, skip=True)
    assert menu.n_arms == 11
    assert menu.option(1) == (0.0, 0.25)
    assert menu.safe == (0.0, 1.0)
    assert menu.skip == "skip"
    assert menu.known_cost(menu.arm((0.25, 0.75))) == 0.5
    assert menu.nested(menu.arm((0.25, 0.5)), menu.arm((0.0, 0.5)))
    assert Menu.intervals(horizon=10_000, skip=True).n_arms == 10 * 11 // 2 + 1
    assert Menu.intervals(horizon=10_001, skip=True).n_arms == 11 * 12 // 2 + 1


def test_subsets() -> None:
    menu = Menu.subsets({"a": 0.1, "b": 0.2, "c": 0.4}, safe="a person", safe_cost=0.5, skip=True)
    assert menu.options == (("a",), ("b",), ("c",), ("a", "b"), ("a", "c"))  # dearer than the person: left out
    assert menu.known_cost(menu.arm(("a", "b"))) == 0.3  # as written, not 0.30000000000000004
    assert menu.nested(menu.arm(("a",)), menu.arm(("a", "c")))
    assert Menu.subsets({"a": 1, "b": 2}, skip=True).safe == ("a", "b")
    assert Menu.subsets({"a": 1, "b": 2}, skip=True).safe_cost == 3
    assert Menu.subsets(dict.fromkeys("abcd", 1), at_most=2, safe=0, safe_cost=9, skip=True).n_arms == 12


def test_own_containment_function() -> None:
    menu = Menu(["a", "ab", "c"], safe="abc", order=lambda a, b: set(b) <= set(a), safe_cost=1.0)
    assert menu.nested(0, 1)
    assert not menu.nested(0, 2)
    with pytest.raises(InvalidArgument, match="a function cannot"):
        menu.recipe()


ONE = {"safe": 1, "safe_cost": 1.0}


def make(kind: str, *args: Any, **kwargs: Any) -> Menu:
    return Menu(*args, **kwargs) if kind == "Menu" else getattr(Menu, kind)(*args, **kwargs)


@pytest.mark.parametrize(
    ("kind", "args", "kwargs", "said"),
    [
        ("Menu", [5], {"safe": 1}, "options must be a sequence or a mapping of option to cost, got 5"),
        ("Menu", ["abc"], {"safe": 1}, "options must be a sequence"),
        ("Menu", [["a", "a"]], {**ONE}, "options must differ, got 'a' twice"),
        ("Menu", [["a", 1, 1]], {**ONE}, "options must differ, got 1 twice"),
        ("Menu", [["a"]], {**ONE, "skip": "a"}, "options must differ, got 'a' twice"),
        ("Menu", [["a"]], {**ONE, "skip": 1}, "safe must differ from the options, got 1"),
        ("Menu", [["a"]], {**ONE, "costs": [1, 2]}, "costs must hold one number per option, 1, got"),
        ("Menu", [["a", 1]], {"safe": 1, "costs": [1]}, "safe_cost must be given, what the safe option 1 costs: list"),
        ("Menu", [["a"]], {**ONE, "costs": [-1]}, "costs must lie between 0 and 1, what the safe option costs, got -1.0 for "
            "option 'a'"),
        ("Menu", [["a"]], {**ONE, "costs": [2]}, "costs must lie between 0 and 1, what the safe option costs, got 2.0 for "
            "option 'a': the safe option must be the dearest, or nothing would ever call for another"),
        ("Menu", [["a"]], {**ONE, "costs": [float("nan")]}, "costs must lie between"),
        ("Menu", [["a"]], {"safe": {1}}, "safe must be hashable"),
        ("Menu", [{"a": 1}], {"safe": 1, "costs": [1]}, "costs must be left out"),
        ("Menu", [{"a": 2}], {**ONE}, "options must cost between 0 and 1, what the safe option costs, got 2.0 for option "
            "'a': the safe option must be the dearest"),
        ("Menu", [{"a": 2, 1: 1.5}], {"safe": 1}, "options must cost between 0 and 1.5, what the safe option costs, got 2.0"),
        ("Menu", [{"a": 0.5, 1: 1.5}], {"safe": 1, "safe_cost": 2}, "safe_cost must be left out, or be what the options say, "
            "1.5, got 2"),
        ("Menu", [{"a": 0.5, 1: "dear"}], {"safe": 1}, "safe_cost must be a number, got 'dear'"),
        ("Menu", [{"a": 0.5}], {"safe": 1}, "safe_cost must be given, what the safe option 1 costs: list it among the options "
            "with its cost, or pass safe_cost="),
        ("Menu", [["a"]], {"safe": None, "safe_cost": 1}, "safe must be an option of yours such as 'a person', got None"),
        ("Menu", [["a"]], {"safe": 1, "safe_cost": 0}, "safe_cost must be above 0 (at least 1e-100), got 0"),
        ("Menu", [["a"]], {"safe": 1, "safe_cost": float("inf")}, "safe_cost must be finite, got inf"),
        ("Menu", [["a"]], {"safe": 1, "safe_cost": "1"}, "safe_cost must be a number, got '1'"),
        ("Menu", [["a"]], {**ONE, "safe_success": 0}, "safe_success must lie above 0"),
        ("Menu", [["a"]], {**ONE, "safe_success": 1.1}, "safe_success must lie above 0"),
        ("Menu", [["a"]], {**ONE, "order": "tree"}, "order must be"),
        ("Menu", [[{1}]], {"safe": 1}, "options must be hashable"),
        ("top_k", [[5], 1], {}, "classes must be at least 2, got 1"),
        ("top_k", [[5.5], 10], {}, "ks must be a whole number, got 5.5"),
        ("top_k", [[-1], 10], {}, "ks must be at least 0, got -1"),
        ("top_k", [[11], 10], {}, "ks must be at most the 10 classes, got 11"),
        ("top_k", [5, 10], {}, "ks must be whole numbers, got 5"),
        ("thresholds", [1, 0], {"step": 0.1}, "low must be below high"),
        ("thresholds", [0, 1], {}, "give step or horizon, one of them"),
        ("thresholds", [0, 1], {"step": 0.1, "horizon": 10}, "give step or horizon"),
        ("thresholds", [0, 1], {"step": 2}, "step must be at most the range 1, got 2"),
        ("thresholds", [0, 1], {"step": -1}, "step must be above 0"),
        ("thresholds", [0, 1], {"step": 1e-9}, "a menu must have at most 5,000,000 options"),
        ("thresholds", [0, 1], {"horizon": 0}, "horizon must be at least 1, got 0"),
        ("thresholds", [0, 1], {"horizon": 10.5}, "horizon must be a whole number"),
        ("thresholds", ["a", 1], {"step": 1}, "low must be a number, got 'a'"),
        ("thresholds", [0, 1], {"step": 0.5}, "safe_cost must be given, what the safe option 1.0 costs"),
        ("grid", [], {"a": [1, 2]}, "safe_cost must be given, what the safe option {'a': 2} costs"),
        ("grid", [], {}, "grid must be given at least one axis"),
        ("grid", [], {"a": []}, "a must list at least one value"),
        ("grid", [], {"a": [1, 1]}, "a must list at least one value and none twice"),
        ("grid", [], {"a": 3}, "a must list its values"),
        ("grid", [], {"a": [{1}]}, "a must be hashable"),
        ("top_k", [[5], 10], {"skip": 0}, "skip must be True or False, got 0"),
        ("top_k", [[5], 10], {"safe_success": np.True_}, "safe_success must be a number, got np.True_"),
        ("intervals", [], {"step": 0.3}, "step must divide the range 1 evenly, got 0.3"),
        ("intervals", [], {"step": 1e-4}, "a menu must have at most 5,000,000 options"),
        ("subsets", [{}], {}, "prices must map at least one name"),
        ("subsets", [{"a": -1}], {}, "prices['a'] must be at least 0, got -1"),
        ("subsets", [{"a": "x"}], {}, "prices['a'] must be a number"),
        ("subsets", [{"a": 1}], {"safe": "p"}, "safe and safe_cost must be given together"),
        ("subsets", [{str(i): 1 for i in range(30)}], {}, "prices must make at most 65,536 subsets, got 30 items"),
        ("subsets", [{"a": 0}], {}, "prices must not all be 0, got {'a': 0}"),
    ],
)  # fmt: skip
def test_bad_menus(kind: str, args: list[Any], kwargs: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidArgument) as error:
        make(kind, *args, **kwargs)
    assert str(error.value).startswith(said)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "costs",
    [["0.1", 1], {"a": "0.1"}, True, [True, 0.5], [np.True_, 0.5], np.array([True, False]), np.array(["1", "2"]), [None, 1],
     [[1], 2]],
)  # fmt: skip
def test_costs_that_are_no_numbers(costs: Any) -> None:
    with pytest.raises(InvalidArgument, match="costs must hold a number for the cost of each option, got "):
        Menu(["a", "b"], safe="all", costs=costs, safe_cost=1.0)
    if isinstance(costs, list):
        with pytest.raises(InvalidArgument, match="options must hold a number for the cost of each option, got "):
            Menu(dict(zip("ab", costs, strict=True)), safe="all", safe_cost=1.0)


def test_arms_out_of_range() -> None:
    for arm in (-1, 6):
        for call in (MENUS["top_k"].option, MENUS["top_k"].known_cost):
            with pytest.raises(InvalidArgument, match="arm must be a number from 0 to 5"):
                call(arm)


def test_skip_is_an_option_not_a_switch() -> None:
    for bad in (True, False):
        with pytest.raises(InvalidArgument, match="skip must be an option of yours"):
            Menu(["a"], safe="all", skip=bad, safe_cost=1.0)


def test_what_is_handed_out_is_not_the_menu() -> None:
    """A caller that changes a dict it was handed does not change what the safe option is."""
    menu = Menu.grid(distance=[1, 5, 50], rating=[4.5, 0], skip=True, safe_cost=1.0)
    menu.option(menu.n_arms - 1)["distance"] = 1
    menu.recipe()["options"].clear()
    assert menu.option(menu.n_arms - 1) == {"distance": 50, "rating": 0}
    assert len(menu.recipe()["options"]) == menu.n_arms
