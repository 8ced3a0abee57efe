"""Reading numbers that a user wrote: exactly, or not at all. Standard library only."""

import math
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, Final

from suffice.errors import InvalidArgument, shown

WHOLE: Final = 1_000_000_000  # one success, in the billionths that successes are counted in


def exact(name: str, value: Any) -> Fraction:
    """The number as it is written: 0.7 is 7/10, not the double next to it.

    >>> exact("target", 0.7), exact("target", Fraction(2, 3))
    (Fraction(7, 10), Fraction(2, 3))
    """
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise InvalidArgument(f"{name} must be a number, got {shown(value)}")
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    try:
        return Fraction(str(value))  # str of a float is the shortest text that reads back as it
    except ValueError:
        raise InvalidArgument(f"{name} must be finite, got {shown(value)}") from None


def positive(name: str, value: Any) -> Fraction:
    """A number above 0 that a double can hold."""
    number = exact(name, value)
    try:
        sound = number > 0 and float(number) > 0.0
    except OverflowError:
        sound = False
    if not sound:
        raise InvalidArgument(f"{name} must be above 0 and finite, got {shown(value)}")
    return number


def whole(name: str, value: Any, least: int = 1) -> int:
    """A whole number of at least `least`; NumPy's integers count."""
    if isinstance(value, bool) or not isinstance(value, Rational) or value.denominator != 1:
        raise InvalidArgument(f"{name} must be a whole number, got {shown(value)}")
    if value < least:
        raise InvalidArgument(f"{name} must be at least {least}, got {shown(value)}")
    return int(value.numerator)


def flag(name: str, value: Any) -> bool:
    """True or False and nothing that merely looks like one."""
    if not isinstance(value, bool):
        raise InvalidArgument(f"{name} must be True or False, got {shown(value)}")
    return value


def success_units(success: Any) -> int:
    """A success in whole billionths, rounded down: what is counted never exceeds what was told.

    >>> success_units(True), success_units(0), success_units(0.25)
    (1000000000, 0, 250000000)
    """
    if success is True:
        return WHOLE
    if success is False:
        return 0
    # NumPy's bool is no Real; its name is all that the standard library knows of it.
    if not isinstance(success, Real | Decimal) and type(success).__name__ not in ("bool", "bool_"):
        raise InvalidArgument(f"success must be a bool or a number from 0 to 1, got {shown(success)}")
    value = float(success)
    if not 0.0 <= value <= 1.0:
        raise InvalidArgument(f"success must lie between 0 and 1, got {shown(success)}")
    return int(value * WHOLE)


def cost_told(cost: Any) -> float:
    """A cost that was told: finite and not negative."""
    if isinstance(cost, bool) or not isinstance(cost, Real | Decimal):
        raise InvalidArgument(f"cost must be a number, got {shown(cost)}")
    value = float(cost)
    if not (math.isfinite(value) and value >= 0.0):
        raise InvalidArgument(f"cost must be finite and at least 0, got {shown(cost)}")
    return value


def as_number(units: int) -> float:
    """Billionths as a number of successes: an int where it is whole."""
    return units // WHOLE if units % WHOLE == 0 else units / WHOLE
