"""The book: rules and counts in one flat sequence of numbers, and the functions on it that the guarantee rests on.

Standard library only. They run as they are on a list, and `kernels` compiles these same functions for arrays.

    debt  = target·told − successes                  successes owed; negative when ahead
    dual  = start + step·debt                        the price now paid for one success
    rails : debt >= top    → everything              (dual >= cap)
            debt <= bottom → nothing                 (dual <= 0)

With the safe start, top is 0 and bottom is −slack, where slack = cap/step: the most successes that may be banked.

Everything is computed from counts, never accumulated. The target is the fraction that its digits spell and successes
are counted in whole billionths, so whether the debt is at least 0 is decided in whole numbers and never hangs on
rounding.
"""

import math
from typing import Any, Final

from suffice.checks import WHOLE

NOTHING: Final = -1
PRICE: Final = 0
EVERYTHING: Final = 1

# A slack that was computed in floating point, such as cap/(5/sqrt(900)), lands a few last bits beside the number that
# was meant. Both rails are moved inwards by this factor, so that a debt which equals the number meant is at the rail.
# Outcomes of 0 and 1 move the debt by far more, so no other decision changes.
SNAP: Final = 1.0 - 2.0**-40
ROUNDING: Final = 1.0 + 2.0**-40  # for comparing a debt with a bound that was computed in floating point

CONFIDENCE: Final = 0.99  # of what is said about an everything that may fail

# The cells of a book. First the rules, which never change, then the counts.
NUMERATOR, DENOMINATOR, CAP, START, SLACK, STEP, FORGIVING, LUCK = range(8)
TOLD, SUCCESSES, PARTS, FORGIVEN, EXPIRED, REVIVED, UNAUDITED = range(8, 15)
EVERYTHING_PLAYS, EVERYTHING_SUCCESSES, EVERYTHING_FAILURES, EVERYTHING_LOST, NOTHING_SUCCESSES = range(15, 20)
BREACHES, FORCED, MISSING, MISSING_MIRROR, EXCESS, WORST_EXCESS = range(20, 26)
NEXT_ID, SETTLED, OUT, OUT_MIRROR = range(26, 30)
COUNTED: Final = 30
LENGTH: Final = 32  # two cells are spare: a book fills four cache lines


# --- from counts to what may be played


def lead(book: Any) -> int:
    """numerator·told − denominator·(whole successes): the debt in units of 1/denominator, parts of successes apart."""
    return int(book[NUMERATOR]) * int(book[TOLD]) - int(book[DENOMINATOR]) * int(book[SUCCESSES])


def debt_of(book: Any) -> float:
    """Successes owed. The nearest double to the exact value where all successes were whole."""
    if book[PARTS] == 0:
        return lead(book) / int(book[DENOMINATOR])
    return float(lead(book) - int(book[DENOMINATOR]) * (book[PARTS] / WHOLE)) / int(book[DENOMINATOR])


def behind(book: Any) -> bool:
    """Whether the debt is at least 0, decided in whole numbers: debt·denominator = lead − denominator·parts/WHOLE."""
    ahead, denominator, parts = lead(book), int(book[DENOMINATOR]), int(book[PARTS])
    if ahead <= 0 or parts == 0:
        return ahead >= 0 and parts == 0
    return ahead >= denominator or ahead * WHOLE >= denominator * parts


def slack_of(book: Any) -> float:
    """The most successes that may be banked now; never decreases."""
    if book[SLACK] > 0.0:
        return float(book[SLACK])
    return math.sqrt(max(book[TOLD], 1.0))


def dual_of(book: Any) -> float:
    """The price now paid for one success: start + step·debt, never projected."""
    step = book[STEP] if book[STEP] > 0.0 else book[CAP] / slack_of(book)
    return float(book[START] + step * (debt_of(book) + book[FORGIVEN]))


def rail_of(book: Any) -> int:
    """What must be played now: EVERYTHING, NOTHING, or anything at a PRICE.

    The top is tested first: never behind comes before never ahead.
    """
    width = slack_of(book) * SNAP
    safe = book[START] / book[CAP]
    debt = debt_of(book) + book[FORGIVEN]
    if safe == 1.0 and (behind(book) or (book[FORGIVEN] > 0.0 and debt >= 0.0)):
        return EVERYTHING
    if safe < 1.0 and debt >= (1.0 - safe) * width:
        return EVERYTHING
    if debt <= -safe * width:
        return NOTHING
    return PRICE


# --- what is certain


def base_of(book: Any) -> float:
    """top + target·D + X: with D−1 the most other decisions that were outstanding when one (not everything) was asked,
    and X lost plays of everything."""
    top = (1.0 - book[START] / book[CAP]) * slack_of(book)
    return float(top + book[NUMERATOR] * (1.0 + book[MISSING]) / book[DENOMINATOR] + book[EVERYTHING_LOST])


def bound_of(book: Any) -> float:
    """The bound on the debt while the boundary options do what the menu says of them.

    LUCK is 1/r, with r > 0 the solution of E[exp(r·(target − success))] = 1 for an everything that is known to fail
    sometimes (Lundberg), and 0 for one that does not. Its shortfalls are a walk of mean below zero, which from any one
    play ever exceeds x with probability at most exp(−r·x). Giving play m the share 1/(m(m+1)) of the 1% makes
    x = ln(m(m+1)/1%)/r hold for all plays and all times at once.
    """
    plays = book[EVERYTHING_PLAYS]
    if book[LUCK] == 0.0 or plays == 0:
        return base_of(book)
    return base_of(book) + float(book[LUCK]) * math.log(plays * (plays + 1.0) / (1.0 - CONFIDENCE))


# --- from asks and outcomes to counts


def ask_of(book: Any, kind: int, forced: bool) -> None:
    """Count a decision as outstanding. Theory 4: D counts what one other than everything did not know; D' mirrors it."""
    if forced:
        book[FORCED] += 1
    if kind != EVERYTHING:
        book[MISSING] = max(book[MISSING], book[OUT])
        book[OUT] += 1
    if kind != NOTHING:
        book[MISSING_MIRROR] = max(book[MISSING_MIRROR], book[OUT_MIRROR])
        book[OUT_MIRROR] += 1


def back_of(book: Any, kind: int) -> None:
    """Count a decision as no longer outstanding."""
    if kind != EVERYTHING:
        book[OUT] -= 1
    if kind != NOTHING:
        book[OUT_MIRROR] -= 1


def record_of(book: Any, kind: int, units: int, expired: bool) -> None:
    """Count one outcome, in billionths of a success."""
    book[TOLD] += 1
    _succeed(book, units)
    if expired:
        book[EXPIRED] += 1
    if kind == EVERYTHING and expired:
        book[EVERYTHING_LOST] += 1
    elif kind == EVERYTHING:
        _everything(book, units)
    elif kind == NOTHING:
        book[NOTHING_SUCCESSES] += units / WHOLE
    _settle(book)


def amend_of(book: Any, kind: int, units: int) -> None:
    """Count an outcome that came after its decision had expired. The debt can only fall."""
    _succeed(book, units)
    if units > 0:
        book[REVIVED] += 1
    if kind == EVERYTHING:
        book[EVERYTHING_LOST] -= 1
        _everything(book, units)
    elif kind == NOTHING:
        book[NOTHING_SUCCESSES] += units / WHOLE
    _settle(book)


def _succeed(book: Any, units: int) -> None:
    if units == WHOLE:
        book[SUCCESSES] += 1
    elif units > 0:
        parts = int(book[PARTS]) + units
        book[SUCCESSES] += parts // WHOLE
        book[PARTS] = parts % WHOLE


def _everything(book: Any, units: int) -> None:
    """Count what everything did, and its shortfall: the worst sum of target − success over its most recent plays."""
    shortfall = book[NUMERATOR] / book[DENOMINATOR] - units / WHOLE
    book[EVERYTHING_PLAYS] += 1
    book[EVERYTHING_SUCCESSES] += units / WHOLE
    # Short of the target by a whole billionth: less than that is the rounding of what was told.
    if int(book[NUMERATOR]) * WHOLE - int(book[DENOMINATOR]) * units >= int(book[DENOMINATOR]):
        book[EVERYTHING_FAILURES] += 1
    book[EXCESS] = max(0.0, book[EXCESS] + shortfall)
    book[WORST_EXCESS] = max(book[WORST_EXCESS], book[EXCESS])


def _settle(book: Any) -> None:
    """Forgive surplus below the bottom where nothing cannot be played; note a debt above its bound."""
    debt = debt_of(book)
    if book[FORGIVING] > 0.0:
        bottom = -(book[START] / book[CAP]) * slack_of(book) * SNAP
        book[FORGIVEN] = max(book[FORGIVEN], bottom - debt)
    if debt > bound_of(book) * ROUNDING:
        book[BREACHES] += 1
