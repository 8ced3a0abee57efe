"""Plans: every form of menu, one text for each plan, and errors for plans that are too large or make no sense."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from suffice import Menu, Selector
from suffice.errors import InvalidArgument
from suffice.menu.options import key
from suffice.service.plans import EXAMPLE, Plan, arm_of, option_json
from suffice.service.plans.fields import MOST_LISTED
from suffice.service.plans.json_options import JsonMenu
from suffice.service.plans.untrusted_menu import OptionsRecipe
from suffice.service.plans.validation_errors import read_faults, where_of
from suffice.service.records import Limits

FORMS: list[tuple[dict[str, Any], Menu]] = [
    (
        {"kind": "options", "options": {"small": 0.1, "large": 0.4, "a person": 2}, "safe": "a person", "skip": "skip"},
        Menu({"small": 0.1, "large": 0.4, "a person": 2.0}, safe="a person", skip="skip"),
    ),
    (
        {"kind": "options", "options": {"small": 0.1, "large": 0.4}, "safe": "a person", "safe_cost": 1, "skip": None},
        Menu({"small": 0.1, "large": 0.4}, safe="a person", safe_cost=1.0),
    ),
    (
        {"kind": "options", "options": {"small": None, "large": None, "a person": 3}, "safe": "a person"},
        Menu(["small", "large"], safe="a person", safe_cost=3.0),
    ),
    (
        {
            "kind": "options", "safe": "all", "order": "chain", "safe_cost": 5,
            "options": [{"option": 1}, {"option": "b"}, {"option": [1, 2]}, {"option": {"k": 3}, "cost": None}],
        },
        Menu([1, "b", [1, 2], {"k": 3}], safe="all", order="chain", safe_cost=5),
    ),
    (
        {
            "kind": "options", "safe": [2], "safe_success": 0.99,
            "options": [{"option": [2], "cost": 4}, {"option": [1], "cost": 1}],
        },
        Menu([[1]], safe=[2], costs=[1], safe_success=0.99, safe_cost=4.0),
    ),
    ({"kind": "top_k", "ks": [20, 5, 10, 5], "classes": 100}, Menu.top_k([5, 10, 20], 100)),
    ({"kind": "top_k", "ks": [5], "classes": 1e2, "skip": True}, Menu.top_k([5], 100, skip=True)),
    (
        {"kind": "thresholds", "low": -1, "high": 1, "step": 0.3, "safe_cost": 2},
        Menu.thresholds(-1, 1, step=0.3, safe_cost=2.0),
    ),
    (
        {"kind": "thresholds", "low": 0, "high": 1, "horizon": 1000, "safe_cost": 1, "skip": True},
        Menu.thresholds(0, 1, horizon=1000, skip=True, safe_cost=1.0),
    ),
    (
        {"kind": "grid", "axes": {"distance": [1, 5, 50], "rating": [4.5, 0]}, "safe_cost": 3},
        Menu.grid(distance=[1, 5, 50], rating=[4.5, 0], safe_cost=3),
    ),
    (
        {"kind": "grid", "axes": {"a": [1, 2]}, "safe_cost": 3, "costs": [1], "skip": True},
        Menu.grid(a=[1, 2], safe_cost=3, costs=[1], skip=True),
    ),
    ({"kind": "intervals", "step": 0.1, "skip": True}, Menu.intervals(step=0.1, skip=True)),
    ({"kind": "intervals", "horizon": 10_000}, Menu.intervals(horizon=10_000)),
    ({"kind": "subsets", "prices": {"a": 1, "b": 2.5}, "at_most": 1}, Menu.subsets({"a": 1, "b": 2.5}, at_most=1)),
    (
        {"kind": "subsets", "prices": {"a": 1, "b": 2}, "safe": "a person", "safe_cost": 15, "skip": True},
        Menu.subsets({"a": 1, "b": 2}, safe="a person", safe_cost=15, skip=True),
    ),
]  # fmt: skip


def plan(menu: dict[str, Any], target: Any = 0.9, **more: Any) -> Plan:
    return Plan.parse(json.dumps({"menu": menu, "target": target, **more}))


def refusal(text: str | bytes) -> str:
    def build() -> None:
        made = Plan.parse(text)
        made.check(Limits())
        made.selector()

    with pytest.raises(InvalidArgument) as caught:
        build()
    message = str(caught.value)
    assert message
    assert "\n" not in message
    return message


# --- forms


@pytest.mark.parametrize(("form", "menu"), FORMS)
def test_a_form_makes_the_menu_of_the_library(form: dict[str, Any], menu: Menu) -> None:
    made = plan(form)
    made.check(Limits())
    assert key(made.menu().recipe()) == key(menu.recipe())
    assert made.menu() is made.menu()
    assert made.selector().ask().arm == Selector(menu, 0.9).ask().arm
    for arm in range(menu.n_arms):
        assert made.menu().option(arm) == menu.option(arm)
        assert arm_of(made.menu(), json.loads(json.dumps(option_json(menu, arm)))) == arm
    absent: list[Any] = ["no such", ["no", "such"], {"no": "such"}, [[[]]], 1e300]
    for option in absent:
        with pytest.raises(InvalidArgument, match="available must list options of the menu, got"):
            arm_of(made.menu(), option)


@pytest.mark.parametrize(("form", "menu"), FORMS)
def test_a_plan_is_the_same_as_a_recipe_and_after_it_was_stored(form: dict[str, Any], menu: Menu) -> None:
    made = plan(form, in_flight=1e6, max_debt=0.5, learning={"memory": "window 2000"}, model="auto", expire_after=60)
    stored = Plan.parse(made.canonical)
    assert stored == made
    assert stored.canonical == made.canonical
    assert made.plain() == json.loads(made.canonical)
    sent = {"kind": "recipe", "recipe": json.loads(json.dumps(menu.recipe()))}
    again = plan(sent, in_flight=1e6, max_debt=0.5, learning={"memory": "window 2000"}, model="auto", expire_after=60)
    again.check(Limits())
    assert made.same(again)
    assert again.same(made)
    assert not made.same(plan(form, target=0.8))
    assert not made.same(plan(form, in_flight=1e6, learning={"memory": "window 2000"}, model="auto", expire_after=60))
    assert key(again.menu().recipe()) == key(menu.recipe()) == key(stored.menu().recipe())


def test_defaults_are_stored_and_equal_numbers_are_the_same_plan() -> None:
    short, long = (
        Plan.model_validate(EXAMPLE),
        plan(EXAMPLE["menu"], 0.90, seed=0.0, max_debt=5, in_flight=200.0, max_surplus=None, learning={"guard": 1}),
    )
    assert short.canonical == long.canonical
    stored = json.loads(short.canonical)
    assert (stored["max_debt"], stored["in_flight"], stored["max_surplus"]) == (5, 200, None)
    assert stored["menu"]["skip"] is None
    thirds = plan(EXAMPLE["menu"], target=2 / 3)
    assert thirds.selector().promise.target == 666_666_667  # rounded up to a billionth


def test_the_order_of_options_is_kept() -> None:
    """Otherwise the arms would be different after a restart."""
    form = {"kind": "options", "options": {"z": 0.1, "a": 0.2, "e": 1}, "safe": "e"}
    other = {"kind": "options", "options": {"a": 0.2, "z": 0.1, "e": 1}, "safe": "e"}
    assert Plan.parse(plan(form).canonical).menu().options == ("z", "a")
    assert not plan(form).same(plan(other))
    grid = plan({"kind": "grid", "axes": {"z": [1, 2], "a": [3, 4]}, "safe_cost": 1})
    assert Plan.parse(grid.canonical).menu().option(0) == {"z": 1, "a": 3}
    assert Plan.parse(grid.canonical).menu().option(1) == {"z": 1, "a": 4}


@pytest.mark.parametrize("form", [form for form, _ in FORMS if form["kind"] == "options"])
def test_a_skip_of_null_is_none_like_one_that_is_left_out(form: dict[str, Any]) -> None:
    bare = {name: value for name, value in form.items() if name != "skip"}
    left_out, null, given = (plan({**bare, **more}) for more in ({}, {"skip": None}, {"skip": "none"}))
    assert left_out.canonical == null.canonical
    assert not left_out.menu().has_skip
    assert given.menu().has_skip
    assert given.menu().option(0) == "none"
    assert not given.same(null)


@pytest.mark.parametrize("form", [form for form, _ in FORMS if form["kind"] != "options"])
def test_no_form_has_a_skip_by_default(form: dict[str, Any]) -> None:
    bare = {name: value for name, value in form.items() if name != "skip"}
    assert not plan(bare).menu().has_skip
    assert plan({**bare, "skip": True}).menu().has_skip


def test_true_and_one_are_not_the_same_option() -> None:
    def with_option(option: object) -> Plan:
        return plan({"kind": "options", "options": [{"option": option}], "safe": "b", "safe_cost": 1})

    assert not with_option(1).same(with_option(True))
    assert with_option(1).same(with_option(1.0))


def test_arguments_reach_the_selector() -> None:
    made = plan(
        FORMS[5][0],
        0.8,
        max_debt=2.5,
        in_flight=17,
        max_surplus=9,
        seed=7,
        expire_after=1e12,
        learning={"bounds": "kl", "chooser": "optimist", "prices": "straight"},
    )
    selector = made.selector()
    assert (selector.learning.bounds, selector.learning.chooser, selector.target) == ("kl", "optimist", 0.8)
    assert selector._expire_after == 1e12
    promise = selector.promise
    assert (promise.max_debt, promise.in_flight, promise.max_surplus) == (2_500_000_000, 17, 9.0)
    assert promise.rule is None


# --- options


def test_tuples_inside_of_lists_are_found() -> None:
    menu = JsonMenu([[(1, 2), [3]], {"a": (1,)}], safe=(1, (2, 3)), safe_cost=1.0)
    assert [arm_of(menu, option) for option in ([[1, 2], [3]], {"a": [1]}, [1, [2, 3]])] == [0, 1, 2]
    assert arm_of(JsonMenu([5, True], safe="e", safe_cost=1.0), 5.0) == 0
    assert arm_of(JsonMenu([5, True], safe="e", safe_cost=1.0), True) == 1
    with pytest.raises(InvalidArgument):
        arm_of(JsonMenu([5], safe="e", safe_cost=1.0), True)


def test_options_that_json_cannot_tell_apart_are_refused() -> None:
    recipe = Menu([[1], (1,)], safe="e", safe_cost=1.0).recipe()
    assert "options must differ as JSON too" in refusal(
        json.dumps({"menu": {"kind": "recipe", "recipe": recipe}, "target": 0.5})
    )


# --- too large


@pytest.mark.parametrize(
    "form",
    [
        {"kind": "options", "options": [{"option": place} for place in range(20_000)], "safe": "e", "safe_cost": 1},
        {"kind": "top_k", "ks": list(range(1, 21_000)), "classes": 50_000},
        {"kind": "thresholds", "low": 0, "high": 1, "step": 1e-9},
        {"kind": "thresholds", "low": 0, "high": 1, "horizon": 9007199254740992},
        {"kind": "grid", "axes": {f"axis {place}": [1, 2, 3, 4, 5, 6, 7] for place in range(16)}},
        {"kind": "grid", "axes": {f"axis {place}": ["x" * 900, "y" * 900] for place in range(14)}},
        {"kind": "intervals", "step": 1e-9},
        {"kind": "intervals", "horizon": 9007199254740992},
        {"kind": "subsets", "prices": {f"item {place}": 1 for place in range(5_000)}},
        {"kind": "subsets", "prices": {f"{place:0200}": 1 for place in range(14)}},
        {"kind": "recipe", "recipe": {"kind": "intervals", "skip": True, "safe_success": 1.0, "cells": 10**9}},
    ],
)
def test_a_menu_that_is_too_large_is_refused_before_it_is_built(
    form: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = plan(form)  # the size of a body is limited elsewhere

    def build(*_: Any, **__: Any) -> None:
        raise AssertionError("the menu is built")

    monkeypatch.setattr(Menu, "__init__", build)
    with pytest.raises(InvalidArgument, match=r"menu must (have|be) at most .* makes"):
        made.check(Limits())


def test_the_limit_is_that_of_the_server() -> None:
    made = plan({"kind": "intervals", "step": 0.05, "skip": True})
    assert made.menu().n_arms == 211
    made.check(Limits(arms=211))
    with pytest.raises(InvalidArgument, match="at most 200 options on this server: step makes 211"):
        made.check(Limits(arms=200))


# --- refused


def options(listed: object, **more: object) -> dict[str, Any]:
    """A plan with these options, as a change of the example."""
    return {"menu": {"kind": "options", "options": listed, "safe": "e", "safe_cost": 1, **more}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": 1}, "target must be a number strictly between 0 and 1, got 1"),
        ({"target": True}, "target must be a number strictly between 0 and 1"),
        ({"target": "0.9"}, "target must be a number strictly between 0 and 1"),
        ({"in_flight": True}, "in_flight must be a whole number, got true"),
        ({"in_flight": 1.5}, "in_flight must be a whole number, got 1.5"),
        ({"in_flight": -1}, "in_flight must be at least 0, got -1"),
        ({"in_flight": 2**53 + 1}, "in_flight must be at most 9,007,199,254,740,992"),
        ({"in_flight": None}, "in_flight must be a whole number"),
        ({"max_debt": -0.1}, "max_debt must be at least 0, got -0.1"),
        ({"max_debt": 1e9}, "max_debt must be at most 1e+08, got 1000000000.0"),
        ({"max_debt": None}, "max_debt must be a number"),
        ({"max_surplus": -1}, "max_surplus must be above 0, got -1"),
        *(({name: 1}, f"{name} is not known here") for name in ("max_pending", "horizon", "step", "cap", "start", "rule")),
        ({"learning": {"bounds": "mine"}}, 'learning.bounds must be one of "auto", "interval-closure"'),
        ({"model": "sklearn"}, 'model must be one of "auto"'),
        ({"learning": {"memory": "window 0"}}, 'learning.memory must be "auto"'),
        ({"learning": {"memory": "window ٢"}}, 'learning.memory must be "auto"'),
        ({"seed": -1}, "seed must be at least 0"),
        ({"learning": {"guard": 0}}, "learning.guard must be above 0"),
        ({"expire_after": 0}, "expire_after must be above 0"),
        ({"colour": 1}, "colour is not known here"),
        ({"menu": None}, "menu must"),
        ({"menu": {}}, 'menu must say its "kind"'),
        ({"menu": {"kind": "all"}}, 'menu must be one of "options", "top_k"'),
        ({"menu": {"kind": "top_k", "ks": [-1], "classes": 5}}, "menu.ks[0] must be at least 0"),
        ({"menu": {"kind": "top_k", "ks": [9], "classes": 5}}, "ks must be at most the 5 classes, got 9"),
        ({"menu": {"kind": "top_k", "ks": [1]}}, "menu.classes must be given"),
        ({"menu": {"kind": "top_k", "ks": [1] * 100_001, "classes": 5}}, "menu.ks must hold at most 100,000"),
        (options([{"option": 1e999}]), "menu.options[0].option must hold finite numbers"),
        ({"menu": {"kind": "thresholds", "low": 1, "high": 0, "step": 1}}, "low must be below high"),
        ({"menu": {"kind": "thresholds", "low": 0, "high": 1}}, "give step or horizon"),
        ({"menu": {"kind": "intervals", "step": 0.3}}, "step must divide the range"),
        ({"menu": {"kind": "grid", "axes": {}}}, "menu.axes must hold at least 1"),
        ({"menu": {"kind": "grid", "axes": {"a": []}}}, "menu.axes.a must hold at least 1"),
        ({"menu": {"kind": "grid", "axes": {"a": [1, 1]}}}, "a must list at least one value and none twice"),
        ({"menu": {"kind": "grid", "axes": {"costs": [1]}}}, 'menu.axes must not have an axis named "costs"'),
        ({"menu": {"kind": "subsets", "prices": {"a": -1}}}, "menu.prices.a must be at least 0"),
        ({"menu": {"kind": "subsets", "prices": {"a": 1}, "safe": "e"}}, "must be given together"),
        ({"menu": {"kind": "thresholds", "low": 0, "high": 1, "step": 0.5}}, "safe_cost must be given"),
        ({"menu": {"kind": "grid", "axes": {"a": [1, 2]}}}, "safe_cost must be given"),
        (options("ab"), "menu.options must be a list or an object"),
        (options(["a"]), "menu.options[0] must be an object"),
        (options([{"option": "a"}], costs=[1]), "menu.costs is not known here"),
        (options([{"option": "a"}, {"option": "a"}]), "options must differ"),
        (options({"a": 0.1}, skip=False), "skip must be an option"),
        (options({"a": 0.1}, safe=None), "safe must be an option of yours"),
        (options({"a": 0.1}, safe_cost=None), "safe_cost must be given"),
        (options({"a": 0.1, "e": 2}), "safe_cost must be what options say, 2, or be left out, got 1"),
        (options({"a": 0.1, "b": None}), "options must all have a known cost, or none but the safe one"),
        (options({"a": 2}), "options must cost between 0 and 1, what the safe option costs, got 2.0 for option 'a'"),
        (options([{"option": [1], "cost": 2}]), "options must cost between 0 and 1, what the safe option costs, got 2.0"),
        (options({"a": 2, "e": 1}, safe_cost=None), "options must cost between 0 and 1, what the safe option costs"),
        (options([{"option": "a\0"}]), "menu.options[0].option must hold no NUL"),
        (options([{"option": {"a\0": 1}}]), "menu.options[0].option must hold no NUL"),
        (options({"a\0": 0}), "must hold no NUL"),
        (options([{"option": 2**53 + 1}]), "menu.options[0].option must hold finite numbers"),
        (options([{"option": "a" * 1001}]), "texts of at most 1,000 characters"),
        (options([{"option": ["a" * 999] * 11}]), "at most 10,000 characters as JSON"),
        (options([{"option": [[[[[[[[[[1]]]]]]]]]]}]), "fewer lists and objects deep"),
    ],
)  # fmt: skip
def test_a_bad_argument_is_refused_in_one_sentence(change: dict[str, Any], message: str) -> None:
    assert message in refusal(json.dumps({**EXAMPLE, **change}))


# --- validation errors


def test_errors_name_the_place_and_are_limited() -> None:
    assert where_of(("menu", "options", "options", 2)) == "menu.options[2]"
    assert where_of(()) == "the body"
    many = validation_error({"kind": "subsets", "prices": {f"item {place}": "x" for place in range(50)}})
    assert len(read_faults(many)) == 20
    assert "got" not in read_faults(many)[0]["problem"]
    assert 'got "x"' in read_faults(many, values=True)[0]["problem"]


def validation_error(menu: dict[str, Any]) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        Plan.model_validate_json(json.dumps({"menu": menu, "target": 0.5}))
    return caught.value


@pytest.mark.parametrize(
    "menu",
    [
        {"kind": "top_k", "ks": ["x"] * 500, "classes": 5},
        {"kind": "options", "options": [{"option": "a\0"}] * 500, "safe": 1},
        {"kind": "options", "options": [{"option": "a", "cost": "x"}] * 500, "safe": 1},
        {"kind": "thresholds", "low": 0, "high": 1, "step": 0.1, "costs": ["x"] * 500},
        {"kind": "grid", "axes": {"a": ["a\0"] * 500}},
        {"kind": "grid", "axes": {"a": [1]}, "costs": ["x"] * 500},
    ],
)
def test_validation_of_a_list_stops_at_its_first_error(menu: dict[str, Any]) -> None:
    assert validation_error(menu).error_count() <= 2  # two where it could be an object as well


# --- large bodies


@pytest.mark.parametrize("change", [{"options": [None] * (MOST_LISTED + 1)}, {"costs": [0] * (MOST_LISTED + 1)}])
def test_lists_of_a_recipe_are_limited(change: dict[str, Any]) -> None:
    recipe = {
        "kind": "grid", "skip": False, "safe_success": 1.0, "options": ["e"], "costs": None, "safe_cost": 1.0, "order": None,
    }  # fmt: skip
    with pytest.raises(ValueError, match=r"at most 100,?000 items"):
        OptionsRecipe.model_validate(recipe | change)


def test_repeated_numbers_of_top_k_are_stored_once() -> None:
    menu = {"kind": "top_k", "ks": [20, 5, 10, 5] * 1000, "classes": 100}
    made = plan(menu)
    assert json.loads(made.canonical)["menu"]["ks"] == [5, 10, 20]
    assert made.canonical == plan({**menu, "ks": [5, 10, 20]}).canonical
