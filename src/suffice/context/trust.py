"""Trust: whether decisions go to the model, which sees the context, or to the chooser, which does not.

The model has to earn trust. While the chooser plays, each outcome is evidence: the likelihood of the outcome under the
model's prediction, against its likelihood under the option's overall success rate. The model is followed once the
log-likelihood ratio, summed since any moment, exceeds ENTER + ln(outcomes). If the context is irrelevant and the overall rate
is right, that happens with probability at most e^−ENTER·ln(1 + outcomes), by a union bound over the moments; measured it is
far rarer.

The model can lose trust in two ways.

- A share CONTROL_SHARE of decisions, drawn at random whatever the context, stays with the chooser as controls. Both kinds of
  play have a loss, cost − price·success, at the same prices and in the same contexts. Once the model's mean loss is SURE
  standard errors above the controls', the model is no longer followed; it cannot earn trust again before twice the time
  that it was followed.
- If the model predicts worse than the mean of each option's last RECENT outcomes, by LEAVE + ln(outcomes) since any moment,
  there is drift: the model and its trust start again.

The promise does not depend on any of this, and the guard bounds what a mistake here can cost. The gap that the guard limits
is kept here, too: that of the model's plays against bounds that never learned from them.
"""

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

from suffice.kernels.rows import Floats
from suffice.learning.rng import WORDS, uniform

ENTER: Final = 3.0
LEAVE: Final = 12.0
RECENT: Final = 256.0
CONTROL_SHARE: Final = 0.02
SURE: Final = 3.0
FEWEST: Final = 30.0  # decisions of either kind before losses are compared
FIRST_LOOK: Final = 1000.0  # decisions before the first comparison
LOOK: Final = 0.25  # the time until the next comparison, as a share of the time since trust was given
SUREST: Final = 1e-4  # probabilities are cut this far from 0 and 1

UNCOMPARED, MODEL, CONTROL = range(3)  # who decided: a limit or the chooser, the model, the chooser as a control


@dataclass(slots=True)
class Trust:
    """Whether the model is followed, and the evidence for that."""

    given: int = 0  # 1 while the model is followed
    outcomes: float = 0.0  # with a prediction, since the model started
    evidence: float = 0.0  # the log-likelihood ratio, and its least value so far
    least: float = 0.0
    drop: float = 0.0  # the evidence of drift
    begun: float = 0.0  # the step at which trust was given
    waits: float = 0.0  # the step before which trust is not given again
    compares: float = 0.0  # the step of the next comparison of losses
    lost: float = 0.0  # how often trust was lost
    anew: float = 0.0  # how often the model started again
    followed: float = 0.0  # outcomes of the model's decisions
    steps: float = 0.0
    gap: float = 0.0  # the guard's
    model_count: float = 0.0  # the model's decisions: their number, the sum of their losses, and of the squares
    model_loss: float = 0.0
    model_squares: float = 0.0
    control_count: float = 0.0  # likewise of the controls
    control_loss: float = 0.0
    control_squares: float = 0.0


class Watch(NamedTuple):
    """Trust; and in `room` the random generator's state, then per arm the recent mean of its successes and their number."""

    trust: Trust
    room: Floats


def room_size(arms: int) -> int:
    """How many cells `room` has."""
    return WORDS + 2 * arms


def is_control(watch: Watch) -> bool:
    """Whether the next decision is a control: a random draw."""
    return uniform(watch.room, 0) < CONTROL_SHARE


def likelihood(success: float, chance: float) -> float:
    """The log-likelihood of an outcome; a partial success counts in part."""
    sure = min(max(chance, SUREST), 1.0 - SUREST)
    return success * math.log(sure) + (1.0 - success) * math.log(1.0 - sure)


def update_evidence(watch: Watch, arm: int, success: float, predicted: float, plain: float) -> bool:
    """Update the evidence with an outcome, the model's prediction and the option's overall rate. Returns True on drift."""
    trust, room = watch.trust, watch.room
    trust.outcomes += 1.0
    at = WORDS + 2 * arm
    recent = room[at]
    room[at + 1] += 1.0
    room[at] += (success - recent) / min(room[at + 1] + 1.0, RECENT)
    model, much = likelihood(success, predicted), math.log(1.0 + trust.outcomes)
    if trust.given == 0:
        trust.evidence += model - likelihood(success, plain)
        trust.least = min(trust.least, trust.evidence)
        if trust.steps >= trust.waits and trust.evidence - trust.least > ENTER + much:
            trust.given, trust.begun, trust.compares = 1, trust.steps, trust.steps + FIRST_LOOK
            trust.model_count = trust.model_loss = trust.model_squares = 0.0
            trust.control_count = trust.control_loss = trust.control_squares = 0.0
    trust.drop = max(0.0, trust.drop - model + likelihood(success, recent))
    return trust.drop > LEAVE + much


def compare_costs(trust: Trust, decider: int, loss: float) -> None:
    """Count the loss of a decision, cost − price·success, once per outcome; revoke trust if the model's losses are larger."""
    trust.steps += 1.0
    if decider == MODEL:
        trust.followed += 1.0
    if trust.given == 0 or decider == UNCOMPARED:
        return
    if decider == MODEL:
        trust.model_count += 1.0
        trust.model_loss += loss
        trust.model_squares += loss * loss
    else:
        trust.control_count += 1.0
        trust.control_loss += loss
        trust.control_squares += loss * loss
    if trust.steps < trust.compares or min(trust.model_count, trust.control_count) < FEWEST:
        return
    trust.compares = trust.steps + math.floor(LOOK * (trust.steps - trust.begun)) + 1.0
    excess = trust.model_loss / trust.model_count - trust.control_loss / trust.control_count
    if excess > SURE * math.sqrt(error_of(trust)):
        trust.waits = trust.steps + 2.0 * (trust.steps - trust.begun)
        trust.lost += 1.0
        revoke(trust)


def error_of(trust: Trust) -> float:
    """The squared standard error of the difference of the two mean losses."""
    model = squared_error(trust.model_count, trust.model_loss, trust.model_squares)
    return model + squared_error(trust.control_count, trust.control_loss, trust.control_squares)


def squared_error(count: float, total: float, squares: float) -> float:
    """The squared standard error of a mean."""
    mean = total / count
    return max(squares / count - mean * mean, 0.0) / count


def saving(trust: Trust) -> tuple[float | None, float | None]:
    """The mean loss of controls less that of the model's decisions, and its standard error; None while there are too few."""
    if min(trust.model_count, trust.control_count) < FEWEST:
        return None, None
    less = trust.control_loss / trust.control_count - trust.model_loss / trust.model_count
    return less, math.sqrt(error_of(trust))


def revoke(trust: Trust) -> None:
    """Stop following the model."""
    trust.given = 0
    trust.evidence = trust.least = 0.0


def reset(watch: Watch) -> None:
    """Start trust again after drift, as the model does."""
    trust, room = watch.trust, watch.room
    trust.anew += 1.0
    trust.outcomes = trust.drop = 0.0
    forget_means(room)
    revoke(trust)


def forget_means(room: Floats) -> None:
    """Set the recent mean of each arm to that of no outcomes, one half."""
    for at in range(WORDS, len(room), 2):
        room[at] = 0.5
        room[at + 1] = 0.0
