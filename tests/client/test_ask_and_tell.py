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
            decision = selector.ask(available=[menu.safe])
            assert decision.option == menu.safe
            assert type(decision.option) is type(menu.safe)
            assert selector.options()[1].option == menu.option(1)
    safe = {"distance": 5, "rating": 0}
    first = client.selector("grid").ask(available=[safe])
    first.option["distance"] = 7
    assert client.selector("grid").ask(available=[safe]).option["distance"] == 5


def test_without_a_menu_options_are_as_json_has_them(harness: Harness) -> None:
    safe, options = {"k": [1, 2, 3]}, [{"option": [1, 2]}, {"option": [3]}, {"option": {"k": [1, 2, 3]}, "cost": 1}]
    plan = {"menu": {"kind": "options", "options": options, "safe": safe}, "target": 0.9}
    harness.service.call("PUT", "/v1/selectors/routing", json.dumps(plan).encode(), JSON)
    selector = harness.client(fallback="safe").selector("routing")
    assert selector.menu is None
    assert selector.ask(available=[[3]]).option == [3]
    assert selector.ask(available=[safe]).option == safe
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
        harness.client().selector("routing", menu) for menu in (MENU, Menu({"b": 0.1, "c": 1.0}, safe="c"))
    )
    assert len(harness.service.requests) == before
    assert selector.ask().option == "a"
    with pytest.raises(suffice.InvalidArgument, match="menu must be the selector's own: of that, arm 0 is 'a'"):
        wrong.ask()
    missing = harness.client().selector("missing", MENU)
    with pytest.raises(suffice.ServiceProblem, match="no selector 'missing'") as caught:
        missing.tell(to_id(0), True)
    assert (caught.value.status, isinstance(caught.value, suffice.UnknownDecision)) == (404, False)


def test_a_key_without_the_scope_read_is_enough(harness: Harness) -> None:
    harness.selector()
    harness.service.trouble = [403]
    selector = harness.client().selector("routing")
    assert selector.ask().option == "a"
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


def test_a_needed_safe_option_that_is_not_available_is_an_error_unless_insisted_on(harness: Harness) -> None:
    """The same error and the same certificate as in process; no ask is repeated, and no fallback takes its place."""
    here = Selector(MENU, 0.9, max_debt=0, in_flight=0)
    there = harness.client(fallback="safe").selector("strict", MENU, target=0.9, max_debt=0, in_flight=0)
    before = len(harness.service.requests)
    for selector in (here, there):
        with pytest.raises(suffice.SafeUnavailable, match="the safe option is needed now, and it is not available"):
            selector.ask(available=["a", "b"])
        with pytest.raises(suffice.SafeUnavailable):
            selector.ask_many(2, available=["b"])
    assert len(harness.service.requests) == before + 2
    with pytest.raises(suffice.ServiceProblem) as caught:
        there.ask(available=["a"])
    assert (caught.value.status, there.fallback_decisions) == (424, 0)
    assert there.certificate().asked == here.certificate().asked == 0
    for selector in (here, there):
        assert selector.ask(available=["b"], insist=True).option == "b"
        assert [one.option for one in selector.ask_many(2, available=["b", "all"], insist=True)] == ["all", "all"]
        certificate = selector.certificate()
        assert (certificate.asked, certificate.insisted, certificate.uncovered) == (3, 1, 0.9)
        assert (certificate.debt_at_most, certificate.owed_at_most, certificate.status) == (0.9, 2.7, "unproven")
    with pytest.raises(suffice.InvalidArgument, match="insist must be True or False"):
        there.ask(insist=1)


def test_a_skip_is_settled_when_it_is_asked(harness: Harness) -> None:
    """Telling its failure does nothing; telling a success amends it, and shows that it is no skip."""
    menu = Menu({"a": 0.1, "all": 1.0}, safe="all", skip="none")
    here = Selector(menu, 0.5, max_surplus=1)
    there = harness.client().selector("skipping", menu, target=0.5, max_surplus=1)
    skips = []
    for selector in (here, there):
        while not (decision := selector.ask()).is_skip:
            selector.tell(decision, True)
        skips.append(decision)
        counted = selector.certificate()
        assert (counted.pending, counted.skipped, counted.skip_successes) == (0, 1, 0)
        selector.tell(decision, False)
        selector.tell(decision.id, False)
        assert str(selector.certificate()) == str(counted)
    assert str(here.certificate()) == str(there.certificate())
    for selector, decision in zip((here, there), skips, strict=True):
        assert not selector.certificate().assumption_violated
        selector.tell(decision.id, True)
        certificate = selector.certificate()
        assert (certificate.skipped, certificate.skip_successes, certificate.amended) == (1, 1, 1)
        assert certificate.assumption_violated
        assert certificate.holds
        with pytest.raises(suffice.AlreadyTold):
            selector.tell(decision.id, False)
    assert str(here.certificate()) == str(there.certificate())


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
        "max_debt": Fraction(5, 2),
        "in_flight": 30,
        "max_surplus": None,
        "seed": 3,
        "learning": suffice.Learning(guard=None, memory="window 500", prices="straight"),
        "expire_after": 60,
    }
    client.selector("routing", MENU, Fraction(2, 3), **settings)
    plan = json.loads(harness.service.requests[-1].content)
    assert (plan_menu := plan.pop("menu")) == {"kind": "recipe", "recipe": MENU.recipe()}
    assert plan == {
        "target": 2 / 3, "max_debt": 2.5, "in_flight": 30, "max_surplus": None, "seed": 3, "expire_after": 60,
        "learning": {"guard": None, "memory": "window 500", "prices": "straight"},
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
    with pytest.raises(suffice.InvalidArgument, match="target must be given where in_flight is"):
        client.selector("routing", MENU, in_flight=100)
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
