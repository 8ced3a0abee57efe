"""Label ranks: the place of the true label in a classifier's list. Showing k labels succeeds if rank <= k."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from suffice.errors import InvalidArgument, quoted
from suffice.lab.streams.base import ByWindows, Floats, Ints, Table, Windows, safe_clipped
from suffice.menu.menu import Menu
from suffice.numbers import positive_int

# How many of the 10,000 CIFAR-100 test images have their true label at rank 1, 2, ..., 100 under a pretrained VGG16.
# Classifier outputs: dblalock/bolt at e7726a4 (MPL-2.0). Images: A. Krizhevsky, Learning multiple layers of features
# from tiny images, 2009.
CIFAR100 = (
    7048, 1067, 466, 284, 155, 112, 80, 66, 60, 57, 60, 58, 38, 38, 30, 30, 21, 19, 13, 17, 14, 6, 20, 11, 11, 17, 4, 9,
    12, 5, 7, 10, 6, 7, 8, 5, 9, 6, 7, 9, 6, 3, 6, 8, 3, 7, 2, 2, 3, 1, 1, 4, 1, 1, 1, 6, 1, 0, 2, 4, 4, 3, 6, 0, 2, 3,
    1, 1, 1, 0, 2, 0, 2, 2, 1, 1, 0, 1, 0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0,
)  # fmt: skip

KS = (5, 10, 20, 50)  # how many labels the paper shows


class LabelRanks(ByWindows):
    """Ranks drawn from a histogram: entry i counts how often the true label was at rank i + 1.

    `least` and `most` keep only ranks in that range: easy images, or hard ones. For a classifier of your own, give a
    `Menu.top_k` and the histogram of its ranks.

    >>> LabelRanks.cifar100().truth()[0].round(4).tolist()
    [0.0, 0.902, 0.9395, 0.9719, 0.9943, 1.0]
    """

    name = "ranks"
    description = "show the k best labels; succeeds where the true one is among them (CIFAR-100)"

    def __init__(self, menu: Menu, histogram: ArrayLike = CIFAR100, *, least: int = 1, most: int | None = None) -> None:
        counts = np.array(histogram, dtype=np.float64)
        if counts.ndim != 1 or not np.isfinite(counts).all() or (counts < 0).any():
            raise InvalidArgument("histogram must hold one count of at least 0 per rank")
        if menu.safe != counts.size:
            raise InvalidArgument(f"menu must be a top_k menu of {counts.size} classes, got {quoted(menu)}")
        ranks = np.arange(1, counts.size + 1)
        first, last = positive_int("least", least), counts.size if most is None else positive_int("most", most)
        counts[(ranks < first) | (ranks > last)] = 0.0
        if counts.sum() == 0:
            raise InvalidArgument(
                f"least and most must leave a rank that occurs, got {quoted(least)} and {quoted(most)}"
            )
        self.menu = menu
        self.frequency = counts / counts.sum()
        self.shown = np.array([menu.option(arm) for arm in range(menu.n_arms)])
        self._windows = Windows(np.zeros(menu.n_arms), self.shown.astype(np.float64), self.shown / counts.size)

    @staticmethod
    def cifar100(ks: Iterable[int] = KS, *, least: int = 1, most: int | None = None) -> "LabelRanks":
        """CIFAR-100 under a pretrained VGG16, with the paper's menu."""
        return LabelRanks(Menu.top_k(ks, classes=100, skip=True), least=least, most=most)

    @classmethod
    def from_settings(cls, *, ks: tuple[int, ...] = KS, least: int = 1, most: int | None = None) -> "LabelRanks":
        """CIFAR-100 with the numbers of labels that may be shown."""
        return cls.cifar100(ks, least=least, most=most)

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Ints:
        """One rank per step."""
        return rng.choice(self.frequency.size, size=count, p=self.frequency) + 1

    def table(self) -> Table:
        """Row r is rank r. No label is at rank 0; row 0 only makes a rank its own row number."""
        ranks = np.arange(self.frequency.size + 1)
        ranks[0] = ranks[-1]
        successes = (ranks[:, None] <= self.shown).astype(np.float64)
        return Table(successes, np.tile(self._windows.costs, (ranks.size, 1)))

    def truth(self) -> tuple[Floats, Floats]:
        """The exact success probability and cost of every arm."""
        at_most = np.concatenate([[0.0], safe_clipped(np.cumsum(self.frequency))])
        return at_most[self.shown], self._windows.costs.copy()
