"""Ask and tell through a client: the same as in process, with the same errors."""

import json
import pickle
from fractions import Fraction

import numpy as np
import pytest

import suffice
from suffice import Menu, Selector
from suffice.client import FALLBACK_ID
from suffice.client.httpx_adapter import JSON
from suffice.client.requests import UNAUDITED_ID
from suffice.service.http.decision_ids import to_id
from tests.support.client_harness import MENU, URL, Harness, ids


def test_lists_take_a_thousand_per_request(harness: Harness) -> None:
    selector = harness.selector()
    decisions = selector.ask_many(2_500)
    assert [one.id for one in decisions] == ids(range(2_500))
    selector.tell_many([(one, True) for one in decisions[:1_500]] + [(one.id, 0.5, 0.2) for one in decisions[1_500:]])
    assert (harness.served.outcomes, harness.served.successes) == (2_500, 2_000)
    assert harness.service.paths().count("POST /routing/ask") == 3
    assert harness.service.paths().count("POST /routing/tell") == 3
    assert selector.ask_many(0) == []
    selector.tell_many([])


def test_options_come_back_as_the_menu_has_them(harness: Harness) -> None:
    client = harness.client()
    for name, menu in {
        "intervals": Menu.intervals(step=0.25, skip=True),
        "subsets": Menu.subsets({"small": 0.1, "large": 0.4}, skip=True),
        "grid": Menu.grid(distance=[1, 5], rating=[4, 0], skip=True, safe_cost=1.0),
        "top": Menu.top_k([5, 10], classes=100, skip=True),
    }.items():
        for selector in (client.selector(name, menu, target=0.8), client.selector(name)):
            decision = selector.ask()
            assert decision.option == menu.safe
            assert type(decision.option) is type(menu.safe)
            assert selector.options()[1].option == menu.option(1)
    first = client.selector("grid").ask()
    first.option["distance"] = 7
    assert client.selector("grid").ask().option["distance"] == 5


def test_without_a_menu_options_are_as_json_has_them(harness: Harness) -> None:
    plan = {"menu": {"kind": "options", "options": [[1, 2], [3]], "safe": {"k": [1, 2, 3]}}, "target": 0.9}
    harness.service.call("PUT", "/v1/selectors/routing", json.dumps(plan).encode(), JSON)
    selector = harness.client(fallback="safe").selector("routing")
    assert selector.menu is None
    assert selector.ask().option == {"k": [1, 2, 3]}
    harness.service.down = True
    first = selector.ask()
    assert (first.id, first.arm, first.option) == (FALLBACK_ID, 2, {"k": [1, 2, 3]})
    first.option["k"] = None
    assert selector.ask().option == {"k": [1, 2, 3]}


def test_a_name_and_a_menu_need_no_request(harness: Harness) -> None:
    """So it can be had with a key that may only ask and tell; were it another menu, the first decision would show it."""
    harness.selector()
    before = len(harness.service.requests)
    selector, wrong = (
        harness.client().selector("routing", menu) for menu in (MENU, Menu(["a"], safe="b", safe_cost=1.0))
    )
    assert len(harness.service.requests) == before
    assert selector.ask().option == "all"
    with pytest.raises(suffice.InvalidArgument, match="menu must be the selector's own: of that, arm 3 is 'all'"):
        wrong.ask()
    missing = harness.client().selector("missing", MENU)
    with pytest.raises(suffice.ServiceProblem, match="no selector 'missing'") as caught:
        missing.tell(to_id(0), True)
    assert (caught.value.status, isinstance(caught.value, suffice.UnknownDecision)) == (404, False)


def test_a_key_without_the_scope_read_is_enough(harness: Harness) -> None:
    harness.selector()
    harness.service.trouble = [403]
    selector = harness.client().selector("routing")
    assert selector.ask().option == "all"
    for status, fallback in ((403, "safe"), (401, None)):
        harness.service.trouble = [status]
        with pytest.raises(suffice.AccessDenied):
            harness.client(fallback=fallback).selector("routing")


def test_available_audit_and_group(harness: Harness) -> None:
    selector = harness.client().selector("spans", Menu.intervals(step=0.25, skip=True), target=0.5)
    selector.ask(available=[(0.0, 0.5), (np.float64(0.5), 1.0)])
    assert b'"available":[[0.0,0.5],[0.5,1.0]]' in harness.service.requests[-1].content
    with pytest.raises(suffice.InvalidArgument, match="option must be one of the menu's"):
        selector.ask(available=[(0.1, 0.2)])
    with pytest.raises(suffice.InvalidArgument, match="available must list options"):
        selector.ask(available="a")
    unaudited = selector.ask(audit=False)
    assert unaudited.id == UNAUDITED_ID
    with pytest.raises(suffice.InvalidArgument, match="audit=False"):
        selector.tell(unaudited, True)
    with pytest.raises(suffice.InvalidArgument, match="audit must be True or False"):
        selector.ask(audit=1)
    oslo = selector.ask(group="Oslo")
    selector.tell(oslo, True)
    assert selector.certificate(group="Oslo").outcomes == 1
    assert selector.certificate().groups["Oslo"].outcomes == 1
    with pytest.raises(suffice.InvalidArgument, match="group must be a name"):
        selector.ask(group=7)


def test_contexts_become_plain_json(harness: Harness) -> None:
    pandas = pytest.importorskip("pandas")
    selector = harness.client().selector("routing", MENU, target=0.9, model="auto")
    context = {"length": np.int64(12), "score": np.float32(0.5), "task": np.str_("chat"), "new": np.bool_(True)}
    selector.ask(context={**context, "gone": float("nan"), "far": float("inf"), "none": None})
    sent = b'"length":12.0,"score":0.5,"task":"chat","new":true,"gone":null,"far":null,"none":null'
    assert sent in harness.service.requests[-1].content
    selector.ask(context=pandas.Series({"length": 3, "task": "code"}))
    selector.ask_many(2, contexts=[{"length": 3.0}, None])
    assert b'"contexts":[{"length":3.0},null],"count":2' in harness.service.requests[-1].content
    assert selector.context_report().fields["length"]["noted"] == 3
    numbers = harness.client().selector("rows", MENU, target=0.9, model="auto")
    numbers.ask(context=np.array([1.0, np.nan]))
    assert harness.service.requests[-1].content == b'{"context":{"0":1.0,"1":null}}'
    with pytest.raises(suffice.InvalidContext, match="context"):
        numbers.ask(context={"a": object()})
    with pytest.raises(suffice.InvalidArgument, match="contexts must hold 2"):
        numbers.ask_many(2, contexts=[{}])


def test_only_given_settings_are_sent(harness: Harness) -> None:
    client = harness.client()
    settings = {
        "max_surplus": Fraction(25, 2),
        "seed": 3,
        "learning": suffice.Learning(guard=None, memory="window 500", prices="straight"),
        "expire_after": 60,
        "cap": 2.5,
    }
    client.selector("routing", MENU, Fraction(2, 3), 10_000, max_pending=None, **settings)
    plan = json.loads(harness.service.requests[-1].content)
    assert (plan_menu := plan.pop("menu")) == {"kind": "recipe", "recipe": MENU.recipe()}
    assert plan == {
        "target": 2 / 3, "horizon": 10_000, "max_surplus": 12.5, "seed": 3, "expire_after": 60, "cap": 2.5,
        "max_pending": None, "learning": {"guard": None, "memory": "window 500", "prices": "straight"},
    }  # fmt: skip
    client.selector("plain", MENU, target=Fraction(9, 10))
    assert json.loads(harness.service.requests[-1].content) == {"menu": plan_menu, "target": 0.9}


def test_arguments_that_json_cannot_carry_are_refused(harness: Harness) -> None:
    client = harness.client()
    with pytest.raises(suffice.InvalidArgument, match="bounds must be a name"):
        client.selector(
            "routing", MENU, target=0.9, learning=suffice.Learning(bounds=suffice.learning.bounds.HalfLog())
        )
    with pytest.raises(suffice.InvalidArgument, match="a function cannot"):
        client.selector("routing", Menu([1, 2], safe=3, order=lambda a, b: a > b, safe_cost=1.0), target=0.9)
    with pytest.raises(suffice.InvalidArgument, match="target must be given where horizon is"):
        client.selector("routing", MENU, horizon=100)
    with pytest.raises(suffice.InvalidArgument, match="menu must be given where max_surplus is"):
        client.selector("routing", max_surplus=3)
    with pytest.raises(suffice.InvalidArgument, match="menu must be a Menu"):
        client.selector("routing", ["a"], target=0.9)
    with pytest.raises(TypeError, match="unexpected keyword argument 'clock'"):
        client.selector("routing", MENU, target=0.9, clock=None)
    for name in ("", "..", 7):
        with pytest.raises(suffice.InvalidArgument, match="name must be text"):
            client.selector(name)
    assert not harness.service.requests


def test_names_are_quoted_in_paths(harness: Harness) -> None:
    with pytest.raises(suffice.ServiceProblem):
        harness.client(url=URL + "/behind/").selector("../../x?y#z")
    assert harness.service.requests[-1].url.raw_path == b"/behind/v1/selectors/..%2F..%2Fx%3Fy%23z"


def test_selectors_are_listed(harness: Harness) -> None:
    client = harness.client()
    for name in "abcde":
        client.selector(name, MENU, target=0.9)
    assert [one.name for one in client.list_selectors()] == list("abcde")
    assert [one.name for one in client.list_selectors(contains="C")] == ["c"]
    assert client.list_selectors(contains="c&archived=true") == []
    with pytest.raises(suffice.InvalidArgument, match="contains must be text, got 7"):
        client.list_selectors(contains=7)
    last = client.selector("e")
    assert last.archive().archived is not None
    with pytest.raises(suffice.ServiceProblem) as caught:
        last.ask()
    assert caught.value.status == 410
    assert [one.name for one in client.list_selectors()] == list("abcd")
    assert [one.name for one in client.list_selectors(archived=True)] == list("abcde")
    client.selector("e", MENU, target=0.9).ask()


def test_errors_are_those_of_the_library(harness: Harness) -> None:
    selector, other = harness.selector(), harness.client().selector("other", MENU, target=0.9)
    decision = selector.ask()
    with pytest.raises(suffice.ForeignDecision, match="another selector"):
        other.tell(decision, True)
    with pytest.raises(suffice.ForeignDecision):
        selector.tell(Selector(MENU, 0.9).ask(), True)
    with pytest.raises(suffice.UnknownDecision, match="never asked") as unknown:
        selector.tell(to_id(77), True)
    assert isinstance(unknown.value, suffice.ServiceProblem)
    assert unknown.value.status == 404
    with pytest.raises(suffice.UnknownDecision, match="never asked"):
        selector.tell("no id", True)
    with pytest.raises(suffice.InvalidArgument, match="decision must be a Decision or its id"):
        selector.tell(0, True)
    with pytest.raises(suffice.ForeignDecision):
        Selector(MENU, 0.9).tell(decision, True)
    selector.tell(decision, True)
    selector.tell(decision.id, True)  # the same again is no error: a retry may do it
    with pytest.raises(suffice.AlreadyTold, match="the new one was ignored"):
        selector.tell(decision, False)
    with pytest.raises(suffice.AlreadyTold, match="appears twice"):
        selector.tell_many([("d-0", True), ("d-0", True)])
    with pytest.raises(suffice.InvalidArgument, match="outcomes must hold"):
        selector.tell_many([("d-0",)])
    with pytest.raises(suffice.InvalidArgument, match="model"):
        selector.ask(context={"length": 3})
    assert harness.served.outcomes == 1
    harness.client().selector("routing").tell(selector.ask(), True)  # another client of the same selector
    assert harness.served.outcomes == 2


def test_refused_outcomes_are_named_and_the_others_count(harness: Harness) -> None:
    selector = harness.selector()
    decisions = selector.ask_many(1_200)
    unknown = [(identity, True) for identity in ids(range(5_000, 5_007))]
    with pytest.raises(
        suffice.UnknownDecision, match=rf"7 of 1,207 outcomes were refused.*decision {to_id(5_000)}: .*and 2 more"
    ) as caught:
        selector.tell_many([*unknown, *((one, True) for one in decisions)])
    assert isinstance(caught.value, suffice.ServiceProblem)
    assert caught.value.failed.keys() == set(ids(range(5_000, 5_007)))
    assert harness.served.outcomes == 1_200
    with pytest.raises(suffice.ServiceProblem, match="2 outcomes were refused") as mixed:
        selector.tell_many([(to_id(5_000), True), (decisions[0], False)])
    assert not isinstance(mixed.value, suffice.UnknownDecision | suffice.AlreadyTold)
    again = pickle.loads(pickle.dumps(mixed.value))
    assert (str(again), again.status, again.failed) == (str(mixed.value), 404, mixed.value.failed)
