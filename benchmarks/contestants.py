"""Who is timed. One small class each, with one interface: `setup(n)`, then `steps(count)` again and again.

The first line of each docstring says what feedback is used and whether a rate is held; the report quotes it.
Peers are imported in `setup`, so that one that is missing is reported and the others run.
"""

import math
import random
import time
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import suffice
from benchmarks.plain import PlainNumpy, TunedNumpy
from benchmarks.world import SEED, TARGET, World, menu_of

WARM_STEPS = 5_000
WARM_SECONDS = 3.0
MOSTLY = 0.8  # of the last asks before timing begins must be interior


class Contestant(ABC):
    """One way to decide."""

    name: ClassVar[str]  # for --only
    label: ClassVar[str]  # in tables and in the figure
    package: ClassVar[str]  # the distribution whose version is reported

    @abstractmethod
    def setup(self, n: int) -> None:
        """Get ready to decide among n arms; not timed."""

    @abstractmethod
    def steps(self, count: int) -> None:
        """So many decisions and their outcomes, one after the other, with as little as possible around them."""

    def note(self) -> str:
        """What the report should say of the steps since setup."""
        return ""


class Holder(Contestant):
    """Shared by suffice and plain NumPy: warming up, and the share of asks that are interior.

    At a limit there is nothing to choose, and a decision is cheap. So that this favours no contestant, timing
    starts when most asks are interior, and the share that was interior is reported.
    """

    bounds: ClassVar[str]
    before: tuple[int, int] = (0, 0)

    @abstractmethod
    def played(self) -> tuple[int, int]:
        """How many outcomes there were, and how many of the safe option and of the skip option."""

    def interior(self) -> float:
        """The share of decisions since `before` that played neither the safe option nor a skip."""
        told, ends = (now - then for now, then in zip(self.played(), self.before, strict=True))
        return 1.0 - ends / max(1, told)

    def warm_up(self, n: int) -> None:
        least = min(5 * n, WARM_STEPS)
        end = time.process_time() + WARM_SECONDS
        done, share = 0, 0.0
        while (done < least or share < MOSTLY) and time.process_time() < end:
            self.before = self.played()
            self.steps(250)
            done, share = done + 250, self.interior()
        self.before = self.played()

    def note(self) -> str:
        return f"{self.interior():.0%}"


class Suffice(Holder):
    package = "suffice"

    def setup(self, n: int) -> None:
        self.world = World(n)
        self.selector = suffice.Selector(menu_of(n), TARGET, learning=suffice.Learning(bounds=self.bounds))
        self.warm_up(n)

    def steps(self, count: int) -> None:
        selector, chances = self.selector, self.world.chances
        for luck in self.world.luck(count):
            decision = selector.ask()
            selector.tell(decision, luck < chances[decision.arm])

    def played(self) -> tuple[int, int]:
        plays = self.selector.learner.columns().plays
        return self.selector.outcomes, int(plays[0] + plays[-1])


class SufficeHalfLog(Suffice):
    """ours, the optimist: success or failure of the arm played, known costs; holds the rate on every path."""

    name, label, bounds = "suffice", "suffice (half-log)", "half-log"


class SufficeHoeffding(Suffice):
    """ours, simpler bounds: success or failure of the arm played, known costs; holds the rate on every path."""

    name, label, bounds = "suffice-hoeffding", "suffice (hoeffding)", "hoeffding"


class Plain(Holder):
    package = "numpy"
    version: ClassVar[type[PlainNumpy]] = PlainNumpy

    def setup(self, n: int) -> None:
        self.world = World(n)
        self.plain = self.version(self.world.costs, TARGET, self.bounds)
        self.warm_up(n)

    def steps(self, count: int) -> None:
        plain, chances = self.plain, self.world.chances
        for luck in self.world.luck(count):
            arm = plain.ask()
            plain.tell(arm, luck < chances[arm])

    def played(self) -> tuple[int, int]:
        return self.plain.outcomes, int(self.plain.plays[0] + self.plain.plays[-1])


class PlainHalfLog(Plain):
    """the same algorithm by hand: success or failure of the arm played, known costs; holds the rate, no services."""

    name, label, bounds = "numpy-half-log", "plain NumPy (half-log)", "half-log"


class PlainHoeffding(Plain):
    """the same algorithm by hand: success or failure of the arm played, known costs; holds the rate, no services."""

    name, label, bounds = "numpy-hoeffding", "plain NumPy (hoeffding)", "hoeffding"


class TunedHalfLog(Plain):
    """the same without temporary arrays: success or failure of the arm played, known costs; holds the rate, no services."""

    name, label, bounds, version = "tuned-half-log", "tuned NumPy (half-log)", "half-log", TunedNumpy


class TunedHoeffding(Plain):
    """the same without temporary arrays: success or failure of the arm played, known costs; holds the rate, no services."""

    name, label, bounds, version = "tuned-hoeffding", "tuned NumPy (hoeffding)", "hoeffding", TunedNumpy


class River(Contestant):
    """bandit.UCB, pull + update: the reward of the arm played; knows no costs, holds no rate."""

    name, label, package = "river", "River UCB", "river"

    def setup(self, n: int) -> None:
        from river import bandit

        self.world = World(n)
        self.arms = list(range(n))
        self.policy = bandit.UCB(delta=1, seed=SEED)
        for arm in self.arms:  # one outcome each, as its first n pulls would be
            self.policy.update(arm, self.world.judge(arm))

    def steps(self, count: int) -> None:
        policy, arms, chances = self.policy, self.arms, self.world.chances
        for luck in self.world.luck(count):
            arm = policy.pull(arms)
            policy.update(arm, luck < chances[arm])


class MABWiser(Contestant):
    """MAB with UCB1, predict + partial_fit of one row: the reward of the arm played; knows no costs, holds no rate."""

    name, label, package = "mabwiser", "MABWiser UCB1", "mabwiser"

    def setup(self, n: int) -> None:
        from mabwiser.mab import MAB, LearningPolicy

        self.world = World(n)
        arms = list(range(n))
        self.mab = MAB(arms, LearningPolicy.UCB1(alpha=1.0), seed=SEED)
        self.mab.fit(arms, [int(self.world.judge(arm)) for arm in arms])

    def steps(self, count: int) -> None:
        for _ in range(count):
            arm = self.mab.predict()
            self.mab.partial_fit([arm], [int(self.world.judge(arm))])


class VowpalWabbit(Contestant):
    """--cb_explore, predict + draw + learn: the loss and probability of the arm played; holds no rate."""

    name, label, package = "vowpalwabbit", "Vowpal Wabbit", "vowpalwabbit"

    def setup(self, n: int) -> None:
        import vowpalwabbit

        self.world = World(n)
        self.arms = range(n)
        self.random = random.Random(SEED)
        bits = max(18, math.ceil(math.log2(4 * n)))  # room for each arm's weights without collisions
        self.vw = vowpalwabbit.Workspace(f"--cb_explore {n} -b {bits} --quiet")

    def steps(self, count: int) -> None:
        for _ in range(count):
            chances = self.vw.predict("| x")
            # predict returns a distribution; drawing from it is left to the caller, so it is part of the decision.
            arm = self.random.choices(self.arms, chances)[0]
            self.vw.learn(f"{arm + 1}:{int(not self.world.judge(arm))}:{chances[arm]} | x")


class PyBandits(Contestant):
    """SmabBernoulli (Thompson), predict + update: the reward of the arm played; knows no costs, holds no rate."""

    name, label, package = "pybandits", "PyBandits", "pybandits"

    def setup(self, n: int) -> None:
        from pybandits.smab import SmabBernoulli

        self.world = World(n)
        self.bandit: Any = SmabBernoulli.cold_start(action_ids={str(arm) for arm in range(n)})

    def steps(self, count: int) -> None:
        for _ in range(count):
            actions, _ = self.bandit.predict(n_samples=1)
            self.bandit.update(actions=actions, rewards=[int(self.world.judge(int(actions[0])))])


class MAPIE(Contestant):
    """TimeSeriesRegressor, adapt_conformal_inference: the true value, so full feedback; has no arms; holds coverage.

    n is the number of calibration scores. The step makes its interval itself, so only this one call is timed; the model
    beneath is a constant, so that nothing but MAPIE's own work is measured.
    """

    name, label, package = "mapie", "MAPIE ACI (n scores)", "MAPIE"

    def setup(self, n: int) -> None:
        import numpy as np
        from mapie.regression import TimeSeriesRegressor
        from sklearn.dummy import DummyRegressor

        rng = np.random.default_rng(SEED)
        inputs, values = np.zeros((n, 1)), rng.standard_normal(n)
        model = DummyRegressor(strategy="constant", constant=0.0).fit(inputs, values)
        self.mapie = TimeSeriesRegressor(model, method="aci", cv="prefit").fit(inputs, values)
        self.input = np.zeros((1, 1))
        self.values = rng.standard_normal((4096, 1))
        self.done = 0

    def steps(self, count: int) -> None:
        for step in range(self.done, self.done + count):
            value = self.values[step % 4096]
            self.mapie.adapt_conformal_inference(self.input, value, gamma=0.01, confidence_level=TARGET)
        self.done += count


CONTESTANTS: tuple[type[Contestant], ...] = (
    SufficeHalfLog,
    SufficeHoeffding,
    PlainHalfLog,
    PlainHoeffding,
    TunedHalfLog,
    TunedHoeffding,
    River,
    MABWiser,
    VowpalWabbit,
    PyBandits,
    MAPIE,
)
