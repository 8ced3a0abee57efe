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

None of this touches the promise, which holds whoever plays; and the guard bounds what a mistake here can cost. Its gap, GAP,
is kept here, too: that of what the model played, against bounds that never learned from it.

In a flat sequence: the cells named below, then per arm the recent mean of its successes and how many there were.
"""

import math
from typing import Any

from suffice.kernels.random import WORDS, draw, sow

ENTER = 3.0
LEAVE = 12.0
RECENT = 256.0
CONTROL = 0.02
SURE = 3.0
FEWEST = 30.0  # decisions of either before costs are compared
FIRST_LOOK = 1000.0  # decisions
LOOK = 0.25  # of the time since trust was given until the next look
SUREST = 1e-4

GIVEN, OUTCOMES, EVIDENCE, LEAST, DROP, BEGUN, WAITS, LOOKS, LOST, ANEW, FOLLOWED, STEPS, GAP = range(13)
SUMS = 13  # of the model's decisions and the controls': how many, sum, sum of squares
STATE = 19  # of the coin
PER_ARM = STATE + WORDS
NOBODY, MODEL, CHECK = range(
    3
)  # who played: a rail or a chooser that is not compared, the model, the chooser as a control


def length(arms: int) -> int:
    """How many cells it takes."""
    return PER_ARM + 2 * arms


def lay_out(trust: Any, arms: int, seed: int) -> None:
    """Fill in trust that is yet to be earned."""
    for arm in range(arms):
        trust[PER_ARM + 2 * arm] = 0.5
    sow(trust, STATE, seed)


def tossed(trust: Any) -> bool:
    """Whether the next decision stays with the chooser, to compare with."""
    return draw(trust, STATE) < CONTROL


def likelihood(success: float, chance: float) -> float:
    """The logarithm of how likely an outcome was; a success in part counts in part."""
    sure = min(max(chance, SUREST), 1.0 - SUREST)
    return success * math.log(sure) + (1.0 - success) * math.log(1.0 - sure)


def hear(trust: Any, arm: int, success: float, said: float, plain: float) -> bool:
    """An outcome of an option, what the model said of it and what is known without looking. True if the world has moved."""
    trust[OUTCOMES] += 1.0
    at = PER_ARM + 2 * arm
    recent = trust[at]
    trust[at + 1] += 1.0
    trust[at] += (success - recent) / min(trust[at + 1] + 1.0, RECENT)
    model, much = likelihood(success, said), math.log(1.0 + trust[OUTCOMES])
    if trust[GIVEN] == 0.0:
        trust[EVIDENCE] += model - likelihood(success, plain)
        trust[LEAST] = min(trust[LEAST], trust[EVIDENCE])
        if trust[STEPS] >= trust[WAITS] and trust[EVIDENCE] - trust[LEAST] > ENTER + much:
            trust[GIVEN], trust[BEGUN], trust[LOOKS] = 1.0, trust[STEPS], trust[STEPS] + FIRST_LOOK
            for cell in range(SUMS, SUMS + 6):
                trust[cell] = 0.0
    trust[DROP] = max(0.0, trust[DROP] - model + likelihood(success, recent))
    return bool(trust[DROP] > LEAVE + much)


def weigh(trust: Any, who: int, loss: float) -> None:
    """What a decision came to, cost − price·success, and who made it. Once for each outcome told between the rails."""
    trust[STEPS] += 1.0
    if who == MODEL:
        trust[FOLLOWED] += 1.0
    if trust[GIVEN] == 0.0 or who == NOBODY:
        return
    at = SUMS + 3 * (who - MODEL)
    trust[at] += 1.0
    trust[at + 1] += loss
    trust[at + 2] += loss * loss
    if trust[STEPS] < trust[LOOKS] or min(trust[SUMS], trust[SUMS + 3]) < FEWEST:
        return
    trust[LOOKS] = trust[STEPS] + math.floor(LOOK * (trust[STEPS] - trust[BEGUN])) + 1.0
    dearer = trust[SUMS + 1] / trust[SUMS] - trust[SUMS + 4] / trust[SUMS + 3]
    if dearer > SURE * math.sqrt(_error(trust, SUMS) + _error(trust, SUMS + 3)):
        trust[WAITS] = trust[STEPS] + 2.0 * (trust[STEPS] - trust[BEGUN])
        trust[LOST] += 1.0
        withdraw(trust)


def _error(trust: Any, at: int) -> float:
    """The square of the standard error of a mean."""
    mean = trust[at + 1] / trust[at]
    return float(max(trust[at + 2] / trust[at] - mean * mean, 0.0) / trust[at])


def saving(trust: Any) -> tuple[float | None, float | None]:
    """What a decision of the model's saves against a control, and its standard error; None while there are too few."""
    if min(trust[SUMS], trust[SUMS + 3]) < FEWEST:
        return None, None
    less = trust[SUMS + 4] / trust[SUMS + 3] - trust[SUMS + 1] / trust[SUMS]
    return float(less), math.sqrt(_error(trust, SUMS) + _error(trust, SUMS + 3))


def withdraw(trust: Any) -> None:
    """Follow the model no longer."""
    trust[GIVEN] = trust[EVIDENCE] = trust[LEAST] = 0.0


def begin(trust: Any, arms: int) -> None:
    """The world has moved: the model began anew, and so does trust."""
    trust[ANEW] += 1.0
    trust[OUTCOMES] = trust[DROP] = 0.0
    for arm in range(arms):
        trust[PER_ARM + 2 * arm] = 0.5
        trust[PER_ARM + 2 * arm + 1] = 0.0
    withdraw(trust)
