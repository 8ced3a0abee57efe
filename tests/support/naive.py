"""The paper's algorithm, transcribed step by step from its text. Shares no code with suffice and is not meant to be fast.

Exact where the text is: the price is step·(target·N − S), and "price >= cap" is decided in rational arithmetic, by squaring,
because step = a/sqrt(T) has a rational square.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray


class NaivePaper:
    def __init__(
        self, arms: int, target: Fraction, horizon: int, step: float, step_squared: Fraction, safe_cost: Fraction
    ) -> None:
        self.n, self.phi, self.T = arms, target, horizon
        self.step, self.step_squared = step, step_squared
        self.c_max = safe_cost
        self.cap = safe_cost / (1 - target)
        self.rewards: list[list[float]] = [[] for _ in range(arms)]
        self.costs: list[list[float]] = [[] for _ in range(arms)]
        self.t = 0
        self.N = 0
        self.S = Fraction(0)

    def price(self) -> float:
        return self.step * float(self.phi * self.N - self.S)

    def scores(self) -> NDArray[np.float64]:
        upper, lower = np.zeros(self.n), np.zeros(self.n)
        upper[-1], lower[-1] = 1.0, float(self.c_max)
        for i in range(1, self.n - 1):
            s = len(self.rewards[i])
            width = np.sqrt(2 * np.log(self.n * self.T) / s)
            upper[i] = np.cumsum(self.rewards[i])[-1] / s + width
            lower[i] = np.cumsum(self.costs[i])[-1] / s - float(self.c_max) * width
        return lower - self.price() * upper

    def choose(self) -> int:
        if self.t < self.n - 2:
            return self.t + 1
        debt = self.phi * self.N - self.S
        if debt > 0 and self.step_squared * debt**2 >= self.cap**2:
            return self.n - 1
        if debt <= 0:
            return 0
        return int(np.argmin(self.scores()))

    def observe(self, arm: int, reward: float, cost: float) -> None:
        self.rewards[arm].append(reward)
        self.costs[arm].append(cost)
        self.t += 1
        if self.t > self.n - 2:
            self.N += 1
            self.S += Fraction(reward)


class NaiveProjected(NaivePaper):
    """Same estimates, always the argmin, and the price is clipped to [0, cap] after every step."""

    value = 0.0

    def price(self) -> float:
        return self.value

    def choose(self) -> int:
        return self.t + 1 if self.t < self.n - 2 else int(np.argmin(self.scores()))

    def observe(self, arm: int, reward: float, cost: float) -> None:
        super().observe(arm, reward, cost)
        if self.t > self.n - 2:
            moved = self.value + self.step * (float(self.phi) - reward)
            self.value = float(np.clip(moved, 0.0, float(self.cap)))
