"""Selectors of the service, over HTTP, with the service in this process."""

import tempfile
from pathlib import Path
from typing import Any, Final

from tests.support.calling import Api, serve
from tests.support.service import Clock

from . import making, reading
from .records import Run, Serving
from .script import Event, Script, Wish, moments_of

NAME: Final = "golden"


class ServiceRun:
    """A selector of the service, and what happened to it."""

    def __init__(self, one: Serving) -> None:
        self.one, self.flow, self.clock, self.run = one, one.flow, Clock(1_000.0), Run()
        self.view = making.View(one.menu)
        self.script = Script(one.name, one.flow, one.world, self.view, one.steps)
        self.refused = 0

    async def make(self, api: Api) -> None:
        """Make the selector."""
        await api.put(NAME, making.plan(self.one.menu, self.one.target, self.one.settings))

    async def go(self, api: Api, begin: int, end: int) -> None:
        """Take these steps."""
        moments = moments_of(self.one.steps)
        for step in range(begin, end):
            self.clock.now += self.flow.seconds
            if self.flow.seconds:
                # The service expires overdue decisions by a clock of its own: here, whenever ours has moved.
                await api.service.expire_overdue()
            await self.ask(api, step)
            await self.tell(api, self.script.due(step))
            if step in moments:
                certificate, overview = await api.get("/certificate", NAME), await api.get("", NAME)
                self.run.moments.append(reading.served(certificate, overview["cost"], self.refused))

    async def ask(self, api: Api, step: int) -> None:
        """Ask, and record the decisions."""
        wish = self.script.wish()
        answer = await api.ask(NAME, body_of(wish))
        for place, decision in enumerate(answer["decisions"] if wish.count > 1 else [answer]):
            number, arm = decision["decision"], decision["arm"]
            self.run.arms.append(arm)
            self.run.prices.append(decision["price"])
            if number is not None:
                context = None if wish.contexts is None else wish.contexts[place]
                self.script.take(step, number, arm, self.view.options[arm], context)

    async def tell(self, api: Api, due: list[Event]) -> None:
        """Tell all outcomes that are due in one call."""
        if not due:
            return
        body = [{"decision": one.decision, "success": one.success, "cost": one.cost} for one in due]
        results = (await api.tell(body, NAME))["results"]
        self.refused += sum(result["status"] != 200 for result in results)


def body_of(wish: Wish) -> dict[str, Any]:
    """The body of an ask."""
    body: dict[str, Any] = {"audit": wish.audited}
    if wish.options is not None:
        body["available"] = wish.options
    if wish.insist:
        body["insist"] = True
    if wish.group is not None:
        body["group"] = wish.group
    if wish.count > 1:
        body["count"] = wish.count
    if wish.contexts is not None:
        body |= {"contexts": wish.contexts} if wish.count > 1 else {"context": wish.contexts[0]}
    return body


def run(one: Serving) -> Run:
    """Run a configuration; the service may be stopped and started again halfway."""
    driver = ServiceRun(one)
    middle = one.steps // 2 if one.restarted else one.steps

    async def first(api: Api) -> None:
        await driver.make(api)
        await driver.go(api, 0, middle)

    async def second(api: Api) -> None:
        await driver.go(api, middle, one.steps)

    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{Path(folder) / 'suffice.db'}" if one.on_disk else "memory:"
        for part in (first, second) if one.restarted else (first,):
            serve(part, store, driver.clock)
    return driver.run
