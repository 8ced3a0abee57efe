"""Memory transcribed from its definition: a list of all outcomes, from which every sum is worked out anew.

Shares no code with suffice but menus and the numbers of levels, and is not meant to be fast.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice import Menu
from suffice.learning.memory import Reset, levels_of

Floats = NDArray[np.float64]


def divergence(mean: float, p: float) -> float:
    """Of coins, in nats; infinite where p makes the mean impossible."""
    total = 0.0
    for share, chance in ((mean, p), (1.0 - mean, 1.0 - p)):
        if share > 0.0:
            total += share * math.log(share / chance) if chance > 0.0 else math.inf
    return total


def against(plays: float, first: float, others: float, second: float, p: float) -> float:
    """What speaks against p: a first mean above it, and a second one below it."""
    high = plays * divergence(first, p) if first > p else 0.0
    return high + (others * divergence(second, p) if second < p else 0.0)


def least(plays: float, first: float, others: float, second: float) -> float:
    """The least over all p, by golden section: it falls up to some p between the means, and rises from there on."""
    low, high, share = 0.0, 1.0, (math.sqrt(5.0) - 1.0) / 2.0
    left, right = high - share * (high - low), low + share * (high - low)
    at_left, at_right = (against(plays, first, others, second, p) for p in (left, right))
    for _ in range(90):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - share * (high - low)
            at_left = against(plays, first, others, second, left)
        else:
            low, left, at_left = left, right, at_right
            right = low + share * (high - low)
            at_right = against(plays, first, others, second, right)
    return min(at_left, at_right)


class Outcome(NamedTuple):
    arm: int
    success: float
    cost: float | None


class Naive:
    """All outcomes of interior arms that count, in order; tallies are worked out from the list whenever asked for."""

    def __init__(self, menu: Menu) -> None:
        self.menu = menu
        self.kept: list[Outcome] = []
        self.ends = np.zeros(menu.n_arms)  # plays of boundary arms, which are never forgotten
        self.count = 0
        self.nested = np.array([[menu.nested(a, b) for b in range(menu.n_arms)] for a in range(menu.n_arms)])

    def tally(self, outcomes: list[Outcome]) -> Floats:
        """Plays and successes per arm."""
        sums = np.zeros((self.menu.n_arms, 2))
        for outcome in outcomes:
            sums[outcome.arm] += 1.0, outcome.success
        return sums

    def columns(self) -> Floats:
        sums = self.tally(self.kept)
        sums[:, 0] += self.ends
        return sums

    def tell(self, outcome: Outcome) -> None:
        if self.menu.is_boundary(outcome.arm):
            self.ends[outcome.arm] += 1
            return
        self.kept.append(outcome)
        self.count += 1
        self.forget()

    def forget(self) -> None: ...


class NaiveReset(Naive):
    """Moments as places in the list; every pool by `Menu.nested`; the minimum over p by golden section."""

    def __init__(self, menu: Menu) -> None:
        super().__init__(menu)
        self.levels, self.nearest = levels_of(Reset(), menu.n_arms)
        self.moments: list[list[int]] = [[] for _ in range(self.levels)]
        self.resets, self.outcomes = 0, 0

    def tell(self, outcome: Outcome) -> None:
        self.outcomes += 1
        super().tell(outcome)

    def forget(self) -> None:
        for level in range(self.levels):
            if self.count % (self.nearest * 2**level):
                return
            for moment in self.moments[level]:
                if self.contradicted(moment):
                    self.kept = []
                    self.count, self.resets = 0, self.resets + 1
                    self.moments = [[] for _ in range(self.levels)]
                    return
            self.moments[level] = [*self.moments[level][-1:], len(self.kept)]

    def contradicted(self, moment: int) -> bool:
        end = 2 ** math.floor(math.log2(self.outcomes) + 1)  # of the epoch that holds this outcome
        moments = 2 + 2 * end / self.nearest
        level = math.log(4 * self.menu.n_arms * moments * math.sqrt(end))
        before, since = self.tally(self.kept[:moment]), self.tally(self.kept[moment:])
        for arm in range(self.menu.n_arms)[self.menu.interior]:
            inside, around = self.nested[:, arm].copy(), self.nested[arm].copy()
            for who in (inside, around):
                who[: self.menu.interior.start] = who[-1] = False
            own = np.arange(self.menu.n_arms) == arm
            pairs = [
                (before[own], since[own]), (since[own], before[own]),
                (before[inside], since[around]), (since[inside], before[around]),
            ]  # fmt: skip
            for high, low in pairs:
                (plays, wins), (others, other_wins) = high.sum(axis=0), low.sum(axis=0)
                if plays and others and wins / plays > other_wins / others:
                    found = least(plays, wins / plays, others, other_wins / others)
                    if found > level + math.log((plays + 1) * (others + 1)):
                        return True
        return False


class NaiveWindow(Naive):
    span = 200

    def forget(self) -> None:
        part = max(1, self.span // 16)
        if self.count % part == 0 and self.count > self.span:
            self.kept = self.kept[-self.span :]

    def amend(self, arm: int, success: float) -> None:
        for place in range(len(self.kept) - 1, -1, -1):
            if self.kept[place].arm == arm and self.kept[place].success == 0.0:
                self.kept[place] = self.kept[place]._replace(success=success)
                return


class NaiveDiscount(Naive):
    span = 200

    def columns(self) -> Floats:
        part = self.span // 16
        sums = np.zeros((self.menu.n_arms, 2))
        for place, outcome in enumerate(self.kept, 1):
            fades = self.count // part - (place - 1) // part
            sums[outcome.arm] += np.array([1.0, outcome.success]) * 0.5 ** (fades * part / self.span)
        sums[:, 0] += self.ends
        return sums


NAIVE: dict[str, type[Naive]] = {
    "full": Naive,
    "reset": NaiveReset,
    "window 200": NaiveWindow,
    "discount 200": NaiveDiscount,
}


# --- a world that does not change, watched

ANY, CHASE, FREEZE = range(3)  # how arms are chosen in `watch`


def watch(nested: Any, latents: Any, coins: Any, success: Any, way: int, nearest: int) -> Any:
    """The most that ever spoke against an unchanging world, over what is needed to say so, as of each outcome.

    Against all moments at all later moments, which is more often than the selector looks. `nested[a, b]`: b contains a;
    `success[latent, arm]`. The arms are chosen at random, or by whoever wants a reset: the arm whose mean since the last
    moment is furthest, in standard errors, from what it was before; or the one where it is nearest, so that luck is kept.
    """
    arms, steps = nested.shape[0], len(latents)
    past = np.zeros((steps // nearest + 1, 2, arms))  # plays and successes at each moment
    now = np.zeros((2, arms))
    worst, reached = np.zeros(steps), 0.0
    tests = np.zeros((4, 4))  # plays and successes of who did well, plays and successes of who did badly
    for step in range(steps):
        arm, last = int(coins[step] * arms), step // nearest
        if way > 0 and step % 3 > 0 and last > 0:
            furthest = -math.inf
            for a in range(arms):
                z = now[0, a] - past[last, 0, a]
                if past[last, 0, a] > 0.0:
                    since = (now[1, a] - past[last, 1, a]) / z if z > 0.0 else 2.0
                    gap = abs(past[last, 1, a] / past[last, 0, a] - since) * math.sqrt(z + 1.0)
                    if (gap if way == 1 else -gap) > furthest:
                        furthest, arm = gap if way == 1 else -gap, a
        now[0, arm] += 1.0
        now[1, arm] += success[latents[step], arm]
        if (step + 1) % nearest == 0:
            end = 2.0 ** math.floor(math.log2(step + 1.0) + 1.0)
            level = math.log(4.0 * (arms + 2) * (2.0 + 2.0 * end / nearest) * math.sqrt(end))
            for moment in range(1, last + 1):
                for a in range(arms):
                    tests[:] = 0.0
                    for part in range(2):
                        for other in range(arms):
                            before, since = past[moment, part, other], now[part, other] - past[moment, part, other]
                            inside, around = nested[other, a], nested[a, other]
                            own = 1.0 if other == a else 0.0
                            tests[0, part] += own * before
                            tests[0, 2 + part] += own * since
                            tests[1, part] += own * since
                            tests[1, 2 + part] += own * before
                            tests[2, part] += inside * before
                            tests[2, 2 + part] += around * since
                            tests[3, part] += inside * since
                            tests[3, 2 + part] += around * before
                    for test in range(4):
                        s, won, z, later = tests[test]
                        if s == 0.0 or z == 0.0 or won * z <= later * s:
                            continue
                        p = (won + later) / (s + z)
                        total = won * math.log(won / s / p)
                        if won < s:
                            total += (s - won) * math.log((1.0 - won / s) / (1.0 - p))
                        if later > 0.0:
                            total += later * math.log(later / z / p)
                        total += (z - later) * math.log((1.0 - later / z) / (1.0 - p))
                        reached = max(reached, total / (level + math.log((s + 1.0) * (z + 1.0))))
            past[last + 1] = now
        worst[step] = reached
    return worst


def world_of(menu: Menu, rng: Any) -> tuple[Floats, Floats]:
    """Latents with their chances, and which interior arm succeeds in which, as the menu's order has it."""
    inner = range(menu.n_arms)[menu.interior]
    if menu.order is None:
        success = rng.random((40, len(inner))) < rng.random(len(inner))
    elif menu.order == "chain":
        success = np.arange(len(inner) + 1)[:, None] <= np.arange(len(inner))
    elif menu.kind == "intervals":
        points = np.arange(0.1, 1.0, 0.2)  # one in the middle of each cell of the grid
        ends = np.array(menu.options)
        success = (ends[:, 0] <= points[:, None]) & (points[:, None] <= ends[:, 1])
    else:
        items = sorted({item for option in menu.options for item in option})
        patterns = [{item for place, item in enumerate(items) if k >> place & 1} for k in range(1 << len(items))]
        success = np.array([[bool(pattern & set(option)) for option in menu.options] for pattern in patterns])
    return rng.dirichlet(np.ones(len(success))), success.astype(np.float64)
