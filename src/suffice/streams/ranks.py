"""Label ranks: how far down a classifier's list the true label stands. Showing k labels succeeds if rank <= k."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.errors import InvalidArgument, shown
from suffice.menu import Menu
from suffice.streams.base import Windows

# How many of the 10,000 CIFAR-100 test images have their true label at rank 1, 2, ..., 100 under a pretrained VGG16.
# Classifier outputs: dblalock/bolt at e7726a4 (MPL-2.0). Images: A. Krizhevsky, Learning multiple layers of features
# from tiny images, 2009.
CIFAR100 = (
    7048, 1067, 466, 284, 155, 112, 80, 66, 60, 57, 60, 58, 38, 38, 30, 30, 21, 19, 13, 17, 14, 6, 20, 11, 11, 17, 4, 9,
    12, 5, 7, 10, 6, 7, 8, 5, 9, 6, 7, 9, 6, 3, 6, 8, 3, 7, 2, 2, 3, 1, 1, 4, 1, 1, 1, 6, 1, 0, 2, 4, 4, 3, 6, 0, 2, 3,
    1, 1, 1, 0, 2, 0, 2, 2, 1, 1, 0, 1, 0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0,
)  # fmt: skip


class LabelRanks:
    """Ranks drawn from a histogram: entry i counts how often the true label stood at rank i + 1.

    `least` and `most` keep only ranks in that range: easy images, or hard ones.

    >>> LabelRanks.cifar100().truth()[0].round(4).tolist()
    [0.0, 0.902, 0.9395, 0.9719, 0.9943, 1.0]
    """

    def __init__(self, menu: Menu, histogram: ArrayLike = CIFAR100, *, least: int = 1, most: int | None = None) -> None:
        counts = np.array(histogram, dtype=np.float64)
        if counts.ndim != 1 or not np.isfinite(counts).all() or (counts < 0).any():
            raise InvalidArgument("histogram must hold one count of at least 0 per rank")
        if menu.everything != counts.size:
            raise InvalidArgument(f"menu must be a top_k menu of {counts.size} classes, got {shown(menu)}")
        ranks = np.arange(1, counts.size + 1)
        counts[(ranks < least) | (ranks > (counts.size if most is None else most))] = 0.0
        if counts.sum() == 0:
            raise InvalidArgument(f"least and most must leave a rank that occurs, got {shown(least)} and {shown(most)}")
        self.menu = menu
        self.frequency = counts / counts.sum()
        self.shown = np.array([menu.option(arm) for arm in range(menu.arms)])

    @staticmethod
    def cifar100(ks: tuple[int, ...] = (5, 10, 20, 50), *, least: int = 1, most: int | None = None) -> "LabelRanks":
        """CIFAR-100 under a pretrained VGG16, with the paper's menu."""
        return LabelRanks(Menu.top_k(ks, classes=100), least=least, most=most)

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> NDArray[np.int64]:
        return rng.choice(self.frequency.size, size=count, p=self.frequency) + 1

    def judge(self, latent: Any, arm: int, dual: float) -> tuple[float, float]:
        shown = self.shown[arm]
        return float(latent <= shown), float(shown / self.frequency.size)

    def windows(self) -> Windows:
        return Windows(np.zeros(self.menu.arms), self.shown.astype(np.float64), self.shown / self.frequency.size)

    def truth(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The exact success probability and cost of every arm."""
        at_most = np.concatenate([[0.0], np.cumsum(self.frequency)])
        at_most[-1] = 1.0
        return at_most[self.shown], self.shown / self.frequency.size
