"""Prediction APIs with a context: the cheapest is called first, and its confidence is known before the choice."""

import csv
import functools
from importlib import resources
from typing import Final

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.lab.streams.apis import TASKS, PredictionApis
from suffice.lab.streams.base import ByTable, Cases, Floats, Ints, Table, safe_clipped
from suffice.lab.streams.shifts import Phases
from suffice.numbers import flag, positive_int

BINS: Final = 16  # of the confidence, equally wide
PATTERNS: Final = 16  # of right answers of four APIs
CHANGES: Final = ("none", "contexts", "outcomes", "both")


class ConfidentApis(ByTable):
    """The APIs of `PredictionApis`, and for each step the confidence of the cheapest one.

    The menu is that of `PredictionApis`, and so is the truth for methods without contexts. Contextual methods pay the
    cheapest API with every decision, whether its answer is used or not; the price of a person includes it. The recordings
    are counted by sixteenths of the confidence, so that the context is the middle of a sixteenth.

    Args:
        task: one of `TASKS` but AFFECTNET, for which no confidences were recorded.
        shuffled: contexts have their recorded frequencies, and are independent of the outcomes.
        mirrored: what is reversed over the confidences. "contexts": their frequencies, while the outcomes at each
            confidence stay; "outcomes": the outcomes at each confidence, while the frequencies stay; "both": low
            confidences swap with high ones, which changes nothing for methods without contexts; or "none".

    >>> import suffice
    >>> from suffice.best_mix import contextual_optimum
    >>> stream = ConfidentApis("YELP")
    >>> stream.context(10 * 16 + 3)
    {'confidence': 0.65625}
    >>> round(suffice.optimum(*stream.truth(), target=0.95).cost, 4)
    0.0948
    >>> round(contextual_optimum(*stream.cases(), target=0.95).cost, 4)
    0.0659
    """

    name = "confidence"
    description = "call some of four prediction APIs, knowing how sure the cheapest is (FrugalML's eleven tasks)"

    def __init__(
        self,
        task: str = "YELP",
        *,
        shuffled: bool = False,
        mirrored: str = "none",
    ) -> None:
        recorded = confidence_counts()
        if not isinstance(task, str) or task.upper() not in recorded:
            why = ", for which no confidences were recorded" if str(task).upper() in TASKS else ""
            raise InvalidArgument(f"task must be one of {', '.join(recorded)}, got {quoted(task)}{why}")
        apis = PredictionApis(task)
        self.task, self.menu = apis.task, apis.menu
        counts = recorded[task.upper()]
        joint = counts / counts.sum()
        if flag("shuffled", shuffled):
            joint = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        self.joint = _mirrored(joint, mirrored)  # how likely each pattern is with each confidence
        self._patterns = apis.table()
        self._table = Table(*(np.tile(part, (BINS, 1)) for part in self._patterns))  # row = bin·16 + pattern
        self._context_costs = self._costs_of_context()

    def _costs_of_context(self) -> Floats:
        """What the cheapest API adds to the cost of each arm: nothing where it is called anyway."""
        first, (_, costs) = self.task.apis[0], self.truth()
        called = [first in self.menu.option(arm) for arm in range(self.menu.n_arms - 1)]
        return np.where([*called, True], 0.0, costs[self.menu.arm((first,))])

    @classmethod
    def from_settings(
        cls,
        *,
        task: str = "YELP",
        shuffled: bool = False,
        shift: str = "none",
        at: int = 10_000,
    ) -> "ConfidentApis | Phases":
        """The APIs of one task; `shift` says what is mirrored from step `at` on: none, contexts, outcomes or both."""
        if shift not in CHANGES:
            raise InvalidArgument(f"shift must be one of {', '.join(CHANGES)}, got {quoted(shift)}")
        length = positive_int("at", at)
        before = cls(task, shuffled=shuffled)
        if shift == "none":
            return before
        after = cls(task, shuffled=shuffled, mirrored=shift)
        return Phases((before, length), (after, length))

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Ints:
        """A bin of the confidence and a pattern of right answers per step, bin·16 + pattern."""
        return rng.choice(self.joint.size, size=count, p=self.joint.ravel())

    def context(self, latent: int) -> dict[str, float]:
        """The confidence of the cheapest API, as the middle of its sixteenth."""
        return {"confidence": (int(latent) // PATTERNS + 0.5) / BINS}

    def context_cost(self, latent: int, arm: int) -> float:
        """The price of the cheapest API, unless the arm includes it."""
        return float(self._context_costs[arm])

    def truth(self) -> tuple[Floats, Floats]:
        """The exact success probability and cost of every arm, over all confidences."""
        return safe_clipped(self.joint.sum(axis=0) @ self._patterns.successes), self._patterns.costs[0].copy()

    def cases(self) -> Cases:
        """A row per confidence that occurs; costs include the context cost."""
        weights = self.joint.sum(axis=1)
        occurs = weights > 0.0
        success = safe_clipped(self.joint[occurs] @ self._patterns.successes / weights[occurs, None])
        return Cases(
            weights[occurs], success, np.tile(self._patterns.costs[0] + self._context_costs, (len(success), 1))
        )


def _mirrored(joint: Floats, what: str) -> Floats:
    """The joint frequencies with one of the `CHANGES`, among the confidences that occur."""
    if what not in CHANGES:
        raise InvalidArgument(f"mirrored must be one of {', '.join(CHANGES)}, got {quoted(what)}")
    occurring = np.flatnonzero(joint.sum(axis=1))
    weights = joint[occurring].sum(axis=1)
    outcomes = joint[occurring] / weights[:, None]
    if what in ("contexts", "both"):
        weights = weights[::-1]
    if what in ("outcomes", "both"):
        outcomes = outcomes[::-1]
    mirrored = np.zeros_like(joint)
    mirrored[occurring] = weights[:, None] * outcomes
    return mirrored


@functools.cache
def confidence_counts() -> dict[str, Ints]:
    """For each task, how often each pattern (column) occurred with a confidence in each bin (row).

    >>> counts = confidence_counts()
    >>> len(counts), counts["YELP"].shape, int(counts["YELP"].sum())
    (11, (16, 16), 20000)
    """
    text = resources.files("suffice.lab.streams").joinpath("confidence_counts.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    counts_by_task: dict[str, Ints] = {}
    for row in rows:
        counts = counts_by_task.setdefault(row["task"], np.zeros((BINS, PATTERNS), dtype=np.int64))
        counts[int(row["bin"])] = [int(row[f"pattern {pattern}"]) for pattern in range(PATTERNS)]
    return counts_by_task
