"""Cancelling, playing safe, and events: in the service on every store."""

from pathlib import Path

import pytest

from suffice.service.errors import NoSuchSelector
from suffice.service.records import CANCELLED, PENDING, AskRequest, Outcome
from suffice.service.selectors import SelectorService
from tests.support.service import Clock, ask, every_store, in_memory, plan, run, tell

ROUTER = {"kind": "options", "options": {"small": 0.02, "large": 0.2, "a person": 1.0}, "safe": "a person"}


@every_store
async def test_a_cancelled_decision_counts_as_neither(service: SelectorService, clock: Clock) -> None:
    await service.put("a", plan(ROUTER))
    first, second = await ask(service), await ask(service)
    assert first.decision is not None
    assert second.decision is not None
    before = await service.certificate("a")
    assert (before.pending, before.account.reserved) == (2, 2 * 900_000_000)
    assert (await service.cancel("a", first.decision)).result == "cancelled"
    assert (await service.cancel("a", first.decision)).result == "unchanged"
    certificate = await service.certificate("a")
    assert (certificate.pending, certificate.cancelled, certificate.outcomes, certificate.asked) == (1, 1, 0, 2)
    assert (certificate.account.reserved, certificate.account.expected) == (900_000_000, before.account.expected // 2)
    assert "1 decision cancelled: had they all failed, 0.9 would be owed." in str(certificate)
    (refused,) = await service.tell("a", [Outcome(first.decision, True)])
    assert (refused.status, refused.detail) == (
        409,
        "the decision was cancelled, so it has no outcome; nothing was changed",
    )
    assert await tell(service, second.decision, True) == (200, "counted")
    result = await service.cancel("a", second.decision)
    assert (result.status, result.detail) == (
        409,
        "the decision is told already, so it cannot be cancelled; nothing was changed",
    )
    rows = await service.decisions("a")
    assert [row.state for row in sorted(rows, key=lambda row: row.id)][:1] == [CANCELLED]
    overview = await service.overview("a")
    assert (overview.tells, overview.expiries, overview.cost) == (1, 0, 0.02)  # a cancelled decision costs nothing


@every_store
async def test_a_skip_or_an_expired_decision_cannot_be_cancelled(service: SelectorService, clock: Clock) -> None:
    await service.put("a", plan(ROUTER, expire_after=60))
    issued = await ask(service)
    clock.now += 100
    await service.expire_overdue()
    assert issued.decision is not None
    assert (await service.cancel("a", issued.decision)).status == 409
    assert (await service.cancel("a", 99)).status == 404


@every_store
async def test_playing_safe_holds_until_it_is_switched_off(service: SelectorService, clock: Clock) -> None:
    await service.put("a", plan(ROUTER))
    assert not (await ask(service)).safe
    assert (await service.play_safe("a", True)).playing_safe
    assert all(issued.safe for issued in await service.ask("a", AskRequest(count=5)))
    assert (await service.play_safe("a", True)).playing_safe  # twice is as good as once
    assert not (await service.play_safe("a", False)).playing_safe
    assert not (await ask(service)).safe
    assert (await service.overview("a")).certificate.pending == 7
    with pytest.raises(NoSuchSelector):
        await service.play_safe("b", True)


def test_playing_safe_survives_a_restart_and_reaches_other_servers(store_url: str) -> None:
    if store_url == "memory:":
        pytest.skip("a store in memory does not survive")

    async def switch(service: SelectorService, clock: Clock) -> None:
        await service.put("a", plan(ROUTER))
        await service.play_safe("a", True)

    async def check(service: SelectorService, clock: Clock) -> None:
        assert (await ask(service)).safe
        assert (await service.overview("a")).playing_safe

    run(store_url, switch)
    run(store_url, check)


@in_memory
async def test_feedback_that_stops_is_an_event(service: SelectorService, clock: Clock) -> None:
    await service.put("a", plan(ROUTER))
    for _ in range(200):
        await tell(service, (await ask(service)).decision, True)
    assert (await service.overview("a")).events == ()
    for _ in range(60):
        await service.ask("a", AskRequest(count=10))
    overview = await service.overview("a")
    kinds = [event.kind for event in overview.events]
    assert kinds[0] == "feedback_stopped"
    assert "forced" in kinds
    assert overview.noticed["feedback_stopped"] == 1
    assert overview.events[0].at == clock.now
    asked = await service.ask("a", AskRequest(count=50))
    assert all(issued.safe for issued in asked)
    for row in await service.decisions("a", limit=10_000):  # outcomes return
        if row.state == PENDING:
            await tell(service, row.id, True)
    assert not any(issued.safe for issued in await service.ask("a", AskRequest(count=20)))
    assert "Look after the feedback" in overview.events[0].text


@in_memory
async def test_an_event_of_a_group_names_it(service: SelectorService, clock: Clock) -> None:
    await service.put("a", plan(ROUTER, max_debt=0, in_flight=0))
    await service.ask("a", AskRequest(count=200, group="Oslo"))
    assert {event.group for event in (await service.overview("a")).events} == {"Oslo"}


def test_what_happened_before_a_restart_is_no_event(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'suffice.db'}"

    async def before(service: SelectorService, clock: Clock) -> None:
        await service.put("a", plan(ROUTER))
        for _ in range(60):
            for place, issued in enumerate(await service.ask("a", AskRequest(count=10))):
                assert issued.decision is not None
                if place % 2:
                    await service.cancel("a", issued.decision)
                else:
                    await tell(service, issued.decision, True)
        assert {event.kind for event in (await service.overview("a")).events} == {"cancelled"}

    async def after(service: SelectorService, clock: Clock) -> None:
        for _ in range(150):
            await tell(service, (await ask(service)).decision, True)
        assert (await service.overview("a")).events == ()

    run(url, before)
    run(url, after)
