"""Selectors, asked and told step by step."""

import copy
from collections.abc import Callable
from typing import Any

import suffice
from tests.support.service import Clock

from . import making, reading
from .records import Flow, Run, Selecting
from .script import GIVE_UP, Event, Script, Wish, moments_of


class SelectorRun:
    """A selector, its clock, and what happened."""

    def __init__(self, one: Selecting) -> None:
        self.one, self.flow, self.clock, self.run = one, one.flow, Clock(1_000.0), Run()
        self.selector = making.selector(one.kind, one.menu, one.target, one.settings, self.clock)
        self.script = Script(one.name, one.flow, one.world, making.View(one.menu), one.steps)
        self.refused = 0

    def step(self, step: int) -> None:
        """Ask, and tell the outcomes that are due."""
        self.clock.now += self.flow.seconds
        wish = self.script.wish()
        for place, decision in enumerate(ask(self.selector, wish, self.one.kind)):
            self.run.arms.append(decision.arm)
            self.run.prices.append(decision.price)
            if wish.audited:
                context = None if wish.contexts is None else wish.contexts[place]
                self.script.take(step, decision, decision.arm, decision.option, context)
        due = self.script.due(step)
        if self.flow.together:
            self.selector.tell_many([(one.decision, one.success, one.cost) for one in due])
            return
        for event in due:
            self.refused += not report(self.selector, event, self.flow)

    def replace(self) -> None:
        """Halfway: continue with what was saved, or with a copy."""
        one, flow = self.one, self.flow
        if flow.saved:
            self.selector = making.again(one.kind, self.selector, one.menu, one.settings, self.clock)
        if flow.copied:
            self.selector = copy.deepcopy(self.selector)
        if flow.reseeded is not None:
            self.selector.reseed(flow.reseeded)


def ask(selector: Any, wish: Wish, kind: str) -> list[Any]:
    """The decisions that are asked for."""
    more: dict[str, Any] = {}
    if wish.options is not None:
        more["available"] = wish.options
    if wish.insist:
        more["insist"] = True
    if not wish.audited:
        more["audit"] = False
    if wish.group is not None:
        more["group"] = wish.group
    if wish.count == 1:
        if wish.contexts is not None:
            more["context"] = wish.contexts[0]
        return [selector.ask(**more)]
    if wish.contexts is not None:
        more["contexts"] = wish.contexts
    decisions: list[Any] = selector.ask_many(wish.count, **more)
    return decisions


def report(selector: Any, event: Event, flow: Flow) -> bool:
    """Tell or expire; False if the selector refused."""
    decision = event.decision.id if flow.by_number else event.decision
    act: Callable[..., None] = selector.expire if event.what == GIVE_UP else selector.tell
    told = () if event.what == GIVE_UP else (event.success, event.cost)
    try:
        act(decision, *told)
    except suffice.AlreadyTold:
        return False
    return True


def run(one: Selecting) -> Run:
    """Run a configuration."""
    driver, moments = SelectorRun(one), moments_of(one.steps)
    for step in range(one.steps):
        if step == one.steps // 2:
            driver.replace()
        driver.step(step)
        if step in moments:
            driver.run.moments.append(reading.moment(driver.selector, driver.refused))
    return driver.run
