"""Selectors of the service, over HTTP, with the service in this process."""

import tempfile
from pathlib import Path
from typing import Any, Final

from tests.support.calling import Api, serve

from . import making, reading
from .drive_selectors import Clock
from .records import Run, Serving
from .script import Event, Script, Wish, moments_of

NAME: Final = "golden"


class Correspondence:
    """A selector of the service, and what happened."""

    def __init__(self, one: Serving) -> None:
        self.one, self.flow, self.clock, self.run = one, one.flow, Clock(), Run()
        self.view = making.View(one.menu)
        self.script = Script(one.name, one.flow, one.world, self.view, one.steps)
        self.in_vain = 0

    async def make(self, api: Api) -> None:
        """Make the selector."""
        await api.put(NAME, making.plan(self.one.menu, self.one.target, self.one.settings))

    async def go(self, api: Api, begin: int, end: int) -> None:
        """So many steps."""
        moments = moments_of(self.one.steps)
        for step in range(begin, end):
            self.clock.now += self.flow.seconds
            if self.flow.seconds:
                # The service looks for what is overdue now and then, by a clock of its own: here, whenever ours has moved.
                await api.service.sweep()
            await self.ask(api, step)
            await self.tell(api, self.script.due(step))
            if step in moments:
                certificate, standing = await api.get("/certificate", NAME), await api.get("", NAME)
                self.run.moments.append(reading.served(certificate, standing, self.in_vain))

    async def ask(self, api: Api, step: int) -> None:
        """Ask, and note what is decided."""
        wanted = self.script.wish()
        answer = await api.ask(NAME, body_of(wanted))
        for place, decision in enumerate(answer["decisions"] if wanted.count > 1 else [answer]):
            number, arm, price = reading.answered(decision)
            self.run.arms.append(arm)
            self.run.prices.append(price)
            if number is not None:
                context = None if wanted.contexts is None else wanted.contexts[place]
                self.script.take(step, number, arm, self.view.options[arm], context)

    async def tell(self, api: Api, due: list[Event]) -> None:
        """Tell what came back, all of it at once."""
        if not due:
            return
        body = [{"decision": one.decision, "success": one.success, "cost": one.cost} for one in due]
        results = (await api.tell(body, NAME))["results"]
        self.in_vain += sum(result["status"] != 200 for result in results)


def body_of(wanted: Wish) -> dict[str, Any]:
    """What is asked for, in JSON."""
    body: dict[str, Any] = {"audit": wanted.audited}
    if wanted.options is not None:
        body["available"] = wanted.options
    if wanted.group is not None:
        body["group"] = wanted.group
    if wanted.count > 1:
        body["count"] = wanted.count
    if wanted.contexts is not None:
        body |= {"contexts": wanted.contexts} if wanted.count > 1 else {"context": wanted.contexts[0]}
    return body


def run(one: Serving) -> Run:
    """What happens; in two lives of the service where it is started again."""
    letters = Correspondence(one)
    middle = one.steps // 2 if one.restarted else one.steps

    async def first(api: Api) -> None:
        await letters.make(api)
        await letters.go(api, 0, middle)

    async def second(api: Api) -> None:
        await letters.go(api, middle, one.steps)

    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{Path(folder) / 'suffice.db'}" if one.on_disk else "memory:"
        for life in (first, second) if one.restarted else (first,):
            serve(life, store, letters.clock)
    return letters.run
