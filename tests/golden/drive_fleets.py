"""Fleets: in each step some are asked, and some outcomes are told."""

import random
import zlib

import suffice

from . import making, reading
from .records import Fleeting, Run
from .script import Judge, moments_of


class FleetRun:
    """A fleet, its outstanding decisions, and what happened."""

    def __init__(self, one: Fleeting) -> None:
        self.one, self.run = one, Run()
        seed = zlib.crc32(one.name.encode())
        self.random = random.Random(seed)
        self.view = making.View(one.menu)
        self.fleet = suffice.Fleet(making.menu(one.menu), one.target, one.size, **making.arguments(one.settings))
        self.judges = [Judge(one.world, self.view, one.steps, seed + number) for number in range(one.size)]
        self.out: dict[int, int] = {}
        self.cost = 0.0

    def some(self, indices: list[int], share: float) -> list[int]:
        """A random part of these, in random order."""
        chosen = [index for index in indices if self.random.random() < share]
        self.random.shuffle(chosen)
        return chosen

    def ask(self) -> None:
        """Ask for some of those without an outstanding decision."""
        listed = self.some([one for one in range(self.one.size) if one not in self.out], self.one.asked)
        prices: list[float] = self.fleet.prices.tolist()
        for one, arm in zip(listed, self.fleet.ask(listed).tolist(), strict=True):
            self.out[one] = arm
            self.run.arms.append(arm)
            self.run.prices.append(prices[one])

    def tell(self, step: int) -> None:
        """Tell some outstanding outcomes, and expire others."""
        listed = self.some(list(self.out), self.one.told)
        lost = self.some(listed, self.one.given_up) if self.one.given_up else []
        told = [one for one in listed if one not in lost]
        outcomes = [self.judges[one].judge(step, self.out[one], self._option(one), None) for one in told]
        successes = [success for success, _ in outcomes]
        costs = [self._cost(one, cost) for one, (_, cost) in zip(told, outcomes, strict=True)]
        self.fleet.tell(told, successes, costs)
        if lost:
            self.fleet.expire(lost)
        self.cost += sum(costs)
        for one in listed:
            del self.out[one]

    def _option(self, one: int) -> object:
        return self.view.options[self.out[one]]

    def _cost(self, one: int, cost: float | None) -> float:
        known = self.view.costs[self.out[one]]
        return cost if cost is not None else known or 0.0

    def certify(self) -> None:
        """Record a moment."""
        ones = sorted({0, self.one.size // 2, self.one.size - 1})
        self.run.moments.append(reading.fleet_moment(self.fleet, ones, self.cost))


def run(one: Fleeting) -> Run:
    """Run a configuration."""
    driver, moments = FleetRun(one), moments_of(one.steps)
    for step in range(one.steps):
        if one.saved and step == one.steps // 2:
            driver.fleet = reading.fleet_again(driver.fleet)
        driver.ask()
        driver.tell(step)
        if step in moments:
            driver.certify()
    return driver.run
