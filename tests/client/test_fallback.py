"""The fallback: the safe option while the service is away, and outcomes that are kept until they can be delivered."""

import json
import logging
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import suffice
from suffice import SufficeWarning
from suffice.client import FALLBACK_ID
from suffice.client.outbox import CHUNK
from suffice.service.http.decision_ids import to_id
from tests.support.client_harness import BROKEN, MENU, Harness, from_second, ids
from tests.support.local_service import problem


def test_the_safe_option_is_played_while_the_service_is_down(harness: Harness) -> None:
    selector = harness.selector(fallback="safe")
    first = selector.ask()
    harness.service.down = True
    decision = selector.ask()
    assert (decision.id, decision.arm, decision.option, decision.is_safe) == (FALLBACK_ID, 2, "all", True)
    assert len(selector.ask_many(2_500, group="Oslo")) == 2_500
    assert selector.fallback_decisions == 2_501
    selector.tell(decision, True)
    selector.tell_many([(decision, False), (FALLBACK_ID, True)])
    assert selector.undelivered == 0
    selector.tell(first, True)
    assert selector.undelivered == 1
    with pytest.raises(
        suffice.InvalidArgument, match="option must be one of the menu's"
    ):  # the outage does not hide it
        selector.ask(available=["c"])
    with pytest.raises(suffice.InvalidArgument, match="success"):
        selector.tell(first, 7)
    harness.service.down, harness.now = False, harness.now + 5.0
    assert selector.ask().id == to_id(1)
    assert (selector.undelivered, harness.served.outcomes, selector.fallback_decisions) == (0, 1, 2_501)


def test_only_the_first_failing_call_waits(harness: Harness) -> None:
    selector = harness.selector(fallback="safe")
    harness.service.down = True
    selector.ask()
    assert len(harness.service.requests) == 1 + 4
    waited = len(harness.waits)
    for _ in range(10):
        selector.ask()
        selector.tell(to_id(0), True)
    assert len(harness.service.requests) == 1 + 4  # the others do not try
    with pytest.raises(suffice.ServiceUnreachable, match="could not be reached a moment ago"):
        selector.certificate()
    harness.now += 1.0
    selector.ask()
    selector.ask()
    assert len(harness.service.requests) == 1 + 4 + 1  # one call tries, once
    assert len(harness.waits) == waited
    harness.service.down, harness.now = False, harness.now + 1.0
    assert selector.ask().id == to_id(0)
    harness.service.trouble = [503]
    assert selector.ask().id == to_id(1)  # closed again: there are retries
    assert len(harness.waits) == waited + 1


def test_with_a_fallback_a_long_retry_after_is_not_waited_for(harness: Harness) -> None:
    selector = harness.selector(fallback="safe")
    harness.service.trouble = [problem(503, "busy", {"retry-after": "10"})]
    assert selector.ask().id == FALLBACK_ID
    assert harness.waits == []
    harness.now += 9.0
    assert selector.ask().id == FALLBACK_ID
    assert len(harness.service.requests) == 2
    harness.now += 1.0
    assert selector.ask().id == to_id(0)


def test_a_selector_can_be_made_while_the_service_is_down(harness: Harness) -> None:
    harness.service.down = True
    client = harness.client(fallback="safe")
    selector = client.selector("routing", MENU, target=0.9)
    assert selector.ask().id == FALLBACK_ID
    with pytest.raises(suffice.ServiceUnreachable):
        client.selector("routing")  # what is safe there?
    harness.service.down, harness.now = False, harness.now + 1.0
    assert selector.ask().id == to_id(0)
    assert harness.service.paths()[-2:] == ["PUT /routing", "POST /routing/ask"]
    harness.service.down = True
    with pytest.raises(suffice.ServiceUnreachable):
        harness.client().selector("routing", MENU, target=0.9)


def test_a_plan_that_is_refused_at_first_contact_is_raised_there(harness: Harness) -> None:
    harness.selector()
    harness.service.down = True
    selector = harness.client(fallback="safe").selector("routing", MENU, target=0.5)
    harness.service.down, harness.now = False, 10.0
    for _ in range(2):
        with pytest.raises(suffice.ServiceProblem, match="another plan"):
            selector.ask()


def test_kept_outcomes_are_sent_in_order_a_thousand_with_each_call(harness: Harness) -> None:
    selector = harness.selector(fallback="safe")
    decisions = selector.ask_many(2_300)
    harness.service.down = True
    for decision in decisions[:100]:
        selector.tell(decision, True)
    selector.tell_many([(decision, True) for decision in decisions[100:]])
    assert selector.undelivered == 2_300
    harness.service.down, harness.now = False, harness.now + 1.0
    selector.ask()
    assert (selector.undelivered, harness.told) == (1_300, ids(range(CHUNK)))
    selector.flush()
    assert (selector.undelivered, harness.told) == (0, ids(range(2_300)))


def test_the_oldest_outcomes_are_dropped_beyond_keep(harness: Harness) -> None:
    selector = harness.selector(fallback="safe", keep=50)
    decisions = selector.ask_many(100)
    harness.service.down = True
    for decision in decisions[:50]:
        selector.tell(decision, True)
    with pytest.warns(SufficeWarning, match=r"dropped, the oldest first, beyond the latest 50"):
        selector.tell(decisions[50], True)
    for decision in decisions[51:]:
        selector.tell(decision, True)  # the warning comes once
    assert selector.undelivered == 50
    harness.service.down, harness.now = False, harness.now + 1.0
    selector.flush()
    assert harness.told == ids(range(50, 100))


def test_kept_outcomes_that_are_refused_are_logged_and_removed(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    selector = harness.selector(fallback="safe")
    decision = selector.ask()
    harness.service.down = True
    selector.tell_many([(decision, True), (to_id(999), True)])
    harness.service.down, harness.now = False, harness.now + 1.0
    assert selector.ask().id == to_id(1)
    assert (selector.undelivered, harness.served.outcomes) == (0, 1)
    assert "was never asked of selector 'routing'" in caplog.text
    harness.service.down = True
    selector.tell_many([(to_id(998), True), (to_id(1), True)])
    harness.service.down = False
    with pytest.raises(suffice.UnknownDecision, match="never asked"):
        selector.flush()
    assert (selector.undelivered, harness.served.outcomes) == (0, 2)


def test_kept_outcomes_stay_when_the_key_is_refused(harness: Harness) -> None:
    selector = harness.selector(fallback="safe")
    decision = selector.ask()
    harness.service.down = True
    selector.tell(decision, True)
    harness.service.down, harness.now, harness.service.trouble = False, harness.now + 1.0, [401]
    with pytest.raises(suffice.AccessDenied):
        selector.ask()
    assert selector.undelivered == 1


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_service_never_makes_an_ask_raise_and_loses_nothing(harness: Harness, how: str) -> None:
    """Asks return the safe option, and in the end every outcome arrives, whichever request fails."""
    client = harness.client(fallback="safe")
    harness.service.override = lambda request: BROKEN[how]()
    selector = client.selector("routing", MENU, target=0.9)
    assert selector.ask().id == FALLBACK_ID
    harness.service.override, harness.now = None, harness.now + 2.0
    decisions = selector.ask_many(1_500)
    harness.service.override = lambda request: BROKEN[how]() if request.url.path.endswith("tell") else None
    for decision in decisions[:500]:
        selector.tell(decision, True)
    selector.tell_many([(decision, True) for decision in decisions[500:]])
    for _ in range(3):
        harness.now += 2.0
        assert selector.ask().id == FALLBACK_ID
        with pytest.raises(suffice.ServiceUnreachable):
            selector.flush()
    assert (selector.undelivered, harness.served.outcomes) == (1_500, 0)
    harness.service.override, harness.now = None, harness.now + 2.0
    selector.flush()
    assert (selector.undelivered, harness.told) == (0, ids(range(1_500)))


@pytest.mark.parametrize("status", [404, 410, 413, 422, 429])
def test_kept_outcomes_stay_when_the_request_is_refused(
    harness: Harness, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    client = harness.client(fallback="safe")
    selector, other = (client.selector(name, MENU, target=0.9) for name in ("routing", "other"))
    decisions, elsewhere = selector.ask_many(20), other.ask()
    harness.service.down = True
    selector.tell_many([(decision, True) for decision in decisions])
    other.tell(elsewhere, True)
    harness.service.down, harness.now = False, harness.now + 1.0
    harness.service.override = lambda request: problem(status, "not so") if "routing/tell" in request.url.path else None
    assert [selector.ask().id for _ in range(5)] == ids(range(20, 25))  # asks go on
    assert caplog.text.count("outcomes of selector 'routing' are not taken, and stay kept: not so") == 1
    assert harness.service.paths().count("POST /routing/tell") == 4 + 1  # without a try for each of them
    with pytest.raises(suffice.ServiceProblem, match="not so") as caught:
        client.flush()
    assert caught.value.status == status
    assert (selector.undelivered, other.undelivered) == (20, 0)
    harness.service.override, harness.now = None, harness.now + 1.0
    selector.ask()
    assert (selector.undelivered, harness.served.outcomes) == (0, 20)


@pytest.mark.parametrize(
    "results",
    [
        lambda sent: sent[:-1],
        lambda sent: [sent[0]] * len(sent),
        lambda sent: [one | {"decision": one["decision"] + "0"} for one in sent],
        lambda sent: [{"status": 200} for _ in sent],
        lambda sent: [{"decision": one["decision"]} for one in sent],
        lambda sent: [one | {"status": 503} for one in sent],
    ],
    ids=["too few", "repeated", "of others", "without decision", "without status", "not now"],
)
def test_outcomes_are_kept_until_each_has_a_result(harness: Harness, results: Callable[[Any], Any]) -> None:
    selector = harness.selector(fallback="safe")
    decisions = selector.ask_many(3)

    def override(request: httpx.Request) -> httpx.Response | None:
        if not request.url.path.endswith("tell"):
            return None
        sent = [
            {"decision": one["decision"], "status": 200, "result": "counted"} for one in json.loads(request.content)
        ]
        return httpx.Response(200, json={"results": results(sent)})

    harness.service.override = override
    selector.tell_many([(decision, True) for decision in decisions])
    with pytest.raises(suffice.ServiceUnreachable):
        selector.flush()
    assert selector.undelivered == 3
    harness.service.override = None
    selector.flush()
    assert (selector.undelivered, harness.served.outcomes) == (0, 3)


def test_with_a_fallback_the_rest_of_a_list_is_safe(harness: Harness) -> None:
    selector = harness.selector(fallback="safe")
    harness.service.override = from_second("ask", BROKEN["page"])
    decisions = selector.ask_many(2_500)
    assert [one.id for one in decisions] == [*ids(range(1_000)), *[FALLBACK_ID] * 1_500]
    assert all(one.is_safe for one in decisions[1_000:])
    selector.tell_many([(one, True) for one in decisions])
    assert selector.undelivered == 1_000
    selector.flush()
    assert (harness.served.outcomes, selector.fallback_decisions) == (1_000, 1_500)


def test_closing_delivers_or_warns(harness: Harness) -> None:
    with harness.client(fallback="safe") as client:
        selector = client.selector("routing", MENU, target=0.9)
        first, second = selector.ask_many(2)
        harness.service.down = True
        selector.tell(first, True)
        harness.service.down = False  # the breaker is still open, and closing tries all the same
    assert (harness.served.outcomes, selector.undelivered) == (1, 0)
    client = harness.client(fallback="safe")
    selector = client.selector("routing")
    harness.service.down = True
    selector.tell(second, True)
    with pytest.raises(suffice.ServiceUnreachable):
        client.flush()
    with pytest.warns(SufficeWarning, match="1 outcomes could not be delivered and are lost"):
        client.close()


def test_an_outage_is_logged_once(harness: Harness, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "suffice.client")
    selector = harness.selector(fallback="safe")
    harness.service.down = True
    for _ in range(5):
        selector.ask()
        harness.now += 1.0
    harness.service.down = False
    selector.ask()
    records = [record for record in caplog.records if record.name == "suffice.client"]
    assert [record.levelname for record in records] == ["WARNING", "INFO"]
    assert "the safe option is played" in records[0].message
