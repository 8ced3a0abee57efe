"""The price between the rails: the book's straight dual, or a curve of the debt around a hint of the right price.

The promise needs only its two rails, which are tested on the debt itself. Between them any price is safe; which one costs
least is a matter of theory 7 ("any price curve") and of measurement. With b the bend of the curve and x = 1 + debt/b:

    x >= 1         cap                        (debt >= 0: the upper rail)
    0 <= x < 1     hint + (cap − hint)·x³
    −2 <= x < 0    hint·(1 − (−x/2)³)
    x < −2         0

So around debt = −b the price hardly moves from the hint, and it leaves it ever faster towards either end. The hint begins
at the cap and is then the mean price of the last block; blocks grow by a quarter. It costs money at the worst.
"""

import math
from typing import Any

from suffice.book import CAP, FORGIVEN, TOLD, debt_of, dual_of, slack_of
from suffice.kernels.layout import CURVE, HINT


def bend_of(book: Any) -> float:
    """How many successes it takes to bend the price: never decreases, and at most a third of what may be banked."""
    return float(min(0.1 * math.sqrt(max(book[TOLD], 1.0)) + 10.0, slack_of(book) / 3.0))


def dual_at(book: Any, arms: Any) -> float:
    """The price now paid for one success."""
    if arms[CURVE] == 0.0:
        return dual_of(book)
    x = 1.0 + (debt_of(book) + book[FORGIVEN]) / bend_of(book)
    cap, hint = book[CAP], float(arms[HINT])
    if x >= 1.0:
        return float(cap)
    if x >= 0.0:
        return float(hint + (cap - hint) * (x * x * x))
    if x >= -2.0:
        return float(hint * (1.0 + 0.125 * (x * x * x)))
    return 0.0


def price_at(book: Any, arms: Any) -> float:
    """The same, cut to where it is a price (0 if it is no number): where the envelope is to be settled."""
    dual = dual_at(book, arms)
    return float(min(dual, book[CAP])) if dual > 0.0 else 0.0
