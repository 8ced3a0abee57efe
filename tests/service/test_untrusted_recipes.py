"""Recipes of menus that were damaged at random: each is refused in one sentence, or makes a selector that works."""

import copy
import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from suffice.errors import InvalidArgument
from suffice.service.plans import Plan
from suffice.service.records import Limits
from tests.service.test_plans import FORMS

RECIPES = [copy.deepcopy(json.loads(json.dumps(menu.recipe()))) for _, menu in FORMS]
JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from(["1/0", "1e999999", "chain", "subsets", "intervals"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["tuple", "dict", "a", ""]), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """A recipe with one to three random changes, at any depth."""
    recipe = copy.deepcopy(draw(st.sampled_from(RECIPES)))
    for _ in range(draw(st.integers(1, 3))):
        place: Any = recipe
        while True:
            within = sorted(place, key=str) if isinstance(place, dict) else list(range(len(place)))
            if not within:
                break
            step = draw(st.sampled_from(within))
            if isinstance(place[step], dict | list) and place[step] and draw(st.booleans()):
                place = place[step]
                continue
            if draw(st.booleans()):
                place[step] = draw(JUNK)
            else:
                del place[step]
            break
    return recipe


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(damaged())
def test_a_damaged_recipe_is_refused_or_works(recipe: Any) -> None:
    text = json.dumps({"menu": {"kind": "recipe", "recipe": recipe}, "target": 0.5})
    try:
        made = Plan.parse(text)
        made.check(Limits())
        selector = made.selector()
    except InvalidArgument:
        return
    decisions = selector.ask_many(20)
    selector.tell_many([(decision, False, 0.0) for decision in decisions])
    selector.ask_many(5)
    selector.options()
    assert made.same(Plan.parse(made.canonical))
