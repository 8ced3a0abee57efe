"""Decision logs, played again as far as they can be: only the outcome of what was chosen is known.

A score log knows every outcome, so its answer is exact. A threshold log bounds the outcomes it does not hold, because a
larger threshold succeeds wherever a smaller one did. An option log holds rates of what was chosen, and no more.
"""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Final

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.lab.method_specs import methods
from suffice.lab.replay_files import Decisions
from suffice.lab.replay_options import options
from suffice.lab.replay_records import ALWAYS, PAST, Answer, Choice, Floats, Place, Replay, answer, name_of
from suffice.lab.replay_thresholds import thresholds
from suffice.lab.run import Progress, compare
from suffice.lab.streams import RequiredThreshold
from suffice.numbers import as_fraction, rate

__all__ = ["Answer", "Choice", "Place", "Replay", "Scores", "replay"]

CELLS: Final = 20  # the menu's grid for a score log


def replay(
    log: Decisions, target: float, *, low: float | None = None, high: float | None = None, step: float | None = None,
    max_surplus: float | None = None, window: int = 500, progress: Progress | None = None,
) -> Replay:  # fmt: skip
    """What would have held the target on this log.

    Args:
        log: the decisions.
        target: the success rate to hold.
        low, high: for a score log, a threshold that never suffices and one that always does.
        step: for a score log, the width of the selector's grid; a twentieth of the range if left out.
        max_surplus: for a score log, as for `Selector`.
        window: for a score log, the length of the worst window.
        progress: called with a method and the number of its steps done.

    >>> from suffice.lab.replay_files import decisions
    >>> found = replay(decisions({"option": ["a"] * 50 + ["b"] * 50, "success": [1, 0] * 25 + [1] * 50,
    ...     "cost": [1] * 50 + [3] * 50}), target=0.8)
    >>> {option: round(share, 6) for option, share in found.answers[0].mix.items()}, round(found.answers[0].cost, 6)
    ({'a': 0.4, 'b': 0.6}, 2.2)
    """
    goal = rate("target", target)
    if log.kind == "score":
        return _scores(log, goal, low, high, step, max_surplus, window, progress)
    given = {"low": low, "high": high, "step": step, "max_surplus": max_surplus}
    for name, value in given.items():
        if value is not None:
            raise InvalidArgument(f"{name} must be left out unless the log has scores, got {quoted(value)}")
    found = thresholds(log, goal) if log.kind == "threshold" else options(log, goal)
    if not log.untold:
        return found
    left = f"{log.untold:,} of {log.rows + log.untold:,} rows hold no outcome and are left out."
    return replace(found, notes=(left, *found.notes))


# --- score logs: every outcome is known


class Scores(RequiredThreshold):
    """The scores of a log in their order, as needs; then again from the first."""

    def __init__(self, scores: Floats, low: float, high: float, step: float | Fraction) -> None:
        super().__init__(low, high, step)  # type: ignore[arg-type]  # a Fraction is read exactly
        self.scores = scores

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Floats:
        """One score per step."""
        return self.scores[(start + np.arange(count)) % self.scores.size]

    def truth(self) -> tuple[Floats, Floats]:
        """How often every arm suffices on the log, and what it costs."""
        ranks = np.searchsorted(np.sort(self.scores), np.array(self.menu.options), side="right")
        return np.concatenate([[0.0], ranks / self.scores.size, [1.0]]), self.windows().costs.copy()


def _scores(
    log: Decisions, goal: Fraction, low: float | None, high: float | None, step: float | None, max_surplus: float | None,
    window: int, progress: Progress | None,
) -> Replay:  # fmt: skip
    scores = log.columns["score"]
    bottom, top = _range(scores, low, high)
    stream = Scores(
        scores, bottom, top, (as_fraction("high", top) - as_fraction("low", bottom)) / CELLS if step is None else step
    )
    target = float(goal)
    makers = methods(stream, target, log.rows, ["threshold", "suffice"], max_surplus=max_surplus)
    played = compare(stream, target, log.rows, makers, window=window, progress=progress)
    ordered = np.sort(scores)
    enough = float(ordered[math.ceil(goal * log.rows) - 1])
    values, counts = np.unique(ordered, return_counts=True)
    success = np.concatenate([[0.0], np.cumsum(counts) / log.rows])
    success[-1] = 1.0
    spots = np.concatenate([[bottom], values])
    return Replay(
        kind="score",
        target=target,
        rows=log.rows,
        success=None,
        cost=None,
        answers=(
            Answer("one threshold", {name_of(enough): 1.0}, (enough - bottom) / (top - bottom)),
            answer("any mix of two", spots, success, (spots - bottom) / (top - bottom), target),
        ),
        limits=(
            "Exact for this log, in hindsight: nobody knew these thresholds before the last row. The replays used none of it.",
            "It assumes that a threshold works just where it is at least the score, and that its use changes no score.",
            PAST,
            ALWAYS,
        ),
        notes=(
            f"A threshold costs its place between {bottom:.6g}, which never suffices, and {top:.6g}, which always does; "
            "set them with --low and --high. The optimum of the replay is over its grid.",
        ),
        low=bottom,
        high=top,
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
