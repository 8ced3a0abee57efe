"""The limits of the promise and of the server: what they force, refuse and count, on each store."""

import asyncio

import pytest

from suffice.errors import SafeUnavailable
from suffice.service.errors import TooMany
from suffice.service.records import AMENDED, SKIPPED, AskRequest, Limits, Outcome
from suffice.service.selectors import SelectorService
from suffice.service.stores import open_store
from tests.support.postgres import Postgres
from tests.support.service import NO_SKIP, Clock, ask, every_store, plan, run, tell


@every_store
async def test_beyond_the_limit_of_exposure_the_safe_option_is_issued(service: SelectorService, clock: Clock) -> None:
    """max_debt + target·in_flight = 1 + 0.5·6 = 4: room for eight decisions of 0.5, and the rest are forced safe plays."""
    await service.put("a", plan(NO_SKIP, target=0.5, max_debt=1, in_flight=6))
    with pytest.raises(SafeUnavailable):  # a list is decided as a whole
        await service.ask("a", AskRequest(count=9, available=[5]))
    issued = await service.ask("a", AskRequest(count=8, available=[5]))
    issued += await service.ask("a", AskRequest(count=12))
    assert [decision.safe for decision in issued] == [False] * 8 + [True] * 12
    certificate = await service.certificate("a")
    assert (certificate.pending, certificate.asked) == (20, 20)
    assert (certificate.account.outstanding, certificate.account.most_outstanding) == (8, 8)
    assert (certificate.debt_at_most, certificate.owed_at_most, certificate.status) == (4.0, 10.0, "unproven")
    results = await service.tell("a", [Outcome(place, decision.safe) for place, decision in enumerate(issued)])
    assert {result.result for result in results} == {"counted"}
    certificate = await service.certificate("a")
    assert (certificate.debt, certificate.owed_at_most, certificate.pending) == (-2.0, -2.0, 0)
    assert (certificate.status, certificate.violations) == ("kept", 0)


@every_store
async def test_beyond_the_limit_of_debt_the_safe_option_is_issued(service: SelectorService, clock: Clock) -> None:
    """With prompt outcomes, failures of 0.5 each may owe 2 and no more."""
    await service.put("a", plan(NO_SKIP, target=0.5, max_debt=2, in_flight=50))
    for place in range(4):
        await tell(service, (await ask(service, available=[5])).decision, False)
        assert (await service.certificate("a")).debt == 0.5 * (place + 1)
    with pytest.raises(SafeUnavailable):
        await ask(service, available=[5])
    certificate = await service.certificate("a")
    assert (certificate.debt_at_most, certificate.status) == (2.0, "within")
    issued = await ask(service)
    assert issued.safe
    assert issued.price == pytest.approx(2.0)  # the cap: safe_cost/(1 − target)
    await tell(service, issued.decision, True)
    assert not (await ask(service, available=[5])).safe


@every_store
async def test_a_skip_is_settled_when_it_is_asked(service: SelectorService, clock: Clock) -> None:
    await service.put("a", plan(target=0.5, max_surplus=2, expire_after=60))
    while not (issued := await ask(service)).skip:
        await tell(service, issued.decision, True)
    decision, before = issued.decision, await service.overview("a")
    certificate = before.certificate
    assert (certificate.pending, certificate.skipped, certificate.outcomes) == (0, 1, certificate.asked)
    assert certificate.debt == 0.5 * certificate.outcomes - certificate.successes
    row = (await service.recent("a", 1))[0]
    assert (row.state, row.units, row.told_at, row.due) == (SKIPPED, 0, row.asked_at, None)
    assert sum(row.plays for row in await service.options("a")) == certificate.outcomes
    bins, _ = await service.history("a", 10)
    assert sum(each.outcomes for each in bins) == certificate.outcomes
    clock.now += 61
    assert await service.expire_overdue() == 0
    for _ in range(2):
        assert await tell(service, decision, False) == (200, "unchanged")
    assert await service.overview("a") == before
    assert await tell(service, decision, True) == (200, "amended")
    assert await tell(service, decision, True) == (200, "unchanged")
    assert (await tell(service, decision, False))[0] == 409
    overview = await service.overview("a")
    after = overview.certificate
    assert (after.outcomes, after.successes) == (certificate.outcomes, certificate.successes + 1)
    assert (after.skip_successes, after.amended, after.assumption_violated) == (1, 1, True)
    assert (overview.tells, overview.cost) == (before.tells + 1, before.cost)
    assert (await service.recent("a", 1))[0].state == AMENDED


@every_store
async def test_a_safe_option_that_is_needed_and_not_available(service: SelectorService, clock: Clock) -> None:
    await service.put("a", plan(NO_SKIP, max_debt=0, in_flight=0))
    with pytest.raises(SafeUnavailable):
        await ask(service, available=[5, 10])
    with pytest.raises(SafeUnavailable):
        await service.ask("a", AskRequest(count=3, available=[5], group="Oslo"))
    assert (await service.overview("a")).asks == 0
    assert set(await service.store.shards([1])) == set()  # the refused asks left nothing
    issued = await ask(service, available=[5, 10], insist=True)
    assert (issued.option, issued.safe) == (5, False)
    certificate = await service.certificate("a")
    assert (certificate.insisted, certificate.uncovered, certificate.debt_at_most) == (1, 0.9, 0.9)
    await tell(service, issued.decision, False)
    certificate = await service.certificate("a")
    assert (certificate.debt, certificate.violations, certificate.status) == (0.9, 0, "within")


def test_outstanding_decisions_are_limited(store_url: str) -> None:
    """Skips and unaudited decisions are not outstanding; groups count together; what is told or expires makes room."""

    async def check(service: SelectorService, clock: Clock) -> None:
        await service.put("a", plan(NO_SKIP, expire_after=60))
        await service.put("b", plan(NO_SKIP))
        issued = await service.ask("a", AskRequest(count=3))
        await ask(service, group="Oslo")
        for wanted in (AskRequest(count=2), AskRequest(count=2, group="Lima")):
            with pytest.raises(TooMany, match=r"'a' has 4 decisions outstanding, of at most 5 .*expire_after"):
                await service.ask("a", wanted)
        repeated = await service.ask("a", AskRequest(), "key", "digest")
        with pytest.raises(TooMany):
            await ask(service)
        assert await service.ask("a", AskRequest(), "key", "digest") == repeated
        assert (await ask(service, audit=False)).decision is None
        assert (await ask(service, "b")).decision == 0
        await tell(service, issued[0].decision, True)
        await tell(service, issued[0].decision, True)
        await ask(service)
        with pytest.raises(TooMany):
            await ask(service)
        clock.now += 61
        assert await service.expire_overdue() == 5
        await tell(service, issued[1].decision, True)  # late: it made room when it expired
        await service.ask("a", AskRequest(count=5))
        with pytest.raises(TooMany, match="has 5 decisions"):
            await ask(service)
        assert (await service.certificate("a")).pending == 5

    run(store_url, check, outstanding=5)


@every_store
async def test_a_lost_safe_play_has_no_outcome_until_it_is_told(service: SelectorService, clock: Clock) -> None:
    """It cost money when it expired. A late success counts then; a late failure too, and widens the bound by what it owes."""
    await service.put("a", plan(expire_after=5.0))
    issued = await service.ask("a", AskRequest(count=5, available=[100]))
    assert all(decision.safe for decision in issued)
    clock.now += 6.0
    assert await service.expire_overdue() == 5
    overview = await service.overview("a")
    lost = overview.certificate
    assert (lost.outcomes, lost.expired, lost.safe_lost, lost.pending, lost.asked) == (0, 0, 5, 0, 5)
    assert (lost.debt, lost.owed_at_most, lost.status) == (0, 4.5, "within")
    assert overview.cost == 5.0
    (then,) = (await service.history("a", 200))[0]
    assert (then.total, then.debt, then.cost, then.arms) == (0, 0, 5.0, {})
    clock.now += 60.0
    results = [await tell(service, decision.decision, place > 0) for place, decision in enumerate(issued)]
    assert results == [(200, "amended")] * 5
    overview = await service.overview("a")
    told = overview.certificate
    assert (told.outcomes, told.successes, told.amended, told.safe_lost) == (5, 4, 4, 0)
    assert (told.safe_plays, told.safe_failures, told.debt, told.owed_at_most) == (5, 1, 0.5, 0.5)
    assert told.uncovered == 0.9
    assert told.debt_at_most == pytest.approx(lost.debt_at_most + 0.9)
    assert overview.cost == 5.0
    before, after = (await service.history("a", 200))[0]
    assert (before.total, before.arms, after.total, after.arms) == (0, {}, 5, {5: 5})
    assert (after.debt, after.debt_at_most) == (0.5, told.debt_at_most)
    assert sum(option.plays for option in await service.options("a")) == 5


# --- several servers on one database


async def started(url: str, count: int, **limits: int) -> list[SelectorService]:
    """Servers that share a database."""
    servers = [SelectorService(open_store(url), Limits(**limits)) for _ in range(count)]
    await asyncio.gather(*(server.start() for server in servers))
    return servers


def test_servers_together_use_all_the_room_and_no_more(postgres: Postgres) -> None:
    """max_debt + target·in_flight = 4 is room for eight decisions of 0.5, whichever servers are asked, all at once."""

    async def check() -> None:
        servers = await started(postgres.database(), 3)
        await servers[0].put("a", plan(NO_SKIP, target=0.5, max_debt=1, in_flight=6))
        results = await asyncio.gather(
            *(ask(servers[place % 3], available=[5]) for place in range(30)), return_exceptions=True
        )
        asked = [one for one in results if not isinstance(one, BaseException)]
        assert sorted(one.decision or 0 for one in asked) == [*range(8)]
        assert sum(isinstance(one, SafeUnavailable) for one in results) == 22
        risky = [one.decision for one in asked]
        asked = await asyncio.gather(*(ask(servers[place % 3]) for place in range(52)))
        assert all(one.safe for one in asked)
        certificates = [await server.certificate("a") for server in servers]
        assert len(set(map(str, certificates))) == 1
        assert certificates[0].account.most_outstanding == 8
        assert (certificates[0].pending, certificates[0].debt_at_most) == (60, 4.0)
        told = await asyncio.gather(*(tell(servers[place % 3], one, False) for place, one in enumerate(risky)))
        assert told == [(200, "counted")] * 8
        for server in servers:
            certificate = await server.certificate("a")
            assert (certificate.debt, certificate.debt_at_most, certificate.violations) == (4.0, 4.0, 0)  # equal
            assert (await ask(server)).safe
            with pytest.raises(SafeUnavailable):
                await ask(server, available=[5])
        safe = [one.decision for one in asked]
        await asyncio.gather(*(tell(servers[place % 3], one, True) for place, one in enumerate(safe)))
        certificate = await servers[1].certificate("a")
        assert (certificate.debt, certificate.pending) == (4.0 - 52 * 0.5, 3)  # one of each server just now
        await asyncio.gather(*(server.stop() for server in servers))

    asyncio.run(check())


def test_servers_together_owe_no_more_than_max_debt_where_outcomes_are_prompt(postgres: Postgres) -> None:
    async def check() -> None:
        servers = await started(postgres.database(), 3)
        await servers[0].put("a", plan(NO_SKIP, target=0.5, max_debt=2, in_flight=50))
        for place in range(4):
            issued = await ask(servers[place % 3], available=[5])
            assert await tell(servers[(place + 1) % 3], issued.decision, False) == (200, "counted")
        for server in servers:
            with pytest.raises(SafeUnavailable):
                await ask(server, available=[5])
            certificate = await server.certificate("a")
            assert (certificate.debt, certificate.debt_at_most, certificate.status) == (2.0, 2.0, "within")
        await asyncio.gather(*(server.stop() for server in servers))

    asyncio.run(check())


def test_servers_together_hold_the_limit_of_outstanding_decisions(postgres: Postgres) -> None:
    async def check() -> None:
        servers = await started(postgres.database(), 3, outstanding=10)
        await servers[0].put("a", plan(NO_SKIP))
        results = await asyncio.gather(
            *(ask(servers[place % 3], group=f"g{place % 2}") for place in range(30)), return_exceptions=True
        )
        refused = [one for one in results if isinstance(one, TooMany)]
        issued = [one.decision for one in results if not isinstance(one, BaseException)]
        assert (len(issued), len(refused)) == (10, 20)
        await tell(servers[2], issued[0], True)
        await ask(servers[1])
        for server in servers:
            with pytest.raises(TooMany, match="has 10 decisions outstanding, of at most 10"):
                await ask(server)
        await asyncio.gather(*(server.stop() for server in servers))

    asyncio.run(check())
