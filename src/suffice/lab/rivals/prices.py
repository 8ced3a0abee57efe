"""What a success is worth to rivals that hold no rate: a price, fixed or moved by outcomes. No method of its own."""

from typing import Any, Final

from suffice.best_mix import optimum
from suffice.errors import InvalidArgument, quoted
from suffice.lab.rivals.best_fixed import truth_of
from suffice.menu.menu import Menu
from suffice.numbers import as_fraction
from suffice.promise.rules import Promise

TRACKED: Final = "tracked"
SHADOW: Final = "shadow"


class Price:
    """With "tracked", price ← clip(price + step·(target − success), 0, cap), as the projected baseline has it; else fixed.

    The cap is safe_cost/(1 − target), beyond which nobody needs to go: there the safe option is worth its cost to all.

    >>> price = Price("tracked", Promise.make(0.75), step=0.2)
    >>> for success in (0.0, 0.0, 1.0):
    ...     price.move(success)
    >>> round(price.value, 3)
    0.25
    """

    def __init__(self, price: Any, promise: Promise, *, step: float = 0.0) -> None:
        self._target, self._cap = promise.rate, promise.cap
        self._step = step if price == TRACKED else 0.0
        self.value = 0.0 if price == TRACKED else fixed(price, f'"{TRACKED}", "{SHADOW}" or a number')

    def move(self, success: float) -> None:
        """Take in an outcome."""
        if self._step:
            self.value = min(max(self.value + self._step * (self._target - success), 0.0), self._cap)


def fixed(price: Any, allowed: str) -> float:
    """A price that a user gave as a number."""
    if isinstance(price, str) or price is None:
        raise InvalidArgument(f"price must be {allowed}, got {quoted(price)}")
    number = float(as_fraction("price", price))
    if number < 0.0:
        raise InvalidArgument(f"price must be at least 0, got {quoted(price)}")
    return number


def told(price: Any, menu: Menu, promise: Promise, stream: Any) -> Any:
    """The price with the shadow price, by the stream's truth, in the place of the word for it.

    It is what one more success costs the best mix that does not look at the context. Whoever looks needs another price to
    succeed equally often, and so the rate is then whatever is worth this one.

    >>> from suffice.lab.streams import LabelRanks
    >>> stream = LabelRanks.cifar100()
    >>> round(told("shadow", stream.menu, Promise.make(0.9), stream), 3), told(2.0, stream.menu, Promise.make(0.9), None)
    (0.055, 2.0)
    """
    if price != SHADOW:
        return price
    if stream is None:
        raise InvalidArgument("price must be a number where no stream is given whose truth() tells the shadow price")
    return optimum(*truth_of(menu, stream), promise.rate).price
