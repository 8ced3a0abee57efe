"""Synthetic contexts that make every option more or less likely to succeed, to a degree that is a setting."""

import math
from typing import Final

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.lab.streams.base import ByTable, Cases, Floats, Ints, Table, clipped, known_costs, table_of, with_ends
from suffice.menu.menu import Menu
from suffice.numbers import between, positive_int

LEVELS: Final = 16  # values of the number that matters
KINDS: Final = ("a", "b", "c")  # values of the category that matters
PULLS: Final = np.array([-0.5, 0.0, 0.5])  # the effect of each category
MOST: Final = 32  # options


class SyntheticContext(ByTable):
    """A chain of options, each more expensive and more likely to succeed, with a known truth in every context.

    Option i of n succeeds with probability 1/(1 + e^−z), z = 3i/(n + 1) − 1/2 + tilt·(2·level − 1 + pull), at a cost of
    (i/(n + 1))². The context holds the level, one of 16 numbers between 0 and 1, and a kind, "a", "b" or "c", with a pull
    of −1/2, 0 or 1/2. All are equally likely.

    Args:
        tilt: how much the context matters; at 0 not at all.
        options: how many there are between the skip and the safe option.
        missing: the share of levels, and of kinds, that are missing: nan and None.

    >>> import suffice
    >>> from suffice.best_mix import contextual_optimum
    >>> stream = SyntheticContext(tilt=3)
    >>> stream.context(stream.draw(np.random.default_rng(0), 1)[0])
    {'level': 0.84375, 'kind': 'b'}
    >>> round(suffice.optimum(*stream.truth(), target=0.8).cost, 4)
    0.5864
    >>> round(contextual_optimum(*stream.cases(), target=0.8).cost, 4)
    0.3373
    """

    name = "tilted"
    description = "contexts, a number and a category, that matter as much as `tilt` says, with a known truth"

    def __init__(self, tilt: float = 3.0, *, options: int = 3, missing: float = 0.0) -> None:
        self.tilt, self.missing = between("tilt", tilt, 0.0, 100.0), between("missing", missing, 0.0, 1.0)
        count = positive_int("options", options)
        if count > MOST:
            raise InvalidArgument(f"options must be at most {MOST}, got {quoted(options)}")
        places = np.arange(1, count + 1) / (count + 1)
        self.menu = Menu(
            [f"option {place}" for place in range(1, count + 1)],
            safe="safe",
            skip="skip",
            costs=places**2,
            order="chain",
            safe_cost=1.0,
        )
        levels = (np.arange(LEVELS) + 0.5) / LEVELS
        tilts = self.tilt * (2.0 * levels[:, None] - 1.0 + PULLS)
        self._success = 1.0 / (1.0 + np.exp(-(3.0 * places - 0.5 + tilts[:, :, None])))  # by level, kind and option
        # Each field of a latent: level, kind, which of the two is missing, how many options fail.
        self._shape = (LEVELS, len(KINDS), 2, 2, count + 1)
        self._table = self._whole_table()

    def _whole_table(self) -> Table:
        """The cheapest options fail, so many as the latent says, and all others succeed."""
        failing = np.unravel_index(np.arange(math.prod(self._shape)), self._shape)[4]
        return table_of(self.menu, np.arange(self.menu.n_arms - 2) >= failing[:, None])

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Ints:
        """The context of each step and how many options fail, in one number."""
        level, kind = rng.integers(LEVELS, size=count), rng.integers(len(KINDS), size=count)
        gaps = (rng.random((2, count)) < self.missing).astype(np.int64)
        failing = (self._success[level, kind] <= rng.random(count)[:, None]).sum(axis=1)
        return np.ravel_multi_index((level, kind, *gaps, failing), self._shape)

    def context(self, latent: int) -> dict[str, float | str | None]:
        """The level and the kind, where they are not missing."""
        level, kind, no_level, no_kind, _ = (int(part) for part in np.unravel_index(latent, self._shape))
        return {
            "level": math.nan if no_level else (level + 0.5) / LEVELS,
            "kind": None if no_kind else KINDS[kind],
        }

    def truth(self) -> tuple[Floats, Floats]:
        """The exact success probability and cost of every arm, over all contexts."""
        return clipped(with_ends(self._success.mean(axis=(0, 1))[None])[0]), known_costs(self.menu)

    def cases(self) -> Cases:
        """A row for each level and kind; and where they may be missing, for each without the other, and for neither."""
        weights, successes = [], []
        for no_level, no_kind in ((0, 0), (1, 0), (0, 1), (1, 1)):
            unknown = tuple(axis for axis, missing in enumerate((no_level, no_kind)) if missing)
            means = self._success.mean(axis=unknown, keepdims=True).reshape(-1, self.menu.n_arms - 2)
            share = math.prod(self.missing if missing else 1.0 - self.missing for missing in (no_level, no_kind))
            if share > 0.0:
                weights.append(np.full(len(means), share / len(means)))
                successes.append(means)
        table = table_of(self.menu, clipped(np.concatenate(successes)))
        return Cases(np.concatenate(weights), table.successes, table.costs)
