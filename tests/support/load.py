"""A storm of clients over HTTP that notes every request and every answer in a journal.

Asks come alone, in lists and with keys, repeated through other servers. Outcomes come at once, late, in any order, twice,
twice and different, at the same time through two servers, or never. `Journal.check` compares all that was acknowledged with
the contents of the store.
"""

import asyncio
import heapq
import random
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg

from suffice.service.http.decision_ids import to_id, to_number
from tests.support.journal import PLANS, SHAPES, Item, Journal, Place
from tests.support.recount import WHOLE, Verdict, check, read
from tests.support.servers import PATIENCE, Answer, NoAnswer, Server, Wire

NEVER, DIFFERENT, RACED, TWICE = 0.02, 0.03, 0.035, 0.085  # up to these shares of all decisions
LATE = 0.15
GROUPS = (None, "Oslo", "Lima")
WORKS = {"a person": 1.0, "skip": 0.0, "s": 0.55, "m": 0.75, "l": 0.93}


class Storm:
    """Many clients. The journal and the pending outcomes remain while servers are killed and started again."""

    def __init__(self, ports: list[int], seed: int, *, clients: int, largest: int = 12) -> None:
        self.ports, self.clients, self.largest = ports, clients, largest
        self.seed, self.rng = seed, random.Random(seed)
        self.journal = Journal()
        self.pool: list[Item] = []
        self.late: list[tuple[float, int, Item]] = []  # a heap
        self.never: set[Place] = set()
        self.wanted = 0
        self.only_ask = False  # for a while
        self.stop = asyncio.Event()
        self._keys = 0

    async def prepare(self) -> None:
        """Make the selectors, through all servers at once."""
        await asyncio.gather(*(self._put(Wire(port)) for port in self.ports))

    async def _put(self, wire: Wire) -> None:
        for name, plan in PLANS.items():
            answer = await wire.call("PUT", f"/v1/selectors/{name}", plan)
            assert answer.status in (200, 201), answer
        wire.close()

    async def run(self, decisions: int | None = None) -> None:
        """Run until so many decisions were issued and their outcomes told, or until `stop` is set."""
        self.wanted = 10**12 if decisions is None else len(self.journal.issued) + decisions
        self.stop.clear()
        async with asyncio.TaskGroup() as group:
            for _ in range(self.clients):
                group.create_task(Client(self).work())

    def over(self) -> bool:
        """Whether clients should stop."""
        if self.stop.is_set() or self.journal.wrong:
            return True
        return len(self.journal.issued) >= self.wanted and not self.pool and not self.late

    def new_key(self) -> str:
        self._keys += 1
        return f"{self.seed}-{self._keys}"


def broken(certificate: dict[str, Any]) -> str | None:
    """What is wrong with a certificate, where the safe option always succeeds and some outcomes are never told."""
    owed, limit = certificate["owed_at_most"], certificate["debt_at_most"]
    if certificate["debt"] > limit or certificate["violations"] or not certificate["consistent"]:
        return "the debt is above the limit"
    if certificate["assumption_violated"] or certificate["insisted"] or certificate["uncovered"]:
        return "the safe option never fails"
    parts = certificate.get("groups")
    if parts:
        return next((fault for fault in map(broken, parts.values()) if fault), None)
    status = "unproven" if owed > limit else "within" if owed > 0 else "kept"
    return None if certificate["status"] == status else f"the status is not {status}"


class Client:
    """A client that asks, tells and reads through servers chosen at random."""

    def __init__(self, storm: Storm) -> None:
        self.storm, self.rng, self.journal = storm, storm.rng, storm.journal
        self.wires = [Wire(port) for port in storm.ports]
        self.second = [Wire(port) for port in storm.ports]

    async def work(self) -> None:
        """Run until the storm is over."""
        try:
            while not self.storm.over():
                await self._step()
        finally:
            for wire in (*self.wires, *self.second):
                wire.close()

    async def _step(self) -> None:
        storm, now = self.storm, asyncio.get_running_loop().time()
        while storm.late and storm.late[0][0] <= now:
            storm.pool.append(heapq.heappop(storm.late)[2])
        asking = len(storm.journal.issued) < storm.wanted
        if storm.only_ask:
            await self._ask()
        elif asking and self.rng.random() < 0.03:
            await self._look()
        elif asking and (len(storm.pool) < 8 * storm.clients or self.rng.random() < 0.2):
            await self._ask()
        elif storm.pool:
            await self._tell()
        else:
            await asyncio.sleep(0.02)

    async def _call(
        self, what: str, path: str, body: Any, key: str | None = None, second: bool = False
    ) -> Answer | None:
        """An answer; None if there was none, or only 503."""
        wires = self.second if second else self.wires
        method = "GET" if what == "look" else "POST"
        try:
            answer = await self.rng.choice(wires).call(method, path, body, key)
        except NoAnswer:
            self.journal.statuses[what, 0] += 1
            await asyncio.sleep(0.02 + 0.05 * self.rng.random())
            return None
        self.journal.statuses[what, answer.status] += 1
        if answer.status == 503:
            await asyncio.sleep(0.02 + 0.05 * self.rng.random())
            return None
        if answer.status >= 500:
            self.journal.wrong.append(f"{method} {path} was answered with {answer}")
        return answer

    async def _look(self) -> None:
        name = self.rng.choice(list(PLANS))
        paths = ["", "/certificate", "/options", "/history?bins=20", "/decisions?limit=5"]
        path = self.rng.choice([*(f"/v1/selectors/{name}{path}" for path in paths), "/v1/selectors", "/metrics"])
        answer = await self._call("look", path, None)
        if answer is not None and answer.status != 200:
            self.journal.wrong.append(f"GET {path} was answered with {answer}")
        elif answer is not None and path.endswith("/certificate") and (fault := broken(answer.body)):
            self.journal.wrong.append(f"{name}: {fault}: {answer.body['text']}")

    # --- ask

    async def _ask(self) -> None:
        name, rng = self.rng.choice(list(PLANS)), self.rng
        body: dict[str, Any] = {}
        if rng.random() < 0.6:
            body["count"] = rng.randint(1, self.storm.largest)
        size = body.get("count", 1)
        if name == "grouped" and (group := rng.choice(GROUPS)):
            body["group"] = group
        if name == "seeing" and rng.random() < 0.9:
            contexts = [{"x": rng.random(), "kind": rng.choice("abc")} for _ in range(size)]
            body |= {"contexts": contexts} if "count" in body else {"context": contexts[0]}
        if rng.random() < 0.03:
            await self._ask_unaudited(name, {**body, "audit": False}, size)
            return
        key = self.storm.new_key() if rng.random() < 0.5 else None
        path = f"/v1/selectors/{name}/ask"
        if key is not None and rng.random() < 0.2:  # twice at the same time, perhaps through two servers
            answers = await asyncio.gather(self._call("ask", path, body, key), self._call("ask", path, body, key, True))
            for one in answers:
                self._note_issued(name, key, body, size, one, last=False)
        while not self._note_issued(name, key, body, size, await self._call("ask", path, body, key), last=key is None):
            if key is None or self.storm.stop.is_set():
                self.journal.unanswered[name] += size * (key is not None)
                return
        if key is not None and rng.random() < 0.3:
            again = await self._call("ask", path, body, key)
            self._note_issued(name, key, body, size, again, last=False)
            other = await self._call("ask", path, {**body, "count": size + 1, "contexts": None, "context": None}, key)
            if other is not None and other.status != 409:
                self.journal.wrong.append(f"{name}: key {key} with another body was answered with {other}")

    async def _ask_unaudited(self, name: str, body: dict[str, Any], size: int) -> None:
        answer = await self._call("unaudited", f"/v1/selectors/{name}/ask", body)
        counted = self.journal.perhaps_unaudited if answer is None else self.journal.unaudited
        counted[name] += size

    def _note_issued(
        self, name: str, key: str | None, body: dict[str, Any], size: int, answer: Answer | None, *, last: bool
    ) -> bool:
        """Note the decisions issued and plan their outcomes; returns whether there was an answer."""
        if answer is None:
            self.journal.unanswered[name] += size * last
            return False
        if answer.status != 200:
            self.journal.wrong.append(f"{name}: the ask {body} was answered with {answer}")
            return True
        decisions = answer.body["decisions"] if "count" in body else [answer.body]
        if len(decisions) != size:
            self.journal.wrong.append(f"{name}: {size} were asked for, {len(decisions)} came")
        if self.journal.ask(name, key, body.get("group", ""), decisions):
            for one in decisions:
                self._plan(name, one)
        return True

    def _plan(self, name: str, one: dict[str, Any]) -> None:
        rng, storm = self.rng, self.storm
        works = rng.random() < WORKS[one["option"]]
        units = WHOLE * works
        if name == "dutiful" and not one["safe"] and works:
            units = rng.choice([WHOLE, WHOLE, WHOLE * 3 // 4])
        cost = round(rng.random(), 3) if name == "hasty" and not (one["safe"] or one["skip"]) else None
        fate, chance = "once", rng.random()
        if chance < NEVER and not one["skip"]:
            storm.never.add((name, to_number(one["decision"])))
            return
        if chance < TWICE:
            fate = "different" if chance < DIFFERENT else "raced" if chance < RACED else "twice"
        if one["skip"]:
            fate = "twice"  # its failure is known; to tell it changes nothing, and a success must not be counted
        elif fate == "raced" and one["safe"]:
            fate = "different"  # a failed safe option must not be counted
        item = Item(name, to_number(one["decision"]), (units, cost), fate)
        if rng.random() < LATE:
            at = asyncio.get_running_loop().time() + 1.5 * rng.random()
            heapq.heappush(storm.late, (at, rng.getrandbits(60), item))
        else:
            storm.pool.append(item)

    # --- tell

    async def _tell(self) -> None:
        rng, pool = self.rng, self.storm.pool
        first = self._take(rng.randrange(len(pool)))
        if first.fate == "raced":
            await self._race(first)
            return
        items = [first]
        if rng.random() < 0.6:
            places = [place for place, item in enumerate(pool) if item.name == first.name and item.fate != "raced"]
            some = rng.sample(places, min(len(places), rng.randint(0, self.storm.largest)))
            items += [self._take(place) for place in sorted(some, reverse=True)]
            await self._tell_list(first.name, items)
        elif not await self._tell_one(first):
            pool.append(first)

    def _take(self, place: int) -> Item:
        pool = self.storm.pool
        pool[place], pool[-1] = pool[-1], pool[place]
        return pool.pop()

    async def _tell_one(self, item: Item, second: bool = False) -> bool:
        """Tell an outcome; returns whether there was an answer."""
        self.journal.sent.setdefault(item.place, set()).add(item.outcome)
        answer = await self._call("tell", f"/v1/selectors/{item.name}/tell", item.body(), None, second)
        if answer is None:
            self.journal.doubtful.add(item.place)
            return False
        self._note_result(item, answer.status, answer.body.get("result"))
        return True

    async def _tell_list(self, name: str, items: list[Item]) -> None:
        for item in items:
            self.journal.sent.setdefault(item.place, set()).add(item.outcome)
        body = [item.body() for item in items]
        unknown = self.rng.random() < 0.1
        if unknown:
            body.append({"decision": to_id(10**12), "success": True})
        answer = await self._call("tell", f"/v1/selectors/{name}/tell", body)
        if answer is None:
            self.journal.doubtful.update(item.place for item in items)
            self.storm.pool += items
            return
        results = answer.body.get("results", [])
        if [one["decision"] for one in results] != [one["decision"] for one in body]:
            self.journal.wrong.append(f"{name}: results {results} of {body}")
            return
        for item, one in zip(items, results, strict=False):
            self._note_result(item, one["status"], one.get("result"))
        if unknown and results[-1]["status"] != 404:
            self.journal.wrong.append(f"{name}: an unknown decision was answered with {results[-1]}")

    def _note_result(self, item: Item, status: int, result: str | None) -> None:
        self.journal.tell(item, status, result)
        if item.fate == "different" and item.acknowledged:  # the second of two different outcomes
            if status != 409:
                self.journal.wrong.append(f"{item.place}: another outcome was answered with {status}")
        elif item.fate == "twice" and item.acknowledged:
            if (status, result) != (200, "unchanged"):
                self.journal.wrong.append(f"{item.place}: the same again was answered with {status} {result}")
        elif item.fate in ("twice", "different") and status == 200:
            again = Item(item.name, item.decision, item.outcome, item.fate, acknowledged=True)
            if item.fate == "different":
                again.outcome = (WHOLE - item.outcome[0], item.outcome[1])
            self.storm.pool.append(again)

    async def _race(self, item: Item) -> None:
        """Tell two different outcomes at the same time: exactly one of them counts."""
        other = Item(item.name, item.decision, (WHOLE - item.outcome[0], item.outcome[1]), "raced")
        waiting = [item, other]
        while waiting and not self.storm.stop.is_set():
            answered = await asyncio.gather(*(self._tell_one(one, one is other) for one in waiting))
            waiting = [each for each, done in zip(waiting, answered, strict=True) if not done]
        if not waiting and item.place not in self.journal.acknowledged:
            self.journal.wrong.append(f"{item.place}: of two outcomes at once none was accepted")


# --- around a storm


async def fetch(url: str, query: str, *values: object) -> list[asyncpg.Record]:
    """Run a query in a session of its own."""
    connection = await asyncpg.connect(url)
    try:
        found: list[asyncpg.Record] = await connection.fetch(query, *values)
        return found
    finally:
        await connection.close()


async def verify(url: str, storm: Storm, some: list[Server]) -> list[Verdict]:
    """Check the counts, the promise, all that was acknowledged, and that no server logged an error."""
    found = await read(url)
    verdicts = check(found, SHAPES)
    storm.journal.check(found)
    for server in some:
        assert not server.failures(), server.said()
    return verdicts


async def until(what: Callable[[], Awaitable[bool]], why: str) -> None:
    """Wait until a condition holds."""
    end = asyncio.get_running_loop().time() + PATIENCE
    while not await what():
        assert asyncio.get_running_loop().time() < end, why
        await asyncio.sleep(0.05)
