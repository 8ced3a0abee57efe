"""What was learned survives restarts, is shared by processes and can be copied; and random sequences of calls and restarts."""

import asyncio
import random
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from suffice.numbers import ONE_SUCCESS
from suffice.service.errors import Conflict
from suffice.service.records import EXPIRED, PENDING, AskRequest, IssuedDecision, Outcome
from suffice.service.selectors import SelectorService
from suffice.service.stores import open_store
from suffice.service.stores.copying import copy
from tests.support.postgres import Postgres
from tests.support.service import TOLD_COSTS, Clock, ask, plan, run, tell

Got = TypeVar("Got")


def test_what_was_learned_survives_a_restart(tmp_path: Path, postgres: Postgres) -> None:
    """From the snapshot, or without one from the log."""
    for url in (str(tmp_path / "a.db"), postgres.database()):

        async def learn(service: SelectorService, clock: Clock) -> Any:
            await service.put("a", plan(model="auto", expire_after=50))
            rng = random.Random(1)
            for step in range(150):
                issued = await ask(service, group="Oslo" if step % 2 else None, contexts=[{"x": rng.random()}])
                if step % 10:
                    await tell(service, issued.decision, issued.safe or rng.random() < 0.5)
            clock.now += 100
            await service.expire_overdue()
            await tell(service, 0, 1)  # late
            return await learned(service, clock)

        async def learned(service: SelectorService, clock: Clock) -> Any:
            report = await service.context_report("a")
            options, history = await service.options("a"), await service.history("a", 9)
            return options, report.followed, history, str(await service.certificate("a"))

        async def delete_snapshots(service: SelectorService, clock: Clock) -> None:
            store: Any = service.store
            await store._change("DELETE FROM snapshots")

        before = run(url, learn)
        assert run(url, learned) == before
        run(url, delete_snapshots)
        options, _, history, certificate = run(url, learned)
        assert [(option.plays, option.success, option.cost) for option in options] == [
            (option.plays, option.success, option.cost) for option in before[0]
        ]
        assert (history, certificate) == before[2:]


def test_a_snapshot_that_cannot_be_read_is_replaced_from_the_log(tmp_path: Path) -> None:
    url = str(tmp_path / "a.db")

    async def spoil(service: SelectorService, clock: Clock) -> None:
        await service.put("a", plan())
        for _ in range(5):
            await tell(service, (await ask(service)).decision, True)
        await service.store.save(1, 10**6, '{"nonsense": true}')

    async def check(service: SelectorService, clock: Clock) -> None:
        assert sum(option.plays for option in await service.options("a")) == 5
        assert (await service.certificate("a")).outcomes == 5
        assert (await ask(service)).decision == 5

    run(url, spoil)
    run(url, check)


async def started(url: str, count: int) -> list[SelectorService]:
    services = [SelectorService(open_store(url), clock=Clock()) for _ in range(count)]
    await asyncio.gather(*(service.start() for service in services))
    return services


def test_a_copied_file_has_what_several_processes_learned(postgres: Postgres, tmp_path: Path) -> None:
    """The copy of a database has several shards, in a store that is for one process."""
    url, file = postgres.database(), str(tmp_path / "a.db")

    async def learn() -> None:
        services = await started(url, 2)
        await services[0].put("a", plan())
        for step in range(20):
            await tell(services[step % 2], (await ask(services[step // 2 % 2])).decision, True)
        await services[0].store._change("DELETE FROM snapshots")  # type: ignore[attr-defined]
        for service in services:
            service._replicas._replicas.clear()  # so that none is saved
            await service.stop()

    async def check(service: SelectorService, clock: Clock) -> None:
        assert sum(option.plays for option in await service.options("a")) == 20
        assert (await service.certificate("a")).outcomes == 20
        await tell(service, (await ask(service)).decision, True)
        assert sum(option.plays for option in await service.options("a")) == 21
        assert (await service.certificate("a")).outcomes == 21

    asyncio.run(learn())
    asyncio.run(copy(url, file))
    run(file, check)


# --- any calls, in any order


class RandomCalls(RuleBasedStateMachine):
    """Asks, tells, repetitions, contradictions, expiries and restarts, compared with a model made of a few dicts."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.loop = asyncio.new_event_loop()
        self.clock = Clock()
        self.outcomes: dict[int, tuple[int, float] | None] = {}
        self.groups: dict[int, str] = {}
        self.expired: set[int] = set()
        self.safe: set[int] = set()
        self.replies: dict[str, list[IssuedDecision]] = {}
        self.open()
        self.do(self.service.put("a", plan(TOLD_COSTS, 0.7, expire_after=100)))

    def do(self, work: Coroutine[Any, Any, Got]) -> Got:
        return self.loop.run_until_complete(work)

    def open(self) -> None:
        self.service = SelectorService(open_store(f"{self.folder.name}/a.db"), clock=self.clock)
        self.do(self.service.start())

    @rule(count=st.integers(1, 4), group=st.sampled_from([None, "x", "y"]), key=st.sampled_from([None, "p", "q", "r"]))
    def ask(self, count: int, group: str | None, key: str | None) -> None:
        try:
            issued = self.do(self.service.ask("a", AskRequest(count=count, group=group), key, f"{count}{group}"))
        except Conflict:
            assert key in self.replies
            return
        if key is not None and key in self.replies:
            assert issued == self.replies[key]
            return
        if key is not None:
            self.replies[key] = issued
        for each in issued:
            assert each.decision == len(self.outcomes)
            self.outcomes[each.decision] = None
            self.groups[each.decision] = group or ""
            self.safe.update([each.decision] if each.safe else [])

    @precondition(lambda self: self.outcomes)
    @rule(data=st.data(), success=st.sampled_from([0, 1, 0.5, 1 / 3]), cost=st.sampled_from([0.0, 0.25]))
    def tell(self, data: st.DataObject, success: float, cost: float) -> None:
        ids = data.draw(st.lists(st.sampled_from([*self.outcomes, len(self.outcomes)]), min_size=1, max_size=4))
        outcome = (int(success * ONE_SUCCESS + 1e-6), cost)
        for result in self.do(self.service.tell("a", [Outcome(identity, success, cost) for identity in ids])):
            decision = result.decision
            before = self.outcomes.get(decision)
            if decision not in self.outcomes:
                assert result.status == 404
            elif before is None or decision in self.expired:
                assert result.result == ("amended" if decision in self.expired else "counted")
                self.expired.discard(decision)
                self.outcomes[decision] = outcome
            else:
                assert (result.status == 200) == (before == outcome)

    @rule(seconds=st.sampled_from([1, 60, 101]))
    def wait(self, seconds: int) -> None:
        self.clock.now += seconds
        asked_at = {row.id: row.asked_at for row in self.do(self.service.decisions("a", limit=9999))}
        pending = [decision for decision, outcome in self.outcomes.items() if outcome is None]
        overdue = [decision for decision in pending if asked_at[decision] + 100 < self.clock.now]
        assert self.do(self.service.expire_overdue()) == len(overdue)
        for decision in overdue:
            self.outcomes[decision] = (0, 0.0)
            self.expired.add(decision)

    @rule()
    def restart(self) -> None:
        self.do(self.service.stop())
        self.open()

    @invariant()
    def counts_are_those_of_the_model(self) -> None:
        told = {decision: outcome for decision, outcome in self.outcomes.items() if outcome is not None}
        lost = self.expired & self.safe  # these have no outcome until it is told
        whole = self.do(self.service.certificate("a"))
        assert whole.outcomes == len(told.keys() - lost)
        assert whole.safe_lost == len(lost)
        assert whole.asked == len(self.outcomes)
        assert round(whole.successes * ONE_SUCCESS) == sum(units for units, _ in told.values())
        assert whole.pending == len(self.outcomes) - len(told)
        assert whole.consistent
        for group in set(self.groups.values()) - {""}:
            part = self.do(self.service.certificate("a", group))
            assert part.outcomes == sum(self.groups[decision] == group for decision in told.keys() - lost)
            assert part.consistent
        rows = {row.id: row for row in self.do(self.service.decisions("a", limit=9999))}
        assert list(rows) == [*range(len(self.outcomes))]
        for decision, row in rows.items():
            assert (row.state == PENDING) == (decision not in told)
            assert (row.state == EXPIRED) == (decision in self.expired)
            assert row.units == told.get(decision, (None,))[0]

    def teardown(self) -> None:
        self.do(self.service.stop())
        self.loop.close()
        self.folder.cleanup()


TestRandomCalls = RandomCalls.TestCase
TestRandomCalls.settings = settings(
    max_examples=15, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
