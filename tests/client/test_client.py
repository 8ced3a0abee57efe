"""The clients: the same ask and tell as in process, retries that decide once, the fallback, and what is kept until it can be
told. Each test runs with both drivers, against a stand-in for the service."""

import asyncio
import gc
import inspect
import json
import logging
import pickle
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import suffice
from suffice import AsyncClient, Client, Menu, Selector, SufficeWarning
from suffice.client import Overview, sync
from suffice.client.outbox import CHUNK, Outbox, Outcome
from suffice.client.requests import FALLBACK_ID
from suffice.client.transport import LONGEST, backoff
from suffice.learning.memory import Window
from suffice.selector.records import UNAUDITED
from tests.support.fake_service import FakeService, Late, problem

MENU = Menu({"a": 0.1, "b": 0.4}, safe="all", skip="none")
TOLD = Menu(["a", "b"], safe="all", skip="none")
URL = "http://service.test"
KEY = "sk-secret-0123456789"


# What a service that is broken, or something in its place, answers.
BROKEN: dict[str, Callable[[], httpx.Response]] = {
    "500": lambda: problem(500, "the server failed to answer"),
    "502": lambda: httpx.Response(502, text="<html>Bad gateway</html>"),
    "302": lambda: httpx.Response(302, headers={"location": "/sorry"}),
    "page": lambda: httpx.Response(200, text="<html>Down for maintenance</html>"),
    "list": lambda: httpx.Response(200, json=[]),
    "empty": lambda: httpx.Response(204),
    "nested": lambda: httpx.Response(200, text="[" * 100_000),
    "number": lambda: httpx.Response(200, text="17"),
}


class Blocking:
    """An asynchronous thing as a blocking one, so that both are tested by the same lines."""

    def __init__(self, thing: Any, runner: asyncio.Runner) -> None:
        self._thing, self._runner = thing, runner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._thing, name)
        return self._blocked(found) if inspect.iscoroutinefunction(found) else found

    def _blocked(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            result = self._runner.run(function(*arguments, **named))
            return Blocking(result, self._runner) if isinstance(result, suffice.client.AsyncRemoteSelector) else result

        return call

    def __enter__(self) -> "Blocking":
        self._runner.run(self._thing.__aenter__())
        return self

    def __exit__(self, *error: Any) -> None:
        self._runner.run(self._thing.__aexit__(*error))

    def __repr__(self) -> str:
        return repr(self._thing)


class Desk:
    """A stand-in for the service, a clock that only moves when somebody waits, and clients for both."""

    def __init__(self, runner: asyncio.Runner | None) -> None:
        self.service = FakeService()
        self.now = 0.0
        self.waits: list[float] = []
        self._runner = runner

    def client(self, url: Any = URL, key: Any = None, **settings: Any) -> Any:
        common = {"transport": httpx.MockTransport(self.service), "clock": lambda: self.now, **settings}
        if self._runner is None:
            return Client(url, key, sleep=self._wait, **common)

        async def wait(seconds: float) -> None:
            self._wait(seconds)

        return Blocking(AsyncClient(url, key, sleep=wait, **common), self._runner)

    def _wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def selector(self, **settings: Any) -> Any:
        return self.client(**settings).selector("routing", MENU, target=0.9)

    @property
    def kept(self) -> Selector:
        """The selector that the service keeps."""
        return self.service.selectors["routing"]


@pytest.fixture(params=["sync", "async"])
def desk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    for name in ("SUFFICE_URL", "SUFFICE_KEY"):
        monkeypatch.delenv(name, raising=False)
    if request.param == "sync":
        yield Desk(None)
    else:
        with asyncio.Runner() as runner:
            yield Desk(runner)


# --- the same as in process


def test_it_decides_as_the_library_does(desk: Desk) -> None:
    remote, here = desk.selector(), Selector(MENU, 0.9)
    for step in range(300):
        one, other = remote.ask(), here.ask()
        assert (one.id, one.arm, one.option, one.role, one.price) == tuple(other)[:5]
        success = one.is_safe or step % 3 > 0
        remote.tell(one, success)
        here.tell(other, success)
    assert str(remote.certificate()) == str(here.certificate())
    assert remote.certificate().debt == here.debt
    assert remote.certificate().everyone() is None
    assert remote.options() == here.options()
    assert remote.options(2) == here.options(2)
    assert len(remote.options(2)) == 2
    assert (remote.certificate().status, remote.certificate().verdict) == (
        here.certificate().status, here.certificate().verdict,
    )  # fmt: skip
    overview = remote.overview()
    assert isinstance(overview, Overview)
    assert (overview.outcomes, overview.rate, overview.cost, overview.pending) == (
        here.outcomes,
        here.rate,
        here.cost,
        0,
    )


def test_many_at_once(desk: Desk) -> None:
    selector = desk.selector()
    decisions = selector.ask_many(2_500)
    assert [one.id for one in decisions] == list(range(2_500))
    selector.tell_many([(one, True) for one in decisions[:1_500]] + [(one.id, 0.5, 0.2) for one in decisions[1_500:]])
    assert (desk.kept.outcomes, desk.kept.successes) == (2_500, 2_000)
    assert desk.service.paths().count("POST /routing/ask") == 3
    assert desk.service.paths().count("POST /routing/tell") == 3
    assert selector.ask_many(0) == []
    selector.tell_many([])


def test_options_come_back_as_the_menu_has_them(desk: Desk) -> None:
    client = desk.client()
    for name, menu in {
        "intervals": Menu.intervals(step=0.25),
        "subsets": Menu.subsets({"small": 0.1, "large": 0.4}),
        "grid": Menu.grid(distance=[1, 5], rating=[4, 0]),
        "top": Menu.top_k([5, 10], classes=100),
    }.items():
        for selector in (client.selector(name, menu, target=0.8), client.selector(name)):
            decision = selector.ask()
            assert decision.option == menu.safe
            assert type(decision.option) is type(menu.safe)
            assert selector.options()[1].option == menu.option(1)
    first = client.selector("grid").ask()
    first.option["distance"] = 7
    assert client.selector("grid").ask().option["distance"] == 5


def test_one_made_elsewhere_has_options_as_json_has_them(desk: Desk) -> None:
    form = {"kind": "options", "arguments": {"options": [[1, 2], [3]], "safe": {"k": [1, 2, 3]}}}
    desk.service._put("routing", {"menu": form, "target": 0.9})
    selector = desk.client(fallback="safe").selector("routing")
    assert selector.menu is None
    assert selector.ask().option == {"k": [1, 2, 3]}
    desk.service.down = True
    first = selector.ask()
    assert (first.id, first.arm, first.option) == (FALLBACK_ID, 2, {"k": [1, 2, 3]})
    first.option["k"] = None
    assert selector.ask().option == {"k": [1, 2, 3]}


def test_with_a_name_and_a_menu_nothing_is_asked_beforehand(desk: Desk) -> None:
    """So it can be had with a key that may only ask and tell; were it another menu, the first decision would show it."""
    desk.selector()
    before = len(desk.service.requests)
    selector, wrong = (desk.client().selector("routing", menu) for menu in (MENU, Menu(["a"], safe="b")))
    assert len(desk.service.requests) == before
    assert selector.ask().option == "all"
    with pytest.raises(suffice.InvalidArgument, match="menu must be the selector's own: of that, arm 3 is 'all'"):
        wrong.ask()
    missing = desk.client().selector("missing", MENU)
    with pytest.raises(suffice.ServiceProblem, match="no selector 'missing'") as caught:
        missing.tell(0, True)
    assert (caught.value.status, isinstance(caught.value, suffice.UnknownDecision)) == (404, False)


def test_a_key_that_may_not_look_is_enough(desk: Desk) -> None:
    desk.selector()
    desk.service.trouble = [403]
    selector = desk.client().selector("routing")
    assert selector.ask().option == "all"
    for status, fallback in ((403, "safe"), (401, None)):
        desk.service.trouble = [status]
        with pytest.raises(suffice.AccessDenied):
            desk.client(fallback=fallback).selector("routing")


def test_available_audit_group(desk: Desk) -> None:
    selector = desk.client().selector("spans", Menu.intervals(step=0.25), target=0.5)
    selector.ask(available=[(0.0, 0.5), (np.float64(0.5), 1.0)])
    assert b'"available":[[0.0,0.5],[0.5,1.0]]' in desk.service.requests[-1].content
    with pytest.raises(suffice.InvalidArgument, match="option must be one of the menu's"):
        selector.ask(available=[(0.1, 0.2)])
    with pytest.raises(suffice.InvalidArgument, match="available must list options"):
        selector.ask(available="a")
    unaudited = selector.ask(audit=False)
    assert unaudited.id == UNAUDITED
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


def test_contexts_become_plain_json(desk: Desk) -> None:
    pandas = pytest.importorskip("pandas")
    selector = desk.client().selector("routing", MENU, target=0.9, model="auto")
    context = {"length": np.int64(12), "score": np.float32(0.5), "task": np.str_("chat"), "new": np.bool_(True)}
    selector.ask(context={**context, "gone": float("nan"), "far": float("inf"), "none": None})
    sent = b'"length":12.0,"score":0.5,"task":"chat","new":true,"gone":null,"far":null,"none":null'
    assert sent in desk.service.requests[-1].content
    selector.ask(context=pandas.Series({"length": 3, "task": "code"}))
    selector.ask_many(2, contexts=[{"length": 3.0}, None])
    assert b'"contexts":[{"length":3.0},null],"count":2' in desk.service.requests[-1].content
    assert selector.context_report().fields["length"]["noted"] == 3
    numbers = desk.client().selector("rows", MENU, target=0.9, model="auto")
    numbers.ask(context=np.array([1.0, np.nan]))
    assert desk.service.requests[-1].content == b'{"context":{"0":1.0,"1":null}}'
    with pytest.raises(suffice.InvalidContext, match="context"):
        numbers.ask(context={"a": object()})
    with pytest.raises(suffice.InvalidArgument, match="contexts must hold 2"):
        numbers.ask_many(2, contexts=[{}])


def test_many_large_contexts_take_several_requests(desk: Desk) -> None:
    selector = desk.client().selector("routing", MENU, target=0.9, model="auto")
    decisions = selector.ask_many(1_200, contexts=[{"text": "x" * 900}] * 1_200)
    assert [one.id for one in decisions] == list(range(1_200))
    sizes = [len(one.content) for one in desk.service.requests if one.url.path.endswith("ask")]
    assert len(sizes) == 3
    assert max(sizes) < 600_000


def test_costs_that_are_told(desk: Desk) -> None:
    selector = desk.client().selector("routing", TOLD, target=0.1)
    selector.tell(selector.ask(), True)
    between = next(one for one in selector.ask_many(20) if one.role == 0)
    with pytest.raises(suffice.InvalidArgument, match="cost must be told"):
        selector.tell(between, True)
    selector.tell(between, True, cost=np.float64(0.25))
    assert desk.kept.cost == 1.25
    for wrong in ({"success": 2}, {"success": "yes"}, {"success": True, "cost": -1}):
        with pytest.raises(suffice.InvalidArgument):
            selector.tell(0, **wrong)


def test_all_settings_are_sent_and_what_is_left_out_is_not(desk: Desk) -> None:
    client = desk.client()
    settings = {
        "max_surplus": Fraction(25, 2),
        "guard": None,
        "seed": 3,
        "memory": Window(500),
        "expire_after": 60,
        "cap": 2.5,
    }
    client.selector("routing", MENU, Fraction(2, 3), 10_000, max_pending=None, prices="straight", **settings)
    plan = desk.service.plans["routing"]
    assert plan.pop("menu") == {"kind": "recipe", "recipe": MENU.recipe()}
    assert plan == {
        "target": 2 / 3, "horizon": 10_000, "max_surplus": 12.5, "guard": None, "seed": 3, "memory": "window 500",
        "expire_after": 60, "cap": 2.5, "max_pending": None, "prices": "straight",
    }  # fmt: skip
    client.selector("plain", MENU, target=Fraction(9, 10))
    assert desk.service.plans["plain"].keys() == {"menu", "target"}
    assert desk.service.plans["plain"]["target"] == 0.9


def test_what_cannot_be_sent_is_refused_here(desk: Desk) -> None:
    client = desk.client()
    with pytest.raises(suffice.InvalidArgument, match="bounds must be a name"):
        client.selector("routing", MENU, target=0.9, bounds=object())
    with pytest.raises(suffice.InvalidArgument, match="a function cannot"):
        client.selector("routing", Menu([1, 2], safe=3, order=lambda a, b: a > b), target=0.9)
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
    assert not desk.service.requests


def test_the_way_to_a_selector_cannot_be_bent(desk: Desk) -> None:
    with pytest.raises(suffice.ServiceProblem, match=r"no selector '\.\./\.\./x\?y#z'"):
        desk.client(url=URL + "/behind/").selector("../../x?y#z")
    assert desk.service.requests[-1].url.raw_path == b"/behind/v1/selectors/..%2F..%2Fx%3Fy%23z"


def test_all_selectors(desk: Desk) -> None:
    client = desk.client()
    for name in "abcde":
        client.selector(name, MENU, target=0.9)
    assert [one.name for one in client.list_selectors()] == list("abcde")
    last = client.selector("e")
    assert last.archive().archived == 2.0
    with pytest.raises(suffice.ServiceProblem) as caught:
        last.ask()
    assert caught.value.status == 410
    client.selector("e", MENU, target=0.9).ask()


# --- errors


def test_what_the_library_raises_is_raised_here_too(desk: Desk) -> None:
    selector, other = desk.selector(), desk.client().selector("other", MENU, target=0.9)
    decision = selector.ask()
    with pytest.raises(suffice.ForeignDecision, match="another selector"):
        other.tell(decision, True)
    with pytest.raises(suffice.ForeignDecision):
        selector.tell(Selector(MENU, 0.9).ask(), True)
    with pytest.raises(suffice.UnknownDecision, match="never asked") as unknown:
        selector.tell(77, True)
    assert isinstance(unknown.value, suffice.ServiceProblem)
    assert unknown.value.status == 404
    with pytest.raises(suffice.UnknownDecision, match="never asked"):
        selector.tell(-5, True)
    with pytest.raises(suffice.InvalidArgument, match="decision must be a Decision or its id"):
        selector.tell(True, True)
    selector.tell(decision, True)
    selector.tell(decision.id, True)  # the same again is no error: a retry may do it
    with pytest.raises(suffice.AlreadyTold, match="another outcome"):
        selector.tell(decision, False)
    with pytest.raises(suffice.AlreadyTold, match="stands twice"):
        selector.tell_many([(0, True), (0, True)])
    with pytest.raises(suffice.InvalidArgument, match="outcomes must hold"):
        selector.tell_many([(0,)])
    with pytest.raises(suffice.InvalidArgument, match="model"):
        selector.ask(context={"length": 3})
    assert desk.kept.outcomes == 1
    assert desk.client().selector("routing").tell(selector.ask(), True) is None  # the same one, seen by another client


def test_refused_outcomes_are_named_and_the_others_count(desk: Desk) -> None:
    selector = desk.selector()
    decisions = selector.ask_many(1_200)
    unknown = [(number, True) for number in range(5_000, 5_007)]
    with pytest.raises(
        suffice.UnknownDecision, match=r"7 of 1,207 outcomes were refused.*decision 5000: .*and 2 more"
    ) as caught:
        selector.tell_many([*unknown, *((one, True) for one in decisions)])
    assert isinstance(caught.value, suffice.ServiceProblem)
    assert caught.value.failed.keys() == set(range(5_000, 5_007))
    assert desk.kept.outcomes == 1_200
    with pytest.raises(suffice.ServiceProblem, match="2 outcomes were refused") as mixed:
        selector.tell_many([(5_000, True), (decisions[0], False)])
    assert not isinstance(mixed.value, suffice.UnknownDecision | suffice.AlreadyTold)
    again = pickle.loads(pickle.dumps(mixed.value))
    assert (str(again), again.status, again.failed) == (str(mixed.value), 404, mixed.value.failed)


def test_errors_of_the_service_are_not_retried(desk: Desk) -> None:
    client = desk.client(fallback="safe")
    selector = client.selector("routing", MENU, target=0.9)
    for status, kind in {
        400: suffice.ServiceProblem,
        401: suffice.AccessDenied,
        403: suffice.AccessDenied,
        409: suffice.ServiceProblem,
        413: suffice.ServiceProblem,
        422: suffice.InvalidArgument,
        429: suffice.ServiceProblem,
    }.items():
        for call in (selector.ask, lambda: selector.tell(0, True), selector.certificate):
            before = len(desk.service.requests)
            desk.service.trouble = [status]
            with pytest.raises(kind, match=f"trouble {status}") as caught:
                call()
            assert isinstance(caught.value, suffice.ServiceProblem)
            assert (caught.value.status, caught.value.request_id) == (status, "abc")
            assert len(desk.service.requests) == before + 1
    with pytest.raises(suffice.ServiceProblem, match="another plan") as conflict:
        client.selector("routing", MENU, target=0.8)
    assert conflict.value.status == 409
    with pytest.raises(suffice.InvalidArgument, match="target must lie strictly between 0 and 1"):
        client.selector("wrong", MENU, target=1.5)
    assert (selector.fallback_decisions, selector.undelivered, desk.waits) == (0, 0, [])


def test_what_answers_may_be_no_service(desk: Desk) -> None:
    selector = desk.selector()
    for content in (b"<html>", b"[]", b"{}", b'{"decision": 0}', b'{"decision": 0, "arm": 3, "option": "all"}'):
        desk.service.trouble = [httpx.Response(200, content=content) for _ in range(4)]
        with pytest.raises(
            suffice.ServiceUnreachable, match="in 4 tries: url must be that of a suffice service"
        ) as caught:
            selector.ask()
        assert caught.value.status == 200
    desk.service.trouble = [httpx.Response(307, headers={"location": "https://elsewhere/"}) for _ in range(4)]
    with pytest.raises(suffice.ServiceUnreachable, match="redirection to https://elsewhere/"):
        selector.ask()
    desk.service.trouble = [httpx.Response(418, content=b"<html>")]
    with pytest.raises(suffice.ServiceProblem, match="the service answered 418 I'm a Teapot"):
        selector.ask()


# --- retries


@pytest.mark.parametrize(
    "trouble",
    [503, 502, 504, 500, 599, Late, httpx.ConnectError("no"), httpx.ReadTimeout("no"), httpx.RemoteProtocolError("no")],
)
def test_a_retried_ask_decides_once(desk: Desk, trouble: Any) -> None:
    selector = desk.selector()
    desk.service.trouble = [trouble, trouble, trouble]
    assert selector.ask().id == 0
    asks = [one for one in desk.service.requests if one.url.path.endswith("ask")]
    assert len(asks) == 4
    assert len({one.headers["idempotency-key"] for one in asks}) == 1
    assert len({one.content for one in asks}) == 1
    assert desk.kept.pending == 1
    assert selector.ask().id == 1
    assert desk.service.requests[-1].headers["idempotency-key"] != asks[0].headers["idempotency-key"]
    assert [0.1, 0.2, 0.4] <= desk.waits <= [0.2, 0.4, 0.8]


@pytest.mark.parametrize("how", BROKEN)
def test_what_is_no_answer_is_asked_again(desk: Desk, how: str) -> None:
    selector = desk.selector()
    for call in (
        selector.ask,
        selector.overview,
        selector.certificate,
        selector.options,
        lambda: selector.tell(0, True),
    ):
        desk.service.trouble = [BROKEN[how]() for _ in range(3)]
        call()
    assert (len(desk.waits), desk.kept.outcomes) == (15, 1)
    desk.service.trouble = [BROKEN[how]() for _ in range(4)]
    with pytest.raises(suffice.ServiceUnreachable, match="in 4 tries"):
        selector.tell(0, True)


def test_an_unreachable_service_may_have_said_why(desk: Desk) -> None:
    desk.service.trouble = [problem(500, "the server failed to answer")]
    with pytest.raises(suffice.ServiceUnreachable, match="in 1 try: 500, the server failed to answer") as caught:
        desk.selector(retries=0)
    assert (caught.value.status, caught.value.request_id) == (500, "abc")


def test_a_limit_that_is_there_to_stay_is_said_at_once(desk: Desk) -> None:
    selector = desk.selector()
    before = len(desk.service.requests)
    desk.service.trouble = [problem(429, "a selector may have at most 5 groups")]
    with pytest.raises(suffice.ServiceProblem, match="at most 5 groups") as caught:
        selector.ask(group="sixth")
    assert not isinstance(caught.value, suffice.ServiceUnreachable)
    assert (caught.value.status, len(desk.service.requests) - before, desk.waits) == (429, 1, [])


def test_a_retried_tell_counts_once(desk: Desk) -> None:
    selector = desk.selector()
    decision = selector.ask()
    desk.service.trouble = [Late, Late]
    selector.tell(decision, True)
    assert desk.kept.outcomes == 1


def test_waits_double_up_to_a_limit() -> None:
    for tried in range(1, 40):
        waits = [backoff(tried) for _ in range(20)]
        longest = min(LONGEST, 0.1 * 2**tried)
        assert longest / 2 <= min(waits) < max(waits) <= longest


def test_after_the_retries_it_is_unreachable(desk: Desk) -> None:
    selector = desk.selector()
    desk.service.down = True
    with pytest.raises(
        suffice.ServiceUnreachable, match=r"http://service.test could not be reached in 4 tries: ConnectError: .*"
    ) as lost:
        selector.ask()
    assert lost.value.status is None
    assert len(desk.service.requests) == 1 + 4
    desk.service.down = False
    desk.service.trouble = [503] * 4
    with pytest.raises(suffice.ServiceUnreachable, match="4 tries: trouble 503") as busy:
        selector.tell(0, True)
    assert busy.value.status == 503
    assert selector.undelivered == 0
    desk.service.down = True
    with pytest.raises(suffice.ServiceUnreachable, match="in 1 try"):
        desk.client(retries=0).selector("routing", MENU, target=0.9)


def test_retry_after_is_kept(desk: Desk) -> None:
    selector = desk.selector()
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    desk.service.trouble = [problem(503, "busy", {"retry-after": "7"}), problem(429, "busy", {"retry-after": soon})]
    selector.ask()
    assert desk.waits[0] == 7.0
    assert 15.0 < desk.waits[1] <= 20.0
    desk.service.trouble = [problem(503, "busy", {"retry-after": odd}) for odd in ("soon", "-3", "nan")]
    selector.ask()
    assert max(desk.waits[2:]) <= 0.8
    desk.service.trouble = [problem(503, "busy", {"retry-after": "3600"})]
    with pytest.raises(suffice.ServiceUnreachable, match="in 1 try"):  # nobody waits for an hour
        selector.ask()


# --- the fallback


def test_the_safe_option_is_played_while_the_service_is_down(desk: Desk) -> None:
    selector = desk.selector(fallback="safe")
    first = selector.ask()
    desk.service.down = True
    decision = selector.ask()
    assert (decision.id, decision.arm, decision.option, decision.is_safe) == (FALLBACK_ID, 3, "all", True)
    assert len(selector.ask_many(2_500, group="Oslo")) == 2_500
    assert selector.fallback_decisions == 2_501
    selector.tell(decision, True)
    selector.tell_many([(decision, False), (FALLBACK_ID, True)])
    assert selector.undelivered == 0
    selector.tell(first, True)
    assert selector.undelivered == 1
    with pytest.raises(suffice.InvalidArgument, match="option must be one of the menu's"):  # not masked by the outage
        selector.ask(available=["c"])
    with pytest.raises(suffice.InvalidArgument, match="success"):
        selector.tell(first, 7)
    desk.service.down, desk.now = False, desk.now + 5.0
    assert selector.ask().id == 1
    assert (selector.undelivered, desk.kept.outcomes, selector.fallback_decisions) == (0, 1, 2_501)


def test_only_the_first_failing_call_waits(desk: Desk) -> None:
    selector = desk.selector(fallback="safe")
    desk.service.down = True
    selector.ask()
    assert len(desk.service.requests) == 1 + 4
    waited = len(desk.waits)
    for _ in range(10):
        selector.ask()
        selector.tell(0, True)
    assert len(desk.service.requests) == 1 + 4  # at once
    with pytest.raises(suffice.ServiceUnreachable, match="could not be reached a moment ago"):
        selector.certificate()
    desk.now += 1.0
    selector.ask()
    selector.ask()
    assert len(desk.service.requests) == 1 + 4 + 1  # one call tries, once
    assert len(desk.waits) == waited
    desk.service.down, desk.now = False, desk.now + 1.0
    assert selector.ask().id == 0
    desk.service.trouble = [503]
    assert selector.ask().id == 1  # closed again: there are retries
    assert len(desk.waits) == waited + 1


def test_with_a_fallback_nobody_waits_long_for_a_busy_service(desk: Desk) -> None:
    selector = desk.selector(fallback="safe")
    desk.service.trouble = [problem(503, "busy", {"retry-after": "10"})]
    assert selector.ask().id == FALLBACK_ID
    assert desk.waits == []
    desk.now += 9.0
    assert selector.ask().id == FALLBACK_ID
    assert len(desk.service.requests) == 2
    desk.now += 1.0
    assert selector.ask().id == 0


def test_a_selector_can_be_had_while_the_service_is_down(desk: Desk) -> None:
    desk.service.down = True
    client = desk.client(fallback="safe")
    selector = client.selector("routing", MENU, target=0.9)
    assert selector.ask().id == FALLBACK_ID
    with pytest.raises(suffice.ServiceUnreachable):
        client.selector("routing")  # what is safe there?
    desk.service.down, desk.now = False, desk.now + 1.0
    assert selector.ask().id == 0
    assert desk.service.paths()[-2:] == ["PUT /routing", "POST /routing/ask"]
    desk.service.down = True
    with pytest.raises(suffice.ServiceUnreachable):
        desk.client().selector("routing", MENU, target=0.9)


def test_a_plan_that_is_refused_at_first_contact_is_raised_there(desk: Desk) -> None:
    desk.selector()
    desk.service.down = True
    selector = desk.client(fallback="safe").selector("routing", MENU, target=0.5)
    desk.service.down, desk.now = False, 10.0
    for _ in range(2):
        with pytest.raises(suffice.ServiceProblem, match="another plan"):
            selector.ask()


def test_kept_outcomes_are_sent_in_order_a_thousand_with_each_call(desk: Desk) -> None:
    selector = desk.selector(fallback="safe")
    decisions = selector.ask_many(2_300)
    desk.service.down = True
    for decision in decisions[:100]:
        selector.tell(decision, True)
    selector.tell_many([(decision, True) for decision in decisions[100:]])
    assert selector.undelivered == 2_300
    desk.service.down, desk.now = False, desk.now + 1.0
    selector.ask()
    assert (selector.undelivered, list(desk.service.outcomes)) == (1_300, list(range(CHUNK)))
    selector.flush()
    assert (selector.undelivered, list(desk.service.outcomes)) == (0, list(range(2_300)))


def test_a_list_that_is_cut_off_is_kept_from_there_on(desk: Desk) -> None:
    decisions = desk.selector().ask_many(2_300)
    tells = iter(range(10))

    def cut(request: httpx.Request) -> httpx.Response:
        desk.service.down = request.url.path.endswith("tell") and next(tells) >= 1
        return desk.service(request)

    selector = desk.selector(fallback="safe", retries=0, transport=httpx.MockTransport(cut))
    selector.tell_many([(decision, True) for decision in decisions])
    assert (desk.kept.outcomes, selector.undelivered) == (1_000, 1_300)


def test_no_more_than_so_many_are_kept(desk: Desk) -> None:
    selector = desk.selector(fallback="safe", keep=50)
    decisions = selector.ask_many(100)
    desk.service.down = True
    for decision in decisions[:50]:
        selector.tell(decision, True)
    with pytest.warns(SufficeWarning, match=r"dropped, the oldest first, beyond the latest 50"):
        selector.tell(decisions[50], True)
    for decision in decisions[51:]:
        selector.tell(decision, True)  # said once
    assert selector.undelivered == 50
    desk.service.down, desk.now = False, desk.now + 1.0
    selector.flush()
    assert list(desk.service.outcomes) == list(range(50, 100))


def test_kept_outcomes_that_are_refused_are_said_and_let_go(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    selector = desk.selector(fallback="safe")
    decision = selector.ask()
    desk.service.down = True
    selector.tell_many([(decision, True), (999, True)])
    desk.service.down, desk.now = False, desk.now + 1.0
    assert selector.ask().id == 1
    assert (selector.undelivered, desk.kept.outcomes) == (0, 1)
    assert "decision 999 was never asked" in caplog.text
    desk.service.down = True
    selector.tell_many([(998, True), (1, True)])
    desk.service.down = False
    with pytest.raises(suffice.UnknownDecision, match="decision 998"):
        selector.flush()
    assert (selector.undelivered, desk.kept.outcomes) == (0, 2)


def test_kept_outcomes_stay_when_the_key_is_refused(desk: Desk) -> None:
    selector = desk.selector(fallback="safe")
    decision = selector.ask()
    desk.service.down = True
    selector.tell(decision, True)
    desk.service.down, desk.now, desk.service.trouble = False, desk.now + 1.0, [401]
    with pytest.raises(suffice.AccessDenied):
        selector.ask()
    assert selector.undelivered == 1
    desk.service.trouble = [413]  # refused alone, so for good: it must not stand in the way for ever
    selector.ask()
    assert selector.undelivered == 0


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_service_never_raises_from_an_ask_and_loses_nothing(desk: Desk, how: str) -> None:
    """Whatever is sick, making the selector, asking or telling: the safe option is played, and in the end all told arrives."""
    client = desk.client(fallback="safe")
    desk.service.sick = lambda request: BROKEN[how]()
    selector = client.selector("routing", MENU, target=0.9)
    assert selector.ask().id == FALLBACK_ID
    desk.service.sick, desk.now = None, desk.now + 2.0
    decisions = selector.ask_many(1_500)
    desk.service.sick = lambda request: BROKEN[how]() if request.url.path.endswith("tell") else None
    for decision in decisions[:500]:
        selector.tell(decision, True)
    selector.tell_many([(decision, True) for decision in decisions[500:]])
    for _ in range(3):
        desk.now += 2.0
        assert selector.ask().id == FALLBACK_ID
        with pytest.raises(suffice.ServiceUnreachable):
            selector.flush()
    assert (selector.undelivered, desk.kept.outcomes) == (1_500, 0)
    desk.service.sick, desk.now = None, desk.now + 2.0
    selector.flush()
    assert (selector.undelivered, list(desk.service.outcomes)) == (0, list(range(1_500)))


@pytest.mark.parametrize("status", [400, 404, 405, 410, 429])
def test_kept_outcomes_stay_when_the_request_is_refused(
    desk: Desk, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    client = desk.client(fallback="safe")
    selector, other = (client.selector(name, MENU, target=0.9) for name in ("routing", "other"))
    decisions, elsewhere = selector.ask_many(20), other.ask()
    desk.service.down = True
    selector.tell_many([(decision, True) for decision in decisions])
    other.tell(elsewhere, True)
    desk.service.down, desk.now = False, desk.now + 1.0
    desk.service.sick = lambda request: problem(status, "not so") if "routing/tell" in request.url.path else None
    assert [selector.ask().id for _ in range(5)] == list(range(20, 25))  # asks go on
    assert caplog.text.count("outcomes of selector 'routing' are not taken, and stay kept: not so") == 1
    assert desk.service.paths().count("POST /routing/tell") == 4 + 1  # nor is it tried with each of them
    with pytest.raises(suffice.ServiceProblem, match="not so") as caught:
        client.flush()
    assert caught.value.status == status
    assert (selector.undelivered, other.undelivered) == (20, 0)
    desk.service.sick, desk.now = None, desk.now + 1.0
    desk.service.outcomes.clear()  # it knows decisions by their number alone, and both selectors have the same
    selector.ask()
    assert (selector.undelivered, desk.kept.outcomes) == (0, 20)


@pytest.mark.parametrize(
    "results",
    [
        lambda sent: sent[:-1],
        lambda sent: [sent[0]] * len(sent),
        lambda sent: [one | {"decision": one["decision"] + 1} for one in sent],
        lambda sent: [{"status": 200} for _ in sent],
        lambda sent: [{"decision": one["decision"]} for one in sent],
        lambda sent: [one | {"status": 503} for one in sent],
        lambda sent: {"0": 200},
    ],
    ids=["too few", "one of them", "others", "without names", "without status", "not now", "an object"],
)
def test_an_outcome_is_let_go_only_when_it_is_named(desk: Desk, results: Callable[[Any], Any]) -> None:
    selector = desk.selector(fallback="safe")
    decisions = selector.ask_many(3)

    def sick(request: httpx.Request) -> httpx.Response | None:
        if not request.url.path.endswith("tell"):
            return None
        sent = [
            {"decision": one["decision"], "status": 200, "result": "counted"} for one in json.loads(request.content)
        ]
        return httpx.Response(200, json={"results": results(sent)})

    desk.service.sick = sick
    selector.tell_many([(decision, True) for decision in decisions])
    with pytest.raises(suffice.ServiceUnreachable):
        selector.flush()
    assert selector.undelivered == 3
    desk.service.sick = None
    selector.flush()
    assert (selector.undelivered, desk.kept.outcomes) == (0, 3)


# --- lists that are refused as a whole


def picky(status: int, most: int = CHUNK, spoilt: int | None = None) -> Callable[[httpx.Request], Any]:
    """Takes so many outcomes at once at most, and none in company of one that it cannot read."""

    def sick(request: httpx.Request) -> httpx.Response | None:
        if not request.url.path.endswith("tell"):
            return None
        sent = [one["decision"] for one in json.loads(request.content)]
        return problem(status, "outcomes must be fewer") if len(sent) > most or spoilt in sent else None

    return sick


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("status", [413, 422])
@pytest.mark.parametrize("most", [1, 7, 300])
def test_a_list_that_is_too_long_is_sent_in_shorter_ones(desk: Desk, status: int, most: int, kept: bool) -> None:
    selector = desk.selector(fallback="safe" if kept else None)
    decisions = selector.ask_many(count := min(1_500, 80 * most))
    desk.service.down, desk.service.sick = kept, picky(status, most)
    before = len(desk.service.requests)
    selector.tell_many([(decision, True) for decision in decisions])
    desk.service.down = False
    selector.flush()
    assert (selector.undelivered, list(desk.service.outcomes)) == (0, list(range(count)))
    assert len(desk.service.requests) - before < 4 * count / most + 40


@pytest.mark.parametrize("status", [413, 422])
def test_only_an_outcome_that_is_refused_alone_is_let_go(
    desk: Desk, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    selector = desk.selector(fallback="safe")
    decisions = selector.ask_many(1_500)
    desk.service.down, desk.service.sick = True, picky(status, spoilt=700)
    selector.tell_many([(decision, True) for decision in decisions])
    desk.service.down, before = False, len(desk.service.requests)
    with pytest.raises(suffice.ServiceProblem, match="outcomes must be fewer") as caught:
        selector.flush()
    assert (list(caught.value.failed), caught.value.status) == ([700], status)
    assert (selector.undelivered, set(range(1_500)) - set(desk.service.outcomes)) == (0, {700})
    assert len(desk.service.requests) - before < 60
    assert caplog.text.count("an outcome that was kept for selector 'routing' is refused") == 1


def test_an_ask_is_not_held_up_by_a_list_that_is_refused(desk: Desk) -> None:
    """Each call halves it as often as it takes, and sends one part; the rest is for the next."""
    selector = desk.selector(fallback="safe")
    decisions = selector.ask_many(1_000)
    desk.service.down, desk.service.sick = True, picky(422, most=0)
    selector.tell_many([(decision, True) for decision in decisions])
    desk.service.down, desk.now, before = False, desk.now + 1.0, len(desk.service.requests)
    assert [selector.ask().id for _ in range(5)] == list(range(1_000, 1_005))
    assert (len(desk.service.requests) - before, selector.undelivered) == (10 + 4 + 5, 995)


# --- half of it


def second(path: str, answer: Callable[[], httpx.Response]) -> Callable[[httpx.Request], httpx.Response | None]:
    """Answers so from the second request of a kind on."""
    seen = 0

    def sick(request: httpx.Request) -> httpx.Response | None:
        nonlocal seen
        seen += request.url.path.endswith(path)
        return answer() if request.url.path.endswith(path) and seen > 1 else None

    return sick


@pytest.mark.parametrize("contexts", [False, True])
@pytest.mark.parametrize("status", [410, 422, 401, 429, 503, 500])
def test_decisions_that_had_come_are_not_lost(desk: Desk, status: int, contexts: bool) -> None:
    selector = desk.client().selector("routing", MENU, target=0.9, model="auto")
    given = {"contexts": [{"length": 1.0}] * 1_500} if contexts else {}
    desk.service.sick = second("ask", lambda: problem(status, "no more"))
    with pytest.raises(suffice.ServiceProblem, match="no more") as caught:
        selector.ask_many(1_500, **given)
    decisions = caught.value.decisions
    assert ([one.id for one in decisions], desk.kept.pending) == (list(range(1_000)), 1_000)
    selector.tell_many([(one, True) for one in decisions])
    assert desk.kept.outcomes == 1_000
    assert pickle.loads(pickle.dumps(caught.value)).decisions == decisions
    with pytest.raises(suffice.ServiceProblem, match="no more") as skip:
        selector.ask_many(5)
    assert skip.value.decisions == []


@pytest.mark.parametrize("how", BROKEN)
def test_with_a_fallback_the_rest_is_safe(desk: Desk, how: str) -> None:
    selector = desk.selector(fallback="safe")
    desk.service.sick = second("ask", BROKEN[how])
    decisions = selector.ask_many(2_500)
    assert [one.id for one in decisions] == [*range(1_000), *[FALLBACK_ID] * 1_500]
    assert all(one.is_safe for one in decisions[1_000:])
    selector.tell_many([(one, True) for one in decisions])
    assert selector.undelivered == 1_000
    selector.flush()
    assert (desk.kept.outcomes, selector.fallback_decisions) == (1_000, 1_500)


@pytest.mark.parametrize("fallback", [None, "safe"])
@pytest.mark.parametrize("status", [401, 404, 500, 503])
def test_outcomes_that_were_not_told_are_named_or_kept(desk: Desk, status: int, fallback: str | None) -> None:
    """One is refused in the first thousand, and the second thousand gets an error: each outcome is counted, named or kept."""
    selector = desk.selector(fallback=fallback)
    decisions = selector.ask_many(2_200)
    desk.service.sick = second("tell", lambda: problem(status, "no more"))
    outcomes = [(9_999, True), *((one, True) for one in decisions)]
    with pytest.raises(suffice.ServiceProblem) as caught:
        selector.tell_many(outcomes)
    assert desk.kept.outcomes == 999
    unsure = set(range(999, 2_200))
    if fallback and status >= 500:
        assert caught.value.failed.keys() == {9_999}
        assert "1 of 2,201 outcomes were refused, the others are counted or kept" in str(caught.value)
        assert selector.undelivered == len(unsure)
        desk.service.sick = None
        selector.flush()
    else:
        assert caught.value.failed.keys() == unsure | {9_999}
        assert "never asked" in caught.value.failed[9_999]
        assert "no more" in caught.value.failed[2_000]
        desk.service.sick = None
        with pytest.raises(suffice.UnknownDecision):  # all of them again
            selector.tell_many(outcomes)
    assert (desk.kept.outcomes, selector.undelivered) == (2_200, 0)


def test_what_is_dropped_when_a_parcel_comes_back_is_said_later() -> None:
    outbox = Outbox(3)
    first, later = ([Outcome(one, 0, None) for one in some] for some in (range(3), range(3, 6)))
    assert not outbox.add(first)
    with outbox.chunk() as parcel:
        assert not outbox.add(later)
        parcel.arrived = 1
    assert (len(outbox), outbox.dropped) == (3, 2)
    assert outbox.add([Outcome(6, 0, None)])
    assert not outbox.add([Outcome(7, 0, None)])
    with outbox.chunk() as parcel:
        assert [one.decision for one in parcel.outcomes] == [5, 6, 7]


def test_closing_delivers_or_warns(desk: Desk) -> None:
    with desk.client(fallback="safe") as client:
        selector = client.selector("routing", MENU, target=0.9)
        first, second = selector.ask_many(2)
        desk.service.down = True
        selector.tell(first, True)
        desk.service.down = False  # not tried again yet, and still tried when it closes
    assert (desk.kept.outcomes, selector.undelivered) == (1, 0)
    client = desk.client(fallback="safe")
    selector = client.selector("routing")
    desk.service.down = True
    selector.tell(second, True)
    with pytest.raises(suffice.ServiceUnreachable):
        client.flush()
    with pytest.warns(SufficeWarning, match="1 outcomes could not be delivered and are lost"):
        client.close()


def test_an_outage_is_said_once(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "suffice.client")
    selector = desk.selector(fallback="safe")
    desk.service.down = True
    for _ in range(5):
        selector.ask()
        desk.now += 1.0
    desk.service.down = False
    selector.ask()
    said = [record for record in caplog.records if record.name == "suffice.client"]
    assert [record.levelname for record in said] == ["WARNING", "INFO"]
    assert "the safe option is played" in said[0].message


# --- the key and the address


def test_the_key_is_sent_and_never_shown(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    desk.service.key = KEY
    client = desk.client(key=KEY)
    selector = client.selector("routing", MENU, target=0.9)
    selector.ask()
    with pytest.raises(suffice.AccessDenied, match="key is not known") as caught:
        desk.client(key="another").selector("routing")
    desk.service.down = True
    with pytest.raises(suffice.ServiceUnreachable) as lost:
        selector.ask()
    for shown in (repr(client), str(client), repr(selector), repr(caught.value), repr(lost.value), caplog.text):
        assert KEY not in shown
        assert "another" not in shown
    assert repr(selector).endswith("routing at http://service.test>")
    agent = desk.service.requests[0].headers["user-agent"]
    assert agent.startswith(f"suffice/{suffice.__version__} ")
    for wrong in (f"{KEY}\n", "", f"{KEY} x", "schlüssel", 7):
        with pytest.raises(suffice.InvalidArgument, match="key must be text of printable ASCII") as bad:
            desk.client(key=wrong)
        assert KEY not in str(bad.value)


def test_address_and_key_from_the_environment(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(suffice.InvalidArgument, match="SUFFICE_URL"):
        desk.client(url=None)
    monkeypatch.setenv("SUFFICE_URL", URL)
    monkeypatch.setenv("SUFFICE_KEY", KEY)
    desk.service.key = KEY
    assert desk.client(url=None).selector("routing", MENU, target=0.9).ask().id == 0
    for wrong in ("service.test", "ftp://service.test", "http://", "http://a:b/", f"{URL}?a=1", 7):
        with pytest.raises(suffice.InvalidArgument, match="url must be"):
            desk.client(url=wrong)
    with pytest.raises(suffice.InvalidArgument, match="url must hold no name and no password") as secret:
        desk.client(url="http://me:hunter2@service.test")
    assert "hunter2" not in str(secret.value)
    for wrong_settings in ({"fallback": "skip"}, {"retries": -1}, {"timeout": 0}, {"keep": None}):
        with pytest.raises(suffice.InvalidArgument):
            desk.client(**wrong_settings)


def test_timeouts() -> None:
    for client, expected in {
        Client(URL): httpx.Timeout(10.0, connect=2.0),
        Client(URL, timeout=0.5): httpx.Timeout(0.5),
        Client(URL, timeout=httpx.Timeout(3.0)): httpx.Timeout(3.0),
    }.items():
        assert client._http.timeout == expected
        client.close()


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_client_let_go_of_lets_go_of_its_connections(kind: Any) -> None:
    client = kind(URL)
    http = weakref.ref(client._http)
    gc.disable()  # one that is part of a cycle is there until it is collected
    try:
        del client
        assert http() is None
    finally:
        gc.enable()


# --- threads, tasks and the package


def test_many_threads_share_a_client() -> None:
    desk = Desk(None)
    lock = threading.Lock()
    quick = desk.service.__call__

    def one_at_a_time(request: httpx.Request) -> httpx.Response:
        with lock:
            return quick(request)

    selector = desk.selector(fallback="safe", transport=httpx.MockTransport(one_at_a_time))
    told = []

    def work() -> None:
        for step in range(60):
            decision = selector.ask()
            selector.tell(decision, True)
            if decision.id != FALLBACK_ID:
                told.append(decision.id)
            if step == 30:
                desk.service.down = not desk.service.down
            desk.now += 0.2

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    desk.service.down = False
    selector.flush()
    assert len(set(told)) == len(told) == desk.kept.outcomes
    assert len(told) + selector.fallback_decisions == 8 * 60
    assert selector.undelivered == 0


def test_a_cancelled_call_leaves_the_way_open() -> None:
    """A call that is to find out whether the service is back, and is cancelled, must not keep all others from trying."""

    async def main() -> None:
        service, now = FakeService(), [0.0]
        hang = asyncio.Event()

        async def answer(request: httpx.Request) -> httpx.Response:
            if hang.is_set():
                await asyncio.sleep(3600)
            return service(request)

        transport = httpx.MockTransport(answer)
        async with AsyncClient(URL, fallback="safe", retries=0, transport=transport, clock=lambda: now[0]) as client:
            selector = await client.selector("routing", MENU, target=0.9)
            decision = await selector.ask()
            service.down = True
            await selector.tell(decision, True)
            service.down, now[0] = False, 5.0
            hang.set()
            task = asyncio.create_task(selector.ask())
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert selector.undelivered == 1  # it was on its way, and came back
            hang.clear()
            assert (await selector.ask()).id == 1
            assert service.selectors["routing"].outcomes == 1

    asyncio.run(main())


def test_both_clients_offer_the_same() -> None:
    pairs = [(Client, AsyncClient), (sync.RemoteSelector, suffice.client.AsyncRemoteSelector)]
    for blocking, awaited in pairs:
        for name, method in inspect.getmembers(blocking, inspect.isfunction):
            if not name.startswith("_"):
                other = getattr(awaited, name)
                assert inspect.getdoc(method)
                assert inspect.getdoc(other)
                assert inspect.iscoroutinefunction(other)
                assert list(inspect.signature(method).parameters) == list(inspect.signature(other).parameters)


def test_asks_and_tells_take_what_those_of_the_library_take() -> None:
    for name in ("ask", "ask_many", "tell", "tell_many", "certificate", "options", "context_report"):
        here, there = inspect.signature(getattr(Selector, name)), inspect.signature(getattr(sync.RemoteSelector, name))
        assert list(here.parameters) == list(there.parameters)
    made = set(inspect.signature(Selector).parameters) - {"clock"}
    positional = {"menu", "target", "horizon"}
    assert made == positional | suffice.client.requests.NAMES


def test_without_httpx_there_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "httpx.py").write_text("raise ModuleNotFoundError('no', name='httpx')")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import suffice\n"
        "assert 'suffice.client' not in sys.modules\n"
        "try: suffice.Client\n"
        "except ImportError as error: print(error)\n"
        "from suffice import *\n"
        "print(hasattr(suffice, 'Klient'))"
    )
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert seen.splitlines() == ["suffice.Client needs httpx: pip install 'suffice[client]'", "False"]
