"""Prediction APIs with a context: the cheapest is called first, and how sure it is says whom else to call."""

import csv
import functools
from importlib import resources
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from suffice.errors import InvalidArgument, quoted
from suffice.lab.streams.apis import TASKS, PredictionApis
from suffice.lab.streams.base import Cases, Floats, Table
from suffice.lab.streams.compiled_forms import ByTable, sure
from suffice.lab.streams.joined import Phases
from suffice.numbers import flag, positive_int

BINS: Final = 16  # of the confidence, equally wide
PATTERNS: Final = 16  # of right answers of four APIs
CHANGES: Final = ("none", "contexts", "outcomes", "both")


class ConfidentApis(ByTable):
    """The APIs of `Apis`, and for each step the confidence of the cheapest one, which was called to have it.

    The menu is that of `Apis`, and so is the truth for those who do not look. Those who look pay the cheapest API with every
    decision, whether its answer is used or not; the price of a person includes it. The recordings are counted by
    sixteenths of the confidence, so that the context is the middle of a sixteenth.

    Args:
        task: one of `TASKS` but AFFECTNET, for which no confidences were recorded.
        person, unit: as in `Apis`.
        shuffled: contexts come as often as they do, and have nothing to do with the outcomes.
        mirrored: what is turned around. "contexts": how often each confidence occurs, the least for the highest, while what
            follows from a confidence stays; "outcomes": what follows from each confidence, while confidences occur as
            often as they do; "both": the low ones are the high ones, which nobody notices who does not look; or "none".

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
    about = "call some of four prediction APIs, knowing how sure the cheapest is (FrugalML's eleven tasks)"

    def __init__(
        self,
        task: str = "YELP",
        *,
        person: float = 3.0,
        unit: str = "person",
        shuffled: bool = False,
        mirrored: str = "none",
    ) -> None:
        recorded = confidence_counts()
        if not isinstance(task, str) or task.upper() not in recorded:
            why = ", for which no confidences were recorded" if str(task).upper() in TASKS else ""
            raise InvalidArgument(f"task must be one of {', '.join(recorded)}, got {quoted(task)}{why}")
        apis = PredictionApis(task, person=person, unit=unit)
        self.task, self.menu = apis.task, apis.menu
        counts = recorded[task.upper()]
        joint = counts / counts.sum()
        if flag("shuffled", shuffled):
            joint = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        self.joint = _turned(joint, mirrored)  # how likely each pattern is with each confidence
        self._patterns = apis.table()
        self._table = Table(*(np.tile(part, (BINS, 1)) for part in self._patterns))  # row = bin·16 + pattern
        self._look = self._prices_of_looking()

    def _prices_of_looking(self) -> Floats:
        """What the cheapest API adds to each arm: nothing where it is called anyway."""
        first, (_, costs) = self.task.apis[0], self.truth()
        price = costs[self.menu.arm((first,))]
        called = [first in self.menu.option(arm) for arm in range(self.menu.n_arms - 1)]
        # Not above the room that there is: the sum of all prices may be rounded up.
        return np.where([*called, True], 0.0, np.minimum(price, self.menu.safe_cost - costs))

    @classmethod
    def named(
        cls,
        *,
        task: str = "YELP",
        person: float = 3.0,
        unit: str = "person",
        shuffled: bool = False,
        shift: str = "none",
        at: int = 10_000,
    ) -> "ConfidentApis | Phases":
        """The APIs of one task; `shift` is what is mirrored from step `at` on: none, contexts, outcomes or both."""
        if shift not in CHANGES:
            raise InvalidArgument(f"shift must be one of {', '.join(CHANGES)}, got {quoted(shift)}")
        length = positive_int("at", at)
        before = cls(task, person=person, unit=unit, shuffled=shuffled)
        if shift == "none":
            return before
        after = cls(task, person=person, unit=unit, shuffled=shuffled, mirrored=shift)
        return Phases((before, length), (after, length))

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> NDArray[np.int64]:
        """A bin of the confidence and a pattern of right answers per step, bin·16 + pattern."""
        return rng.choice(self.joint.size, size=count, p=self.joint.ravel())

    def context(self, latent: Any) -> dict[str, float]:
        """The confidence of the cheapest API, known by its sixteenth: the middle of it."""
        return {"confidence": (int(latent) // PATTERNS + 0.5) / BINS}

    def look(self, latent: Any, arm: int) -> float:
        """The price of the cheapest API, where the arm does not pay it anyway."""
        return float(self._look[arm])

    def truth(self) -> tuple[Floats, Floats]:
        """The exact success probability and cost of every arm, without a look at the confidence."""
        return sure(self.joint.sum(axis=0) @ self._patterns.successes), self._patterns.costs[0].copy()

    def cases(self) -> Cases:
        """A row per confidence that occurs; the costs are those of looking."""
        weights = self.joint.sum(axis=1)
        there = weights > 0.0
        success = sure(self.joint[there] @ self._patterns.successes / weights[there, None])
        return Cases(weights[there], success, np.tile(self._patterns.costs[0] + self._look, (len(success), 1)))


def _turned(joint: Floats, what: str) -> Floats:
    """The joint frequencies with one of the `CHANGES`, among the confidences that occur."""
    if what not in CHANGES:
        raise InvalidArgument(f"mirrored must be one of {', '.join(CHANGES)}, got {quoted(what)}")
    there = np.flatnonzero(joint.sum(axis=1))
    weights = joint[there].sum(axis=1)
    outcomes = joint[there] / weights[:, None]
    if what in ("contexts", "both"):
        weights = weights[::-1]
    if what in ("outcomes", "both"):
        outcomes = outcomes[::-1]
    turned = np.zeros_like(joint)
    turned[there] = weights[:, None] * outcomes
    return turned


@functools.cache
def confidence_counts() -> dict[str, NDArray[np.int64]]:
    """For each task, how often each pattern (column) occurred with a confidence in each bin (row).

    >>> counts = confidence_counts()
    >>> len(counts), counts["YELP"].shape, int(counts["YELP"].sum())
    (11, (16, 16), 20000)
    """
    text = resources.files("suffice.lab.streams").joinpath("confidence_counts.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    found: dict[str, NDArray[np.int64]] = {}
    for row in rows:
        counts = found.setdefault(row["task"], np.zeros((BINS, PATTERNS), dtype=np.int64))
        counts[int(row["bin"])] = [int(row[f"pattern {pattern}"]) for pattern in range(PATTERNS)]
    return found
