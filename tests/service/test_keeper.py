"""The service without HTTP: the same decisions as the library's, counted once, whatever is repeated, late or lost."""

import asyncio
import json
import random
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from suffice.errors import InvalidArgument
from suffice.numbers import ONE_SUCCESS
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
from suffice.service.plans import Plan
from suffice.service.records import AMENDED, EXPIRED, PENDING, TOLD, AskRequest, IssuedDecision, Limits, Outcome
from suffice.service.selectors import SelectorService
from suffice.service.stores import open_store
from suffice.service.stores.copying import copy
from tests.support.postgres import Postgres

Got = TypeVar("Got")
TOP_K = {"kind": "top_k", "ks": [5, 10, 20, 50], "classes": 100}
PRICED = {"kind": "options", "options": ["small", "large"], "safe": "a person"}  # costs are told; no skip


class Clock:
    """A time that tests set."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def plan(menu: dict[str, Any] = TOP_K, target: float = 0.9, **more: Any) -> Plan:
    return Plan.parse(json.dumps({"menu": menu, "target": target, **more}))


def run(
    url: str, do: Callable[[SelectorService], Coroutine[Any, Any, Got]], clock: Clock | None = None, **limits: int
) -> Got:
    async def whole() -> Got:
        service = SelectorService(open_store(url), Limits(**limits), clock or Clock())
        await service.start()
        try:
            return await do(service)
        finally:
            await service.stop()

    return asyncio.run(whole())


async def one(service: SelectorService, name: str = "a", **wanted: Any) -> IssuedDecision:
    (asked,) = await service.ask(name, AskRequest(**wanted))
    return asked


async def tell(
    service: SelectorService, decision: int | None, success: float, cost: float | None = None
) -> tuple[int, str | None]:
    assert decision is not None
    (told,) = await service.tell("a", [Outcome(decision, success, cost)])
    return told.status, told.result


# --- the same as in process


@pytest.mark.parametrize("more", [{}, {"chooser": "optimist"}, {"max_surplus": 5, "prices": "straight"}])
def test_it_chooses_the_arms_that_the_library_chooses(store_url: str, more: dict[str, Any]) -> None:
    async def do(service: SelectorService) -> None:
        made = plan(**more)
        await service.put("a", made)
        twin, rng = made.selector(), random.Random(3)
        for _ in range(250):
            mine, theirs = twin.ask(), await one(service)
            assert (theirs.decision, theirs.arm, theirs.option) == (mine.id, mine.arm, mine.option)
            assert theirs.price == mine.price
            success = rng.random() < (mine.arm / 5) ** 0.5
            twin.tell(mine, success)
            assert await tell(service, theirs.decision, success) == (200, "counted")
        assert str(await service.certificate("a")) == str(twin.certificate())
        assert await service.options("a") == twin.options()
        standing = await service.overview("a")
        assert standing.cost == pytest.approx(twin.cost)
        assert (standing.asks, standing.tells, standing.price) == (250, 250, twin.price)

    run(store_url, do)


def test_it_looks_as_the_library_looks(store_url: str) -> None:
    async def do(service: SelectorService) -> None:
        made = plan(model="auto")
        await service.put("a", made)
        twin, rng = made.selector(), random.Random(3)
        for _ in range(300):
            context = {"easy": rng.random() < 0.5, "length": rng.gauss(0, 1), "kind": rng.choice("abc")}
            mine, theirs = twin.ask(context=context), await one(service, contexts=[context])
            assert theirs.arm == mine.arm
            success = mine.arm == 5 or (bool(context["easy"]) and mine.arm > 0)
            twin.tell(mine, success)
            await tell(service, theirs.decision, success)
        assert await service.context_report("a") == twin.context_report()
        (last,) = await service.recent("a", 1)
        assert last.context() == context

    run(store_url, do)


def test_groups_have_promises_of_their_own(store_url: str) -> None:
    async def do(service: SelectorService) -> None:
        made = plan()
        await service.put("a", made)
        twin, rng = made.selector(), random.Random(3)
        ids = []
        for step in range(200):
            group = ["Oslo", "Łódź", None][step % 3]
            mine, theirs = twin.ask(group=group), await one(service, group=group)
            assert (theirs.arm, theirs.price) == (mine.arm, mine.price)
            ids.append(theirs.decision)
            success = mine.arm == 5 or rng.random() < 0.7
            twin.tell(mine, success)
            await tell(service, theirs.decision, success)
        assert ids == [*range(200)]  # one row of ids, whatever the group
        pending = await one(service, group="Oslo")
        twin.ask(group="Oslo")
        assert str(await service.certificate("a")) == str(twin.certificate())
        for group in ("Oslo", "Łódź"):
            assert str(await service.certificate("a", group)) == str(twin.certificate(group))
        assert (await service.certificate("a", "Oslo")).pending == 1
        with pytest.raises(InvalidArgument, match="group"):
            await service.certificate("a", "Rome")
        assert pending.decision == 200

    run(store_url, do)


# --- asks


def test_a_retried_ask_returns_the_same_decisions(store_url: str) -> None:
    async def do(service: SelectorService, clock: Clock) -> None:
        await service.put("a", plan())
        wanted = AskRequest(count=3)
        first = await service.ask("a", wanted, "key", "digest")
        assert await service.ask("a", wanted, "key", "digest") == first
        both = await asyncio.gather(*(service.ask("a", wanted, "new", "digest") for _ in range(5)))
        assert all(asked == both[0] for asked in both)
        with pytest.raises(Conflict, match="another body"):
            await service.ask("a", wanted, "key", "other")
        assert (await service.overview("a")).asks == 6
        await service.put("b", plan())
        assert (await service.ask("b", wanted, "key", "other"))[0].decision == 0  # keys are the selector's own
        clock.now += 24 * 3600 + 1
        assert (await service.ask("a", wanted, "key", "other"))[0].decision == 6
        await service.prune()
        assert (await service.ask("a", wanted, "key", "other"))[0].decision == 6

    clock = Clock()
    run(store_url, lambda service: do(service, clock), clock)


def test_a_chart_remembers_what_was_lost_for_a_time(store_url: str) -> None:
    """Plays of the safe option that nobody told of are in the bound; told late, they leave it, but not in the past."""

    async def do(service: SelectorService, clock: Clock) -> None:
        await service.put("a", plan(expire_after=5.0))
        asked = await service.ask("a", AskRequest(count=5))
        assert all(decision.safe for decision in asked)
        clock.now += 6.0
        await service.sweep()
        (then,) = (await service.history("a", 200))[0]
        assert (then.total, then.debt) == (5, 4.5)
        clock.now += 60.0
        for decision in asked:
            await tell(service, decision.decision, 1.0)
        before, after = (await service.history("a", 200))[0]
        assert before.debt == 4.5
        assert before.debt_at_most == pytest.approx(then.debt_at_most)
        assert after.debt == -0.5
        assert after.debt_at_most == pytest.approx(then.debt_at_most - 5.0)

    clock = Clock()
    run(store_url, lambda service: do(service, clock), clock)


def test_what_is_asked_in_groups_has_the_prices_of_groups(store_url: str) -> None:
    async def do(service: SelectorService) -> None:
        await service.put("a", plan())
        await tell(service, (await one(service, group="north")).decision, 1.0)
        assert (await service.overview("a")).price is None
        await tell(service, (await one(service)).decision, 1.0)
        assert (await service.overview("a")).price is not None

    run(store_url, do)


def test_what_is_not_judged_is_counted_apart(store_url: str) -> None:
    async def do(service: SelectorService) -> None:
        await service.put("a", plan())
        asked = await one(service, audit=False)
        assert asked.decision is None
        assert asked.safe
        certificate = await service.certificate("a")
        assert (certificate.unaudited, certificate.pending, certificate.outcomes) == (1, 0, 0)
        assert await service.decisions("a") == []

    run(store_url, do)


def test_available_limits_this_one_ask(store_url: str) -> None:
    async def do(service: SelectorService) -> None:
        await service.put("a", plan({"kind": "intervals", "step": 0.25}, 0.5))
        for _ in range(60):
            asked = await one(service, available=[[0.0, 0.25]])
            assert asked.option in (None, [0.0, 0.25], [0.0, 1.0])
            await tell(service, asked.decision, asked.safe)
        with pytest.raises(InvalidArgument, match="option"):
            await one(service, available=[[0.1, 0.25]])

    run(store_url, do)


def test_a_bad_ask_takes_no_other_down_with_it() -> None:
    async def do(service: SelectorService) -> None:
        await service.put("a", plan(model="auto"))
        await one(service, contexts=[{"x": 1.0}])
        wishes = [
            AskRequest(),
            AskRequest(contexts=[{"y": [1]}]),
            AskRequest(group="x" * 300),
            AskRequest(group="Oslo"),
            AskRequest(count=2),
        ]
        got = await asyncio.gather(*(service.ask("a", wanted) for wanted in wishes), return_exceptions=True)
        kinds = [type(each).__name__ for each in got]
        assert kinds == ["list", "InvalidContext", "InvalidArgument", "list", "list"]
        assert [row.id for row in await service.decisions("a")] == [*range(5)]
        many = AskRequest(count=3, contexts=[{"x": 1.0}, {"x": 2.0}, {"x": "three", "y": 1}])
        with pytest.raises(InvalidArgument):
            await service.ask("a", many)
        assert (await service.overview("a")).asks == 5  # all, or none

    run("memory:", do)


def test_at_so_many_outstanding_the_safe_option_is_handed_out(store_url: str) -> None:
    async def do(service: SelectorService) -> None:
        await service.put("a", plan(target=0.5, max_pending=3))
        for _ in range(30):  # get ahead
            asked = await one(service)
            await tell(service, asked.decision, True)
        asked_many = await service.ask("a", AskRequest(count=20))
        assert sum(not asked.safe for asked in asked_many) == 3
        certificate = await service.certificate("a")
        assert certificate.debt_at_most == pytest.approx(0.5 * 3)

    run(store_url, do)


def test_limits() -> None:
    async def do(service: SelectorService) -> None:
        await service.put("a", plan())
        await service.put("b", plan())
        with pytest.raises(TooMany, match="at most 2 selectors"):
            await service.put("c", plan())
        with pytest.raises(InvalidArgument, match="from 1 to 5"):
            await service.ask("a", AskRequest(count=6))
        with pytest.raises(InvalidArgument, match="at most 5"):
            await service.tell("a", [Outcome(0, 1)] * 6)
        await one(service, group="x")
        with pytest.raises(TooMany, match="at most 1 groups"):
            await one(service, group="y")
        for text in ("a\0b", "\ud800"):
            with pytest.raises(InvalidArgument, match="NUL"):
                await one(service, group=text)
        waiting = [asyncio.ensure_future(one(service)) for _ in range(30)]
        got = await asyncio.gather(*waiting, return_exceptions=True)
        assert any(isinstance(each, Overloaded) for each in got)
        assert sum(isinstance(each, IssuedDecision) for each in got) >= 8

    run("memory:", do, selectors=2, list_length=5, groups=1, queue=8)


# --- tells


def test_outcomes_count_once(store_url: str) -> None:
    async def do(service: SelectorService) -> None:
        await service.put("a", plan(PRICED))
        asked = await one(service)
        assert await tell(service, asked.decision, 1, 0.5) == (200, "counted")
        assert await tell(service, asked.decision, True, 0.5) == (200, "unchanged")
        assert (await tell(service, asked.decision, 0, 0.5))[0] == 409
        assert (await tell(service, asked.decision, 1, 0.25))[0] == 409
        assert (await tell(service, asked.decision, 1))[0] == 409
        assert (await tell(service, 7, 1, 0.5))[0] == 404
        assert (await tell(service, -1, 1, 0.5))[0] == 404
        assert (await tell(service, asked.decision, 1.5))[0] == 422
        certificate, standing = await service.certificate("a"), await service.overview("a")
        assert (certificate.outcomes, certificate.successes, standing.cost) == (1, 1, 0.5)

    run(store_url, do)


def test_a_list_says_what_became_of_each(store_url: str) -> None:
    async def do(service: SelectorService) -> None:
        await service.put("a", plan(target=0.5, max_surplus=30))
        await service.ask("a", AskRequest(count=4))
        items = [(0, 1.0), (0, 1.0), (0, 0.0), (9, 1.0), (1, 0.25), (2, -1.0), (3, 0.0), (2, 1.0)]
        told = await service.tell("a", [Outcome(*item) for item in items])
        assert [each.status for each in told] == [200, 200, 409, 404, 200, 422, 200, 200]
        assert [each.decision for each in told] == [item[0] for item in items]
        assert (await service.certificate("a")).successes == 2.25

    run(store_url, do)


def test_a_cost_that_must_be_told(store_url: str) -> None:
    async def do(service: SelectorService) -> None:
        await service.put("a", plan(PRICED, 0.5))
        await tell(service, (await one(service)).decision, 1)  # the cost of the safe option is known
        for _ in range(10):
            asked = await one(service)
            if asked.safe:
                await tell(service, asked.decision, 1)
                continue
            assert (await tell(service, asked.decision, 1))[0] == 422
            assert await tell(service, asked.decision, 1, 99.0) == (200, "counted")  # above safe_cost: kept as it is
            assert (await service.overview("a")).cost >= 99.0
            return
        pytest.fail("no option was tried")

    run(store_url, do)


def test_what_is_overdue_counts_as_a_failure_until_it_is_told(store_url: str) -> None:
    clock = Clock()

    async def do(service: SelectorService) -> None:
        await service.put("a", plan(expire_after=60))
        first, second = await one(service), await one(service)
        clock.now += 59
        assert await service.sweep() == 0
        clock.now += 2
        assert await service.sweep() == 2
        assert await service.sweep() == 0
        certificate = await service.certificate("a")
        assert (certificate.outcomes, certificate.successes, certificate.expired, certificate.pending) == (2, 0, 2, 0)
        assert certificate.safe_lost == 2
        assert certificate.holds
        cost = (await service.overview("a")).cost
        assert cost == 2.0  # the safe option, twice
        assert await tell(service, first.decision, 1) == (200, "amended")
        assert await tell(service, first.decision, 1) == (200, "unchanged")
        assert (await tell(service, first.decision, 0))[0] == 409
        certificate = await service.certificate("a")
        assert (certificate.outcomes, certificate.successes, certificate.amended, certificate.safe_lost) == (
            2,
            1,
            1,
            1,
        )
        standing = await service.overview("a")
        assert (standing.cost, standing.tells) == (2.0, 1)
        assert [row.state for row in await service.decisions("a")] == [AMENDED, EXPIRED]
        assert sum(bin.outcomes for bin in (await service.history("a", 10))[0]) == 2
        assert sum(bin.successes for bin in (await service.history("a", 10))[0]) == 1
        assert second.decision == 1

    run(store_url, do, clock)


# --- selectors


def test_names_and_plans(store_url: str) -> None:
    async def do(service: SelectorService) -> None:
        standing, made = await service.put("a", plan())
        assert made
        assert standing.plan["max_pending"] == 1000
        assert (await service.put("a", plan(seed=0)))[1] is False
        with pytest.raises(Conflict, match="another plan"):
            await service.put("a", plan(target=0.8))
        with pytest.raises(NoSuchSelector, match="PUT"):
            await service.overview("b")
        with pytest.raises(NoSuchSelector):
            await service.ask("b", AskRequest())
        with pytest.raises(NoSuchSelector):
            await service.archive("b")
        asked = await one(service)
        assert (await service.archive("a")).archived is not None
        with pytest.raises(Gone, match="archived"):
            await one(service)
        assert await tell(service, asked.decision, True) == (200, "counted")  # no outcome is lost
        assert await service.list_selectors() == ([], None)
        assert [standing.name for standing in (await service.list_selectors(archived=True))[0]] == ["a"]
        assert (await service.put("a", plan()))[0].archived is None
        assert (await one(service)).decision == 1

    run(store_url, do)


def test_a_plan_that_cannot_be_is_not_kept(store_url: str) -> None:
    async def do(service: SelectorService) -> None:
        with pytest.raises(InvalidArgument, match="max_surplus or step"):
            await service.put("a", plan(max_surplus=3, step=1))
        with pytest.raises(NoSuchSelector):
            await service.overview("a")

    run(store_url, do)


def test_history_adds_up(store_url: str) -> None:
    clock = Clock()

    async def do(service: SelectorService) -> None:
        await service.put("a", plan(target=0.6))
        for step in range(120):
            clock.now += 10.0
            asked = await one(service)
            await tell(service, asked.decision, asked.safe or step % 3 > 0)
        certificate, standing = await service.certificate("a"), await service.overview("a")
        for most in (1, 7, 200):
            bins, _ = await service.history("a", most)
            assert 1 <= len(bins) <= most
            assert sum(bin.outcomes for bin in bins) == 120 == sum(sum(bin.arms.values()) for bin in bins)
            assert sum(bin.successes for bin in bins) == certificate.successes
            assert sum(bin.cost for bin in bins) == pytest.approx(standing.cost)
            assert bins[-1].debt == pytest.approx(certificate.debt)
            assert all(bin.start < bin.end for bin in bins)
            assert [bin.start for bin in bins] == sorted(bin.start for bin in bins)

    run(store_url, do, clock)


# --- restarts, and several processes


def test_what_was_learned_survives_a_restart(tmp_path: Path, postgres: Postgres) -> None:
    """Stopped in good order or not: what was never saved is learned again from the log."""
    for url in (str(tmp_path / "a.db"), postgres.database()):

        async def first(service: SelectorService) -> Any:
            await service.put("a", plan(model="auto", expire_after=50))
            rng = random.Random(1)
            for step in range(150):
                asked = await one(service, group="Oslo" if step % 2 else None, contexts=[{"x": rng.random()}])
                if step % 10:
                    await tell(service, asked.decision, asked.safe or rng.random() < 0.5)
            service.clock.now += 100  # type: ignore[attr-defined]
            await service.sweep()
            await tell(service, 0, 1)  # late
            return await looks(service)

        async def looks(service: SelectorService) -> Any:
            context_report = await service.context_report("a")
            return (
                await service.options("a"),
                context_report.followed,
                await service.history("a", 9),
                str(await service.certificate("a")),
            )

        clock = Clock()
        before = run(url, first, clock)
        assert run(url, looks, clock) == before

        async def forget(service: SelectorService) -> None:
            store: Any = service.store
            await store._change("DELETE FROM snapshots")

        run(url, forget, clock)
        arms, _, history, certificate = run(url, looks, clock)
        assert [(arm.plays, arm.success, arm.cost) for arm in arms] == [
            (arm.plays, arm.success, arm.cost) for arm in before[0]
        ]
        assert (history, certificate) == before[2:]


def test_a_snapshot_that_cannot_be_read_costs_money_only(tmp_path: Path) -> None:
    url = str(tmp_path / "a.db")

    async def first(service: SelectorService) -> None:
        await service.put("a", plan())
        for _ in range(5):
            await tell(service, (await one(service)).decision, True)
        await service.store.save(1, 10**6, '{"nonsense": true}')

    async def second(service: SelectorService) -> None:
        assert sum(arm.plays for arm in await service.options("a")) == 5  # learned again from the log
        assert (await service.certificate("a")).outcomes == 5
        assert (await one(service)).decision == 5

    run(url, first)
    run(url, second)


def test_processes_learn_from_one_another(postgres: Postgres) -> None:
    url = postgres.database()

    async def whole() -> None:
        keepers = [SelectorService(open_store(url), clock=Clock()) for _ in range(3)]
        await asyncio.gather(*(service.start() for service in keepers))
        await asyncio.gather(*(service.put("a", plan(target=0.7, model="auto")) for service in keepers))
        rng = random.Random(5)

        async def client(service: SelectorService, other: SelectorService) -> None:
            for _ in range(60):
                asked = await one(service, contexts=[{"x": rng.random()}], group=rng.choice([None, "Oslo"]))
                await asyncio.sleep(0.001)
                await tell(other, asked.decision, asked.safe or rng.random() < 0.6)

        await asyncio.gather(*(client(keepers[i], keepers[(i + j) % 3]) for i in range(3) for j in range(2)))
        arms = [[(arm.plays, arm.success) for arm in await service.options("a")] for service in keepers]
        assert arms[0] == arms[1] == arms[2]
        assert sum(plays for plays, _ in arms[0]) == 360
        certificates = [str(await service.certificate("a")) for service in keepers]
        assert certificates[0] == certificates[1] == certificates[2]
        certificate = await keepers[0].certificate("a")
        assert certificate.consistent
        assert certificate.holds
        assert (certificate.outcomes, certificate.pending) == (360, 0)
        await asyncio.gather(*(service.stop() for service in keepers))

    asyncio.run(whole())


def test_what_processes_have_learned_goes_into_a_file(postgres: Postgres, tmp_path: Path) -> None:
    """A copy of a database has several shards, in a store that is for one process."""
    url, file = postgres.database(), str(tmp_path / "a.db")

    async def both() -> None:
        keepers = [SelectorService(open_store(url), clock=Clock()) for _ in range(2)]
        await asyncio.gather(*(service.start() for service in keepers))
        await keepers[0].put("a", plan())
        for step in range(20):
            await tell(keepers[step % 2], (await one(keepers[step // 2 % 2])).decision, True)
        await keepers[0].store._fetch(tuple, "DELETE FROM snapshots")  # type: ignore[attr-defined]
        for service in keepers:
            service._replicas._replicas.clear()  # nothing is saved
            await service.stop()

    async def look(service: SelectorService) -> None:
        assert sum(arm.plays for arm in await service.options("a")) == 20 == (await service.certificate("a")).outcomes
        await tell(service, (await one(service)).decision, True)
        assert sum(arm.plays for arm in await service.options("a")) == 21 == (await service.certificate("a")).outcomes

    asyncio.run(both())
    asyncio.run(copy(url, file))
    run(file, look)


def test_a_store_that_fails_changes_nothing() -> None:
    async def do(service: SelectorService) -> None:
        await service.put("a", plan())
        first = await one(service)
        write, store = service.store.transact, service.store

        async def fail(work: Any) -> None:
            work.ask(0, await store.shards([1]), {})
            raise OSError("the disk is on fire")

        service.store.transact = fail  # type: ignore[method-assign]
        with pytest.raises(StoreDown, match="nothing was changed"):
            await one(service)
        service.store.transact = write  # type: ignore[method-assign]
        assert (await one(service)).decision == first.decision + 1  # type: ignore[operator]
        assert (await service.certificate("a")).pending == 2

    run("memory:", do)


def test_what_is_archived_while_it_is_looked_up_is_archived() -> None:
    async def do(service: SelectorService) -> None:
        await service.put("a", plan())
        service._replicas.forget("a")
        read, go_on = service.store.selector, asyncio.Event()

        async def slow(name: str) -> Any:
            found = await read(name)
            await go_on.wait()
            return found

        service.store.selector = slow  # type: ignore[method-assign]
        early = asyncio.create_task(service.ask("a", AskRequest()))
        await asyncio.sleep(0)
        service.store.selector = read  # type: ignore[method-assign]
        await service.archive("a")
        go_on.set()
        await early  # it had come before
        with pytest.raises(Gone, match="archived"):
            await service.ask("a", AskRequest())

    run("memory:", do)


def test_a_plan_that_cannot_be_read_harms_no_other(tmp_path: Path) -> None:
    clock, url = Clock(), str(tmp_path / "a.db")

    async def spoil(service: SelectorService) -> None:
        for name in ("a", "b"):
            await service.put(name, plan(expire_after=60))
            await one(service, name)
        store: Any = service.store
        await store._change("UPDATE selectors SET plan = '{}' WHERE name = 'a'")

    async def look(service: SelectorService) -> None:
        clock.now += 61
        assert await service.sweep() == 1
        assert [standing.name for standing in (await service.list_selectors())[0]] == ["b"]
        assert await service.list_selectors("", 1) == ([], "a")  # and hides none that comes after it
        found, more = await service.list_selectors("a", 1)
        assert ([standing.name for standing in found], more) == (["b"], None)
        for look in (service.overview("a"), service.ask("a", AskRequest()), service.certificate("a")):
            with pytest.raises(StoredPlan, match="as after a downgrade"):
                await look
        assert (await service.certificate("b")).expired == 1

    run(url, spoil, clock)
    run(url, look, clock)


def test_an_ask_that_is_refused_makes_no_group() -> None:
    async def do(service: SelectorService) -> None:
        await service.put("a", plan())
        for place in range(5):
            with pytest.raises(InvalidArgument, match="context"):
                await one(service, group=f"g{place}", contexts=[{"x": 1}])
        assert (await one(service, group="Oslo")).decision == 0
        assert list(await service.store.groups(1)) == ["Oslo"]

    run("memory:", do, groups=3)


def test_a_selector_of_many_groups_is_looked_at_beside_others() -> None:
    async def do(service: SelectorService) -> None:
        await service.put("a", plan())
        for place in range(60):
            await tell(service, (await one(service, group=f"g{place}")).decision, True)
        assert (await service.overview("a")).certificate.outcomes == 60 == (await service.certificate("a")).outcomes

    run("memory:", do)


# --- anything, in any order


class Storm(RuleBasedStateMachine):
    """Asks, tells, doubles, lies, expiries and restarts, beside a few dicts that know what must have come of them."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.loop = asyncio.new_event_loop()
        self.clock = Clock()
        self.outcomes: dict[int, tuple[int, float] | None] = {}
        self.groups: dict[int, str] = {}
        self.safe: set[int] = set()
        self.expired: set[int] = set()
        self.amended = 0
        self.replies: dict[str, list[IssuedDecision]] = {}
        self.open()
        self.do(self.service.put("a", plan(PRICED, 0.7, expire_after=100)))

    def do(self, work: Coroutine[Any, Any, Got]) -> Got:
        return self.loop.run_until_complete(work)

    def open(self) -> None:
        self.service = SelectorService(open_store(f"{self.folder.name}/a.db"), clock=self.clock)
        self.do(self.service.start())

    @rule(count=st.integers(1, 4), group=st.sampled_from([None, "x", "y"]), key=st.sampled_from([None, "p", "q", "r"]))
    def ask(self, count: int, group: str | None, key: str | None) -> None:
        digest = f"{count}{group}"
        try:
            asked = self.do(self.service.ask("a", AskRequest(count=count, group=group), key, digest))
        except Conflict:
            assert key in self.replies
            return
        if key is not None and key in self.replies:
            assert asked == self.replies[key]
            return
        if key is not None:
            self.replies[key] = asked
        for each in asked:
            assert each.decision == len(self.outcomes)
            self.outcomes[each.decision] = None
            self.groups[each.decision] = group or ""
            if each.safe:
                self.safe.add(each.decision)

    @precondition(lambda self: self.outcomes)
    @rule(data=st.data(), success=st.sampled_from([0, 1, 0.5, 1 / 3]), cost=st.sampled_from([0.0, 0.25]))
    def tell(self, data: st.DataObject, success: float, cost: float) -> None:
        ids = data.draw(st.lists(st.sampled_from([*self.outcomes, len(self.outcomes)]), min_size=1, max_size=4))
        told = self.do(self.service.tell("a", [Outcome(one, success, cost) for one in ids]))
        new = (int(success * ONE_SUCCESS + 1e-6), cost)
        for each in told:
            before = self.outcomes.get(each.decision)
            if each.decision not in self.outcomes:
                assert each.status == 404
            elif before is None or each.decision in self.expired:
                assert each.result == ("amended" if each.decision in self.expired else "counted")
                self.amended += each.decision in self.expired and new[0] > 0
                self.expired.discard(each.decision)
                self.outcomes[each.decision] = new
            else:
                assert (each.status == 200) == (before == new)

    @rule(seconds=st.sampled_from([1, 60, 101]))
    def wait(self, seconds: int) -> None:
        self.clock.now += seconds
        asked = {row.id: row.asked_at for row in self.do(self.service.decisions("a", limit=9999))}
        overdue = [one for one, was in self.outcomes.items() if was is None and asked[one] + 100 < self.clock.now]
        assert self.do(self.service.sweep()) == len(overdue)
        for one in overdue:
            self.outcomes[one] = (0, 0.0)
            self.expired.add(one)

    @rule()
    def restart(self) -> None:
        self.do(self.service.stop())
        self.open()

    @invariant()
    def counts_are_those_of_the_log(self) -> None:
        told = [one for one, was in self.outcomes.items() if was is not None]
        parts = {group: self.do(self.service.certificate("a", group)) for group in set(self.groups.values()) if group}
        whole = self.do(self.service.certificate("a"))
        assert whole.outcomes == len(told)
        assert round(whole.successes * ONE_SUCCESS) == sum(was[0] for was in self.outcomes.values() if was is not None)
        assert whole.pending == len(self.outcomes) - len(told)
        assert whole.consistent
        for group, part in parts.items():
            assert part.outcomes == sum(self.groups[one] == group for one in told)
            assert part.consistent
        rows = {row.id: row for row in self.do(self.service.decisions("a", limit=9999))}
        assert list(rows) == [*range(len(self.outcomes))]
        for one, was in self.outcomes.items():
            state = rows[one].state
            assert (state == PENDING) == (was is None)
            assert (state == EXPIRED) == (one in self.expired)
            assert was is None or rows[one].units == was[0]
            assert state in (PENDING, TOLD, EXPIRED, AMENDED)

    def teardown(self) -> None:
        self.do(self.service.stop())
        self.loop.close()
        self.folder.cleanup()


TestStorm = Storm.TestCase
TestStorm.settings = settings(
    max_examples=15, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)


def test_a_plan_is_the_same_in_whatever_form() -> None:
    """The Python client sends a recipe where others write the menu by hand."""

    async def do(service: SelectorService) -> None:
        await service.put("a", plan())
        recipe = {"kind": "recipe", "recipe": plan().menu().recipe()}
        assert (await service.put("a", plan(recipe)))[1] is False
        with pytest.raises(Conflict):
            await service.put("a", plan({**TOP_K, "classes": 101}))
        assert (await service.put("a", plan(), confirm=True))[1] is False
        with pytest.raises(NotAllowed, match="scope manage"):
            await service.put("b", plan(), confirm=True)
        await service.archive("a")
        with pytest.raises(NotAllowed):
            await service.put("a", plan(), confirm=True)

    run("memory:", do)


def test_every_context_is_kept_with_its_decision(store_url: str) -> None:
    async def do(service: SelectorService) -> None:
        await service.put("a", plan(model="auto"))
        for step in range(30):
            asked = await one(service, contexts=[{"x": step, "name": "é\0"}])
            await tell(service, asked.decision, True)
        rows = await service.decisions("a")
        assert [row.context() for row in rows] == [{"x": step, "name": "é\0"} for step in range(30)]
        assert {row.arm for row in rows} > {5}  # the safe option, and others

    run(store_url, do)
