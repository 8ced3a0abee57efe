"""The bounds that look at other arms, transcribed from docs/bounds.md. It shares no code with suffice.

Not meant to be fast. Of a menu it is asked which arms are nested, and for intervals where they begin and end; nothing else.
"""

import math
from fractions import Fraction
from typing import Any

Node = tuple[Fraction, str]


def divergence(mean: float, p: float) -> float:
    """Of coins, in nats; infinite where p makes the mean impossible."""
    total = 0.0
    for share, chance in ((mean, p), (1.0 - mean, 1.0 - p)):
        if share > 0.0:
            total += share * math.log(share / chance) if chance > 0.0 else math.inf
    return total


def above(m: float, limit: float) -> float:
    """The largest q with kl(m, q) <= limit, by halving."""
    low, high = m, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        if middle >= 1.0 or divergence(m, middle) > limit:
            high = middle
        else:
            low = middle
    return high


def below(m: float, limit: float) -> float:
    return 1.0 - above(1.0 - m, limit)


class NaiveBounds:
    """Half-log bounds, pools over all that contain an arm, and the closure of differences if `closed`."""

    def __init__(self, menu: Any, *, closed: bool = False, horizon: int | None = None) -> None:
        self.menu, self.closed, self.horizon = menu, closed, horizon
        self.arms = [arm for arm in range(menu.n_arms) if not menu.is_boundary(arm)]
        self.around = {arm: [other for other in self.arms if menu.nested(arm, other)] for arm in self.arms}
        self.inside = {arm: [other for other in self.arms if menu.nested(other, arm)] for arm in self.arms}
        self.plays = dict.fromkeys(self.arms, 0)
        self.successes = dict.fromkeys(self.arms, 0.0)
        self.costs: dict[int, list[float]] = {arm: [] for arm in self.arms}
        self.upper = dict.fromkeys(self.arms, 1.0)
        self.lower = dict.fromkeys(self.arms, 0.0)
        self.contradicted = 0
        self.outcomes = 0
        self.enter(1)

    def enter(self, step: int) -> None:
        if self.horizon is None:
            end = 2
            while end <= step:
                end *= 2
            self.last = end - 1
        else:
            end = self.horizon
            while end < step:
                end *= 2
            self.last = end
        self.end = end
        self.next = step + 1
        while self.next <= self.last and self.next <= Fraction(105, 100) * step:
            self.next += 1

    def beta(self) -> float:
        return 0.5 * math.log(self.end) + math.log(1 + math.log(self.end))

    def tell(self, arm: int, success: float, cost: float | None = None) -> None:
        self.outcomes += 1
        if arm in self.plays:
            self.plays[arm] += 1
            self.successes[arm] += success
            if cost is not None:
                self.costs[arm].append(cost)
        step = self.outcomes + 1
        if step > self.last:
            self.upper = dict.fromkeys(self.arms, 1.0)
        if step >= self.next:
            self.enter(step)
            for one in self.arms:
                self.own(one)
                self.pooled(one)
            if self.closed:
                self.close()
        elif arm in self.plays:
            self.own(arm)

    def own(self, arm: int) -> None:
        s = self.plays[arm]
        if s:
            self.upper[arm] = min(self.upper[arm], above(self.successes[arm] / s, self.beta() / s))
        told = self.costs[arm]
        if told:
            most = self.menu.safe_cost
            self.lower[arm] = most * below(sum(told) / len(told) / most, self.beta() / len(told))

    def pooled(self, arm: int) -> None:
        s = sum(self.plays[other] for other in self.around[arm])
        if s:
            mean = sum(self.successes[other] for other in self.around[arm]) / s
            self.upper[arm] = min(self.upper[arm], above(min(mean, 1.0), self.beta() / s))

    def close(self) -> bool:
        """All bounds of all intervals, at the threshold of a union, and what they say together."""
        n = self.menu.n_arms
        failure = min(0.25, math.sqrt(n / (self.end if self.horizon is None else self.end + 1)))
        ends = {arm: tuple(Fraction(x).limit_denominator(1000) for x in self.menu.option(arm)) for arm in self.arms}
        points = sorted({Fraction(0), Fraction(1), *(end for pair in ends.values() for end in pair)})
        nodes: list[Node] = [(point, side) for point in points for side in ("before", "behind")]
        most: dict[tuple[Node, Node], float] = {}  # of F(second) − F(first)
        for place, u in enumerate(nodes):
            for v in nodes[: place + 1]:
                most[u, v] = 0.0
                if u != v:
                    most[v, u] = 1.0
        if self.menu.safe_success == 1:
            most[nodes[-1], nodes[0]] = -1.0
        for arm, (left, right) in ends.items():
            u, v = (left, "before"), (right, "behind")
            for family, of_above, of_below in (
                ([arm], True, True),
                (self.around[arm], True, False),
                (self.inside[arm], False, True),
            ):
                s = sum(self.plays[other] for other in family)
                if s == 0:
                    continue
                mean = min(1.0, sum(self.successes[other] for other in family) / s)
                limit = (math.log(3 * n / failure) + math.log(s + 1)) / s
                if of_above:
                    most[u, v] = min(most[u, v], above(mean, limit))
                if of_below:
                    most[v, u] = min(most[v, u], -below(mean, limit))
        for k in nodes:
            for u in nodes:
                for v in nodes:
                    most[u, v] = min(most[u, v], most[u, k] + most[k, v])
        if any(most[u, u] < -1e-9 for u in nodes):
            self.contradicted += 1
            return False
        for arm, (left, right) in ends.items():
            self.upper[arm] = min(self.upper[arm], max(0.0, most[(left, "before"), (right, "behind")]))
        return True
