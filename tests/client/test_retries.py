"""Which failures a client retries, how long it waits, and what it raises when it gives up."""

import pickle
from typing import Any

import httpx
import pytest

import suffice
from suffice.client.transport import LONGEST, backoff
from suffice.service.http.decision_ids import to_id
from tests.support.client_harness import BROKEN, MENU, Harness, from_second, ids
from tests.support.local_service import Late, problem


def test_refusals_are_not_retried(harness: Harness) -> None:
    client = harness.client(fallback="safe")
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
        for call in (selector.ask, lambda: selector.tell(to_id(0), True), selector.certificate):
            before = len(harness.service.requests)
            harness.service.trouble = [status]
            with pytest.raises(kind, match=f"trouble {status}") as caught:
                call()
            assert isinstance(caught.value, suffice.ServiceProblem)
            assert (caught.value.status, caught.value.request_id) == (status, "abc")
            assert len(harness.service.requests) == before + 1
    with pytest.raises(suffice.ServiceProblem, match="another plan") as conflict:
        client.selector("routing", MENU, target=0.8)
    assert conflict.value.status == 409
    with pytest.raises(suffice.InvalidArgument, match="target must be a number strictly between 0 and 1"):
        client.selector("wrong", MENU, target=1.5)
    assert (selector.fallback_decisions, selector.undelivered, harness.waits) == (0, 0, [])


def test_other_servers_are_recognised(harness: Harness) -> None:
    selector = harness.selector()
    for content in (b"<html>", b"{}", b'{"decision": "d-0"}', b'{"decision": "d-0", "arm": 2, "option": "all"}'):
        harness.service.trouble = [httpx.Response(200, content=content) for _ in range(4)]
        with pytest.raises(
            suffice.ServiceUnreachable, match="in 4 tries: url must be that of a suffice service"
        ) as caught:
            selector.ask()
        assert caught.value.status == 200
    harness.service.trouble = [httpx.Response(307, headers={"location": "https://elsewhere/"}) for _ in range(4)]
    with pytest.raises(suffice.ServiceUnreachable, match="redirection to https://elsewhere/"):
        selector.ask()
    harness.service.trouble = [httpx.Response(418, content=b"<html>")]
    with pytest.raises(suffice.ServiceProblem, match="the service answered 418 I'm a Teapot"):
        selector.ask()


@pytest.mark.parametrize(
    "trouble",
    [503, 502, 504, 500, 599, Late, httpx.ConnectError("no"), httpx.ReadTimeout("no"), httpx.RemoteProtocolError("no")],
)
def test_retried_asks_and_tells_count_once(harness: Harness, trouble: Any) -> None:
    selector = harness.selector()
    harness.service.trouble = [trouble, trouble, trouble]
    assert selector.ask().id == to_id(0)
    asks = [one for one in harness.service.requests if one.url.path.endswith("ask")]
    assert len(asks) == 4
    assert len({one.headers["idempotency-key"] for one in asks}) == 1
    assert len({one.content for one in asks}) == 1
    assert harness.served.pending == 1
    assert selector.ask().id == to_id(1)
    assert harness.service.requests[-1].headers["idempotency-key"] != asks[0].headers["idempotency-key"]
    assert [0.1, 0.2, 0.4] <= harness.waits <= [0.2, 0.4, 0.8]
    harness.service.trouble = [trouble, trouble, trouble]
    selector.tell(to_id(0), True)
    assert (harness.served.outcomes, harness.served.pending) == (1, 1)


@pytest.mark.parametrize("how", BROKEN)
def test_unreadable_answers_are_retried(harness: Harness, how: str) -> None:
    selector = harness.selector()
    for call in (
        selector.ask,
        selector.overview,
        selector.certificate,
        selector.options,
        lambda: selector.tell(to_id(0), True),
    ):
        harness.service.trouble = [BROKEN[how]() for _ in range(3)]
        call()
    assert (len(harness.waits), harness.served.outcomes) == (15, 1)
    harness.service.trouble = [BROKEN[how]() for _ in range(4)]
    with pytest.raises(suffice.ServiceUnreachable, match="in 4 tries"):
        selector.tell(to_id(0), True)


def test_waits_double_up_to_a_limit() -> None:
    for tried in range(1, 40):
        waits = [backoff(tried) for _ in range(20)]
        longest = min(LONGEST, 0.1 * 2**tried)
        assert longest / 2 <= min(waits) < max(waits) <= longest


def test_after_the_retries_it_is_unreachable(harness: Harness) -> None:
    selector = harness.selector()
    harness.service.down = True
    with pytest.raises(
        suffice.ServiceUnreachable, match=r"http://service.test could not be reached in 4 tries: ConnectError: .*"
    ) as lost:
        selector.ask()
    assert lost.value.status is None
    assert len(harness.service.requests) == 1 + 4
    harness.service.down = False
    harness.service.trouble = [503] * 4
    with pytest.raises(suffice.ServiceUnreachable, match="4 tries: trouble 503") as busy:
        selector.tell(to_id(0), True)
    assert busy.value.status == 503
    assert selector.undelivered == 0
    harness.service.down = True
    with pytest.raises(suffice.ServiceUnreachable, match="in 1 try"):
        harness.client(retries=0).selector("routing", MENU, target=0.9)


def test_retry_after_is_kept(harness: Harness) -> None:
    selector = harness.selector()
    harness.service.trouble = [problem(status, "busy", {"retry-after": "7"}) for status in (503, 429)]
    selector.ask()
    assert harness.waits == [7.0, 7.0]
    harness.service.trouble = [problem(503, "busy", {"retry-after": odd}) for odd in ("soon", "-3", "nan")]
    selector.ask()
    assert max(harness.waits[2:]) <= 0.8
    harness.service.trouble = [problem(503, "busy", {"retry-after": "3600"})]
    with pytest.raises(suffice.ServiceUnreachable, match="in 1 try"):  # an hour is too long
        selector.ask()


@pytest.mark.parametrize("contexts", [False, True])
@pytest.mark.parametrize("status", [422, 401, 503])
def test_an_error_half_way_holds_the_decisions_so_far(harness: Harness, status: int, contexts: bool) -> None:
    selector = harness.client().selector("routing", MENU, target=0.9, model="auto")
    given = {"contexts": [{"length": 1.0}] * 1_500} if contexts else {}
    harness.service.override = from_second("ask", lambda: problem(status, "no more"))
    with pytest.raises(suffice.ServiceProblem, match="no more") as caught:
        selector.ask_many(1_500, **given)
    decisions = caught.value.decisions
    assert ([one.id for one in decisions], harness.served.pending) == (ids(range(1_000)), 1_000)
    selector.tell_many([(one, True) for one in decisions])
    assert harness.served.outcomes == 1_000
    assert pickle.loads(pickle.dumps(caught.value)).decisions == decisions
    with pytest.raises(suffice.ServiceProblem, match="no more") as empty:
        selector.ask_many(5)
    assert empty.value.decisions == []


@pytest.mark.parametrize("fallback", [None, "safe"])
@pytest.mark.parametrize("status", [401, 404, 500, 503])
def test_outcomes_that_were_not_told_are_named_or_kept(harness: Harness, status: int, fallback: str | None) -> None:
    """One is refused in the first thousand, and the second request fails: each outcome is counted, named or kept."""
    selector = harness.selector(fallback=fallback)
    decisions = selector.ask_many(2_200)
    harness.service.override = from_second("tell", lambda: problem(status, "no more"))
    outcomes = [(to_id(9_999), True), *((one, True) for one in decisions)]
    with pytest.raises(suffice.ServiceProblem) as caught:
        selector.tell_many(outcomes)
    assert harness.served.outcomes == 999
    unsure = set(ids(range(999, 2_200)))
    if fallback and status >= 500:
        assert caught.value.failed.keys() == {to_id(9_999)}
        assert "1 of 2,201 outcomes were refused, the others are counted or kept" in str(caught.value)
        assert selector.undelivered == len(unsure)
        harness.service.override = None
        selector.flush()
    else:
        assert caught.value.failed.keys() == unsure | {to_id(9_999)}
        assert "never asked" in caught.value.failed[to_id(9_999)]
        assert "no more" in caught.value.failed[to_id(2_000)]
        harness.service.override = None
        with pytest.raises(suffice.UnknownDecision):  # all of them again
            selector.tell_many(outcomes)
    assert (harness.served.outcomes, selector.undelivered) == (2_200, 0)
