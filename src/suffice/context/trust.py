"""Trust: whether a model that looks at the context is followed, or the chooser that does not look.

It has to be earned. As long as the chooser plays, each outcome is evidence: how likely the model made it, against how likely
what is known without looking made it. If the logarithm of that ratio, summed from any moment on, comes to more than
ENTER + ln(outcomes), the model is followed. Where the context says nothing and what is known without looking is right, that
happens with a probability of at most e^−ENTER·ln(1 + outcomes), by a union over the moments; measured it is far rarer.

And it can be lost. Followed, a model is watched in two ways.

- A share CONTROL of its decisions, by a coin and whatever the context, stays with the chooser. What plays of either come to,
  cost − price·success, can be compared: the same prices, the same contexts. Once the model's are SURE standard errors
  dearer, it is no longer followed, and has to earn trust anew after twice the time it had.
- If its predictions are worse than the mean of each option's last outcomes, RECENT of them, by LEAVE + ln(outcomes) from any
  moment on, the world has moved: the model begins anew, if it can, and so does trust.

None of this touches the promise, which holds whoever plays; and the guard bounds what a mistake here can cost. Its gap is
kept here, too: that of what the model played, against bounds that never learned from it.
"""

import math
from collections.abc import MutableSequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from suffice.learning.rng import WORDS, uniform

ENTER: Final = 3.0
LEAVE: Final = 12.0
RECENT: Final = 256.0
CONTROL_SHARE: Final = 0.02
SURE: Final = 3.0
FEWEST: Final = 30.0  # decisions of either before costs are compared
FIRST_LOOK: Final = 1000.0  # decisions
LOOK: Final = 0.25  # of the time since trust was given until the next comparison
SUREST: Final = 1e-4

UNCOMPARED, MODEL, CONTROL = range(3)  # who played: a limit or a chooser, the model, the chooser as a control


@dataclass(slots=True)
class Trust:
    """How far a model is trusted, and what that rests on."""

    given: int = 0  # whether the model is followed
    outcomes: float = 0.0  # that the model foretold, since it began
    evidence: float = 0.0  # that it knows more than is known without looking; and the least this ever was
    least: float = 0.0
    drop: float = 0.0  # evidence that the world has moved
    begun: float = 0.0  # when trust was given, in steps
    waits: float = 0.0  # until when it is not given again
    compares: float = 0.0  # when costs are compared next
    lost: float = 0.0  # how often it was lost
    anew: float = 0.0  # how often the model began anew
    followed: float = 0.0  # outcomes of the model's decisions
    steps: float = 0.0
    gap: float = 0.0  # of the guard
    model_count: float = 0.0  # of the model's decisions: how many, what they came to, and its squares
    model_loss: float = 0.0
    model_squares: float = 0.0
    control_count: float = 0.0  # the same of the controls
    control_loss: float = 0.0
    control_squares: float = 0.0


class Watch(NamedTuple):
    """Trust, and room for the generator's state and, per arm, the recent mean of its successes and how many there were."""

    trust: Trust
    room: MutableSequence[float]


def room_size(arms: int) -> int:
    """How many cells the room takes."""
    return WORDS + 2 * arms


def is_control(watch: Watch) -> bool:
    """Whether the next decision stays with the chooser, to compare with."""
    return uniform(watch.room, 0) < CONTROL_SHARE


def likelihood(success: float, chance: float) -> float:
    """The logarithm of how likely an outcome was; a success in part counts in part."""
    sure = min(max(chance, SUREST), 1.0 - SUREST)
    return success * math.log(sure) + (1.0 - success) * math.log(1.0 - sure)


def update_evidence(watch: Watch, arm: int, success: float, foretold: float, plain: float) -> bool:
    """Take in an outcome, what the model foretold of it and what is known without looking. True if the world has moved."""
    trust, room = watch.trust, watch.room
    trust.outcomes += 1.0
    at = WORDS + 2 * arm
    recent = room[at]
    room[at + 1] += 1.0
    room[at] += (success - recent) / min(room[at + 1] + 1.0, RECENT)
    model, much = likelihood(success, foretold), math.log(1.0 + trust.outcomes)
    if trust.given == 0:
        trust.evidence += model - likelihood(success, plain)
        trust.least = min(trust.least, trust.evidence)
        if trust.steps >= trust.waits and trust.evidence - trust.least > ENTER + much:
            trust.given, trust.begun, trust.compares = 1, trust.steps, trust.steps + FIRST_LOOK
            trust.model_count = trust.model_loss = trust.model_squares = 0.0
            trust.control_count = trust.control_loss = trust.control_squares = 0.0
    trust.drop = max(0.0, trust.drop - model + likelihood(success, recent))
    return trust.drop > LEAVE + much


def compare_costs(trust: Trust, who: int, loss: float) -> None:
    """What a decision came to, cost − price·success, and who made it. Once for each outcome told between the limits."""
    trust.steps += 1.0
    if who == MODEL:
        trust.followed += 1.0
    if trust.given == 0 or who == UNCOMPARED:
        return
    if who == MODEL:
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
    dearer = trust.model_loss / trust.model_count - trust.control_loss / trust.control_count
    if dearer > SURE * math.sqrt(error_of(trust)):
        trust.waits = trust.steps + 2.0 * (trust.steps - trust.begun)
        trust.lost += 1.0
        revoke(trust)


def error_of(trust: Trust) -> float:
    """The square of the standard error of the difference of the two mean losses."""
    model = squared_error(trust.model_count, trust.model_loss, trust.model_squares)
    return model + squared_error(trust.control_count, trust.control_loss, trust.control_squares)


def squared_error(count: float, total: float, squares: float) -> float:
    """The square of the standard error of a mean."""
    mean = total / count
    return max(squares / count - mean * mean, 0.0) / count


def saving(trust: Trust) -> tuple[float | None, float | None]:
    """What a decision of the model's saves against a control, and its standard error; None while there are too few."""
    if min(trust.model_count, trust.control_count) < FEWEST:
        return None, None
    less = trust.control_loss / trust.control_count - trust.model_loss / trust.model_count
    return less, math.sqrt(error_of(trust))


def revoke(trust: Trust) -> None:
    """Follow the model no longer."""
    trust.given = 0
    trust.evidence = trust.least = 0.0


def reset(watch: Watch) -> None:
    """The world has moved: the model began anew, and so does trust."""
    trust, room = watch.trust, watch.room
    trust.anew += 1.0
    trust.outcomes = trust.drop = 0.0
    forget_means(room)
    revoke(trust)


def forget_means(room: MutableSequence[float]) -> None:
    """No arm was played recently: each mean is that of a coin."""
    for at in range(WORDS, len(room), 2):
        room[at] = 0.5
        room[at + 1] = 0.0
