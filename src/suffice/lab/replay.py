"""Replays of decision logs, as far as they can be known: a log holds the outcome of the chosen option only.

A threshold log bounds the outcomes that it does not hold, because a larger threshold succeeds wherever a smaller one did. An
option log holds rates of what was chosen, and no more.
"""

from dataclasses import replace

from suffice.lab.replay_files import Decisions
from suffice.lab.replay_options import replay_options
from suffice.lab.replay_records import Replay
from suffice.lab.replay_thresholds import replay_thresholds
from suffice.numbers import rate


def replay(log: Decisions, target: float) -> Replay:
    """What would have held the target on this log.

    >>> from suffice.lab.replay_files import decisions
    >>> found = replay(decisions({"option": ["a"] * 50 + ["b"] * 50, "success": [1, 0] * 25 + [1] * 50,
    ...     "cost": [1] * 50 + [3] * 50}), target=0.8)
    >>> {option: round(share, 6) for option, share in found.answers[0].mix.items()}, round(found.answers[0].cost, 6)
    ({'a': 0.4, 'b': 0.6}, 2.2)
    """
    goal = rate("target", target)
    result = replay_thresholds(log, goal) if log.kind == "threshold" else replay_options(log, goal)
    if not log.without_outcome:
        return result
    total = log.rows + log.without_outcome
    note = f"{log.without_outcome:,} of {total:,} rows hold no outcome and are left out."
    return replace(result, notes=(note, *result.notes))
