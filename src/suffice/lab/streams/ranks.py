"""Label ranks: how far down a classifier's list the true label stands. Showing k labels succeeds if rank <= k."""

import os
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.errors import InvalidArgument, quoted
from suffice.lab.streams.base import Floats, Table, Windows
from suffice.lab.streams.compiled_forms import ByWindows, sure
from suffice.lab.streams.rank_files import read_ranks
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
    """Ranks drawn from a histogram: entry i counts how often the true label stood at rank i + 1.

    `least` and `most` keep only ranks in that range: easy images, or hard ones.

    >>> LabelRanks.cifar100().truth()[0].round(4).tolist()
    [0.0, 0.902, 0.9395, 0.9719, 0.9943, 1.0]
    """

    name = "ranks"
    about = "show the k best labels; succeeds where the true one is among them (CIFAR-100, or a file)"

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
        return LabelRanks(Menu.top_k(ks, classes=100), least=least, most=most)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        ks: Iterable[int] | None = None,
        *,
        classes: int | None = None,
        least: int = 1,
        most: int | None = None,
    ) -> "LabelRanks":
        """Ranks of your own classifier, 1 being its first guess.

        The file is an .npz with `rank`, or with `probs` (a row per sample, a column per class) and `labels`; or an .npy
        or a .csv of ranks. `classes` must be said where there are no `probs` to count them by.

        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "ranks.npy")
        >>> np.save(path, [1, 1, 1, 2, 7])
        >>> LabelRanks.load(path, ks=[1, 5], classes=10).truth()[0].tolist()
        [0.0, 0.6, 0.8, 1.0]
        """
        ranks, columns = read_ranks(path)
        if classes is None and columns is None:
            raise InvalidArgument(
                f"classes must be given, for there are no probs to count them by in {quoted(str(path))}"
            )
        number = positive_int("classes", columns if classes is None else classes, 2)
        if columns is not None and columns != number:
            raise InvalidArgument(f"classes must be the {columns} columns of probs, got {number}")
        if ranks.max() > number:
            row = int((ranks > number).argmax())
            raise InvalidArgument(f"rank must be at most the {number} classes, got {ranks[row]} in row {row + 1}")
        kept = [k for k in KS if k < number] if ks is None else ks
        histogram = np.bincount(ranks, minlength=number + 1)[1:]
        return cls(Menu.top_k(kept, classes=number), histogram, least=least, most=most)

    @classmethod
    def named(
        cls,
        *,
        path: str | None = None,
        classes: int | None = None,
        ks: tuple[int, ...] | None = None,
        least: int = 1,
        most: int | None = None,
    ) -> "LabelRanks":
        """The ranks in a file; CIFAR-100's where there is none."""
        if path is not None:
            return cls.load(path, ks, classes=classes, least=least, most=most)
        if classes not in (None, len(CIFAR100)):
            raise InvalidArgument(f"classes must be {len(CIFAR100)} where no path is given, got {quoted(classes)}")
        return cls.cifar100(KS if ks is None else ks, least=least, most=most)

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> NDArray[np.int64]:
        """One rank per step."""
        return rng.choice(self.frequency.size, size=count, p=self.frequency) + 1

    def table(self) -> Table:
        """Row r is rank r. No label stands at rank 0; the row is there so that a rank is its row."""
        ranks = np.arange(self.frequency.size + 1)
        ranks[0] = ranks[-1]
        successes = (ranks[:, None] <= self.shown).astype(np.float64)
        return Table(successes, np.tile(self._windows.costs, (ranks.size, 1)))

    def truth(self) -> tuple[Floats, Floats]:
        """The exact success probability and cost of every arm."""
        at_most = np.concatenate([[0.0], sure(np.cumsum(self.frequency))])
        return at_most[self.shown], self._windows.costs.copy()
