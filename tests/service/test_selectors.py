"""The service without HTTP: it decides as the library does and counts each outcome once, in any order."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from suffice.errors import InvalidArgument
from suffice.service.errors import (
    Conflict,
    Gone,
    NoSuchSelector,
    NotAllowed,
    Overloaded,
    StoreDown,
    StoredPlan,
    TooMany,
)
from suffice.service.records import AMENDED, EXPIRED, AskRequest, IssuedDecision, Outcome
from suffice.service.selectors import SelectorService
from tests.support.service import NO_SKIP, TOLD_COSTS, Clock, ask, every_store, in_memory, plan, run, tell

# --- the same decisions as in process


@every_store
async def test_groups_have_promises_of_their_own(service: SelectorService, clock: Clock) -> None:
    made = plan()
    await service.put("a", made)
    twin, rng = made.selector(), random.Random(3)
    ids = []
    for step in range(90):
        group = ["Oslo", "Łódź", None][step % 3]
        expected, issued = twin.ask(group=group), await ask(service, group=group)
        assert (issued.arm, issued.price) == (expected.arm, expected.price)
        ids.append(issued.decision)
        success = expected.arm == 5 or rng.random() < 0.7
        twin.tell(expected, success)
        await tell(service, issued.decision, success)
    assert (await ask(service, group="Oslo")).decision == 90
    twin.ask(group="Oslo")
    assert ids == [*range(90)]  # all groups share one sequence of ids
    assert str(await service.certificate("a")) == str(twin.certificate())
    for group in ("Oslo", "Łódź"):
        assert str(await service.certificate("a", group)) == str(twin.certificate(group))
    assert (await service.certificate("a", "Oslo")).pending == 1
    with pytest.raises(InvalidArgument, match="group"):
        await service.certificate("a", "Rome")


@in_memory
async def test_a_selector_asked_only_in_groups_has_no_price(service: SelectorService, clock: Clock) -> None:
    await service.put("a", plan())
    for place in range(60):  # so many that certificates are computed in a thread
        await tell(service, (await ask(service, group=f"g{place}")).decision, True)
    overview = await service.overview("a")
    assert overview.price is None
    assert overview.certificate.outcomes == 60 == (await service.certificate("a")).outcomes
    await tell(service, (await ask(service)).decision, True)
    assert (await service.overview("a")).price is not None


# --- asks


@every_store
async def test_a_repeated_ask_returns_the_same_decisions(service: SelectorService, clock: Clock) -> None:
    await service.put("a", plan())
    wanted = AskRequest(count=3)
    first = await service.ask("a", wanted, "key", "digest")
    assert await service.ask("a", wanted, "key", "digest") == first
    both = await asyncio.gather(*(service.ask("a", wanted, "new", "digest") for _ in range(5)))
    assert all(issued == both[0] for issued in both)
    with pytest.raises(Conflict, match="another body"):
        await service.ask("a", wanted, "key", "other")
    assert (await service.overview("a")).asks == 6
    await service.put("b", plan())
    assert (await service.ask("b", wanted, "key", "other"))[0].decision == 0  # each selector has its own keys
    clock.now += 24 * 3600 + 1
    assert (await service.ask("a", wanted, "key", "other"))[0].decision == 6
    await service.prune()
    assert (await service.ask("a", wanted, "key", "other"))[0].decision == 6


@in_memory
async def test_a_bad_ask_fails_alone(service: SelectorService, clock: Clock) -> None:
    await service.put("a", plan(model="auto"))
    await ask(service, contexts=[{"x": 1.0}])
    wanted = [
        AskRequest(),
        AskRequest(contexts=[{"y": [1]}]),
        AskRequest(group="x" * 300),
        AskRequest(group="Oslo"),
        AskRequest(count=2),
    ]
    results = await asyncio.gather(*(service.ask("a", each) for each in wanted), return_exceptions=True)
    kinds = [type(result).__name__ for result in results]
    assert kinds == ["list", "InvalidContext", "InvalidArgument", "list", "list"]
    assert [row.id for row in await service.decisions("a")] == [*range(5)]
    with pytest.raises(InvalidArgument):
        await service.ask("a", AskRequest(count=3, contexts=[{"x": 1.0}, {"x": 2.0}, {"x": "three", "y": 1}]))
    assert (await service.overview("a")).asks == 5  # none of the three
    await service.put("b", plan())
    with pytest.raises(InvalidArgument, match="context"):
        await ask(service, "b", group="Lima", contexts=[{"x": 1}])
    assert (await ask(service, "b", group="Oslo")).decision == 0
    assert set(await service.store.shards([2])) == {(2, ""), (2, "Oslo")}  # the refused ask made no group


def test_groups_and_waiting_requests_are_limited() -> None:
    async def check(service: SelectorService, clock: Clock) -> None:
        await service.put("a", plan())
        await ask(service, group="x")
        with pytest.raises(TooMany, match="at most 1 groups"):
            await ask(service, group="y")
        for text in ("a\0b", "\ud800"):
            with pytest.raises(InvalidArgument, match="NUL"):
                await ask(service, group=text)
        results = await asyncio.gather(*(ask(service) for _ in range(30)), return_exceptions=True)
        assert any(isinstance(result, Overloaded) for result in results)
        assert sum(isinstance(result, IssuedDecision) for result in results) >= 8

    run("memory:", check, groups=1, queue=8)


# --- tells


@every_store
async def test_an_outcome_counts_once(service: SelectorService, clock: Clock) -> None:
    await service.put("a", plan(TOLD_COSTS))
    issued = await ask(service)
    assert await tell(service, issued.decision, 1, 0.5) == (200, "counted")
    assert await tell(service, issued.decision, True, 0.5) == (200, "unchanged")
    assert (await tell(service, issued.decision, 0, 0.5))[0] == 409
    assert (await tell(service, issued.decision, 1, 0.25))[0] == 409
    assert (await tell(service, issued.decision, 1))[0] == 409
    assert (await tell(service, 7, 1, 0.5))[0] == 404
    assert (await tell(service, -1, 1, 0.5))[0] == 404
    for bad in (Outcome(0, 1.5), Outcome(0, 1, -1.0)):
        with pytest.raises(InvalidArgument):
            await service.tell("a", [bad])
    certificate, overview = await service.certificate("a"), await service.overview("a")
    assert (certificate.outcomes, certificate.successes, overview.cost) == (1, 1, 0.5)


@in_memory
async def test_a_cost_that_must_be_told(service: SelectorService, clock: Clock) -> None:
    await service.put("a", plan(TOLD_COSTS, 0.5))
    while (issued := await ask(service)).safe:
        await tell(service, issued.decision, 1)  # the cost of the safe option is known
    assert (await tell(service, issued.decision, 1))[0] == 422
    assert await tell(service, issued.decision, 1, 99.0) == (200, "counted")  # above safe_cost: counted as it is
    assert (await service.overview("a")).cost >= 99.0


@every_store
async def test_an_overdue_decision_counts_as_a_failure_until_it_is_told(service: SelectorService, clock: Clock) -> None:
    await service.put("a", plan(expire_after=60))
    first = await ask(service, available=[5])
    await ask(service, available=[5])
    clock.now += 59
    assert await service.expire_overdue() == 0
    clock.now += 2
    assert await service.expire_overdue() == 2
    assert await service.expire_overdue() == 0
    certificate = await service.certificate("a")
    assert (certificate.outcomes, certificate.successes, certificate.expired, certificate.pending) == (2, 0, 2, 0)
    assert (certificate.debt, certificate.safe_lost, certificate.status) == (1.8, 0, "within")
    assert (await service.overview("a")).cost == 2 * 0.05  # of the five best, twice
    assert await tell(service, first.decision, 1) == (200, "amended")
    assert await tell(service, first.decision, 1) == (200, "unchanged")
    assert (await tell(service, first.decision, 0))[0] == 409
    certificate = await service.certificate("a")
    assert (certificate.outcomes, certificate.successes) == (2, 1)
    assert certificate.amended == 1
    assert certificate.debt == pytest.approx(0.8)
    overview = await service.overview("a")
    assert (overview.cost, overview.tells) == (0.1, 1)
    assert [row.state for row in await service.decisions("a")] == [AMENDED, EXPIRED]
    bins, _ = await service.history("a", 10)
    assert (sum(each.outcomes for each in bins), sum(each.successes for each in bins)) == (2, 1)


# --- selectors


@every_store
async def test_names_and_plans(service: SelectorService, clock: Clock) -> None:
    overview, is_new = await service.put("a", plan())
    assert is_new
    assert (overview.plan["max_debt"], overview.plan["in_flight"], overview.plan["max_surplus"]) == (5, 200, None)
    assert (await service.put("a", plan(seed=0)))[1] is False
    with pytest.raises(Conflict, match="another plan"):
        await service.put("a", plan(target=0.8))
    for call in (service.overview("b"), service.ask("b", AskRequest()), service.archive("b")):
        with pytest.raises(NoSuchSelector, match="PUT"):
            await call
    issued = await ask(service)
    assert (await service.archive("a")).archived is not None
    with pytest.raises(Gone, match="archived"):
        await ask(service)
    assert await tell(service, issued.decision, True) == (200, "counted")  # archived selectors take outcomes
    assert await service.list_selectors() == ([], None)
    assert [each.name for each in (await service.list_selectors(archived=True))[0]] == ["a"]
    assert (await service.put("a", plan()))[0].archived is None
    assert (await ask(service)).decision == 1
    with pytest.raises(InvalidArgument, match="safe_success must be above the target"):
        await service.put("c", plan({**NO_SKIP, "safe_success": 0.9}))
    with pytest.raises(NoSuchSelector):
        await service.overview("c")


@in_memory
async def test_a_plan_can_be_confirmed_where_nothing_may_be_made(service: SelectorService, clock: Clock) -> None:
    await service.put("a", plan())
    assert (await service.put("a", plan(), confirm=True))[1] is False
    with pytest.raises(NotAllowed, match="scope manage"):
        await service.put("b", plan(), confirm=True)
    await service.archive("a")
    with pytest.raises(NotAllowed):
        await service.put("a", plan(), confirm=True)


@in_memory
async def test_an_archived_selector_is_not_read_from_the_cache(service: SelectorService, clock: Clock) -> None:
    await service.put("a", plan())
    service._replicas.forget("a")
    read, go_on = service.store.selector, asyncio.Event()

    async def slow(name: str) -> Any:
        row = await read(name)
        await go_on.wait()
        return row

    service.store.selector = slow  # type: ignore[method-assign]
    early = asyncio.create_task(service.ask("a", AskRequest()))
    await asyncio.sleep(0)
    service.store.selector = read  # type: ignore[method-assign]
    await service.archive("a")
    go_on.set()
    await early  # it was asked before
    with pytest.raises(Gone, match="archived"):
        await service.ask("a", AskRequest())


@in_memory
async def test_a_transaction_that_fails_changes_nothing(service: SelectorService, clock: Clock) -> None:
    await service.put("a", plan())
    assert (await ask(service)).decision == 0
    write, store = service.store.transact, service.store

    async def fail(work: Any) -> None:
        work.ask(0, await store.shards([1]), {})
        raise OSError("the disk is on fire")

    service.store.transact = fail  # type: ignore[method-assign]
    with pytest.raises(StoreDown, match="nothing was changed"):
        await ask(service)
    service.store.transact = write  # type: ignore[method-assign]
    assert (await ask(service)).decision == 1
    assert (await service.certificate("a")).pending == 2


def test_a_plan_that_cannot_be_read_harms_no_other(tmp_path: Path) -> None:
    url = str(tmp_path / "a.db")

    async def spoil(service: SelectorService, clock: Clock) -> None:
        for name in ("a", "b"):
            await service.put(name, plan(expire_after=60))
            await ask(service, name, available=[5])
        store: Any = service.store
        await store._change("UPDATE selectors SET plan = '{}' WHERE name = 'a'")

    async def check(service: SelectorService, clock: Clock) -> None:
        clock.now += 61
        assert await service.expire_overdue() == 1
        assert [each.name for each in (await service.list_selectors())[0]] == ["b"]
        assert await service.list_selectors("", 1) == ([], "a")  # the next page begins after the one left out
        overviews, more = await service.list_selectors("a", 1)
        assert ([each.name for each in overviews], more) == (["b"], None)
        for call in (service.overview("a"), service.ask("a", AskRequest()), service.certificate("a")):
            with pytest.raises(StoredPlan, match="as after a downgrade"):
                await call
        assert (await service.certificate("b")).expired == 1

    run(url, spoil)
    run(url, check)
