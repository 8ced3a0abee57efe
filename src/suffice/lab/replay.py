"""Replays of decision logs, as far as they can be known: a log holds the outcome of the chosen option only.

A score log holds every outcome, so its answer is exact. A threshold log bounds the outcomes that it does not hold, because a
larger threshold succeeds wherever a smaller one did. An option log holds rates of what was chosen, and no more.
"""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Final

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.kernels.rows import Floats
from suffice.lab.method_specs import methods
from suffice.lab.replay_files import Decisions
from suffice.lab.replay_options import replay_options
from suffice.lab.replay_records import ALWAYS, PAST, Answer, Replay, answer, name_of
from suffice.lab.replay_thresholds import replay_thresholds
from suffice.lab.run import Progress, Run, run_methods, setting_of
from suffice.lab.streams import RequiredThreshold
from suffice.lab.streams.base import ByWindows
from suffice.numbers import as_fraction, rate

CELLS: Final = 20  # the menu's grid for a score log


def replay(
    log: Decisions, target: float, *, low: float | None = None, high: float | None = None, window: int = 500,
    progress: Progress | None = None,
) -> Replay:  # fmt: skip
    """What would have held the target on this log.

    Args:
        log: the decisions.
        target: the success rate to hold.
        low, high: for a score log, a threshold that never suffices and one that always does.
        window: for a score log, the length of the worst window.
        progress: called as steps of a score log are done.

    >>> from suffice.lab.replay_files import decisions
    >>> found = replay(decisions({"option": ["a"] * 50 + ["b"] * 50, "success": [1, 0] * 25 + [1] * 50,
    ...     "cost": [1] * 50 + [3] * 50}), target=0.8)
    >>> {option: round(share, 6) for option, share in found.answers[0].mix.items()}, round(found.answers[0].cost, 6)
    ({'a': 0.4, 'b': 0.6}, 2.2)
    """
    goal = rate("target", target)
    if log.kind == "score":
        ends = _range(log.columns["score"], low, high)
        return _replay_scores(log, goal, ends, _play(log, float(goal), ends, window, progress))
    for name, value in {"low": low, "high": high}.items():
        if value is not None:
            raise InvalidArgument(f"{name} must be left out unless the log has scores, got {quoted(value)}")
    result = replay_thresholds(log, goal) if log.kind == "threshold" else replay_options(log, goal)
    if not log.without_outcome:
        return result
    total = log.rows + log.without_outcome
    note = f"{log.without_outcome:,} of {total:,} rows hold no outcome and are left out."
    return replace(result, notes=(note, *result.notes))


# --- score logs: every outcome is known


class Scores(ByWindows):
    """The scores of a log in their order, as required thresholds; then again from the first."""

    linear = True

    def __init__(self, scores: Floats, low: float, high: float, step: Fraction) -> None:
        needs = RequiredThreshold(low, high, step)  # type: ignore[arg-type]  # a Fraction is read exactly
        self.menu, self.low, self.high, self.threshold_outcome = (
            needs.menu,
            needs.low,
            needs.high,
            needs.threshold_outcome,
        )
        self._windows, self.scores = needs.windows(), scores

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Floats:
        """One score per step."""
        return self.scores[(start + np.arange(count)) % self.scores.size]

    def truth(self) -> tuple[Floats, Floats]:
        """How often every arm suffices on the log, and what it costs."""
        ranks = np.searchsorted(np.sort(self.scores), np.array(self.menu.options), side="right")
        return np.concatenate([[0.0], ranks / self.scores.size, [1.0]]), self.windows().costs.copy()


def _play(log: Decisions, target: float, ends: tuple[float, float], window: int, progress: Progress | None) -> Run:
    """The log in its order, through the selectors."""
    low, high = ends
    width = (as_fraction("high", high) - as_fraction("low", low)) / CELLS
    stream = Scores(log.columns["score"], low, high, width)
    makers = methods(stream, target, log.rows, ["threshold", "suffice"])
    return run_methods(setting_of("log", "scores", stream, target, log.rows, window=window), makers, progress=progress)


def _replay_scores(log: Decisions, goal: Fraction, ends: tuple[float, float], played: Run) -> Replay:
    (low, high), target = ends, float(goal)
    ordered = np.sort(log.columns["score"])
    enough = float(ordered[math.ceil(goal * log.rows) - 1])
    values, counts = np.unique(ordered, return_counts=True)
    success = np.concatenate([[0.0], np.cumsum(counts) / log.rows])
    success[-1] = 1.0
    thresholds = np.concatenate([[low], values])
    return Replay(
        kind="score",
        target=target,
        rows=log.rows,
        success=None,
        cost=None,
        answers=(
            Answer("one threshold", {name_of(enough): 1.0}, (enough - low) / (high - low)),
            answer("any mix of two", thresholds, success, (thresholds - low) / (high - low), target),
        ),
        limits=(
            "Exact for this log, in hindsight: these thresholds were known only after the last row. The replays used none of "
            "it.",
            "It assumes that a threshold works just where it is at least the score, and that its use changes no score.",
            PAST,
            ALWAYS,
        ),
        notes=(
            f"A threshold costs its place between {low:.6g}, which never suffices, and {high:.6g}, which always does; "
            "set them with --low and --high. The optimum of the replay is over its grid.",
        ),
        low=low,
        high=high,
        played=played,
    )


def _range(scores: Floats, low: float | None, high: float | None) -> tuple[float, float]:
    least, most = float(scores.min()), float(scores.max())
    top = most if high is None else float(as_fraction("high", high))
    width = (most - least) or abs(most) or 1.0
    bottom = (0.0 if least > 0.0 else least - 0.01 * width) if low is None else float(as_fraction("low", low))
    if top < most:
        raise InvalidArgument(
            f"high must be at least the largest score {most:g}, to always succeed, got {quoted(high)}"
        )
    if bottom >= least:
        raise InvalidArgument(f"low must be below the smallest score {least:g}, to never succeed, got {quoted(low)}")
    return bottom, top
