"""Numbers that a user wrote, checked and converted. Standard library only.

A decimal is read as it is written, as a fraction: targets are rounded to billionths, and 0.1 + 0.2 is 0.3.
"""

from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import Final

from suffice.errors import InvalidArgument, quoted

ONE_SUCCESS: Final = 1_000_000_000  # one success, in the billionths that successes are counted in
# Far beyond any use, and far enough inside the range of doubles that products and quotients of a few stay in it.
LARGEST: Final = 10**100
LARGEST_FLOAT: Final = 1e100


def as_fraction(name: str, value: object) -> Fraction:
    """The number as it is written: 0.7 is 7/10, not the double next to it.

    >>> as_fraction("target", 0.7), as_fraction("target", Fraction(2, 3))
    (Fraction(7, 10), Fraction(2, 3))
    """
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise InvalidArgument(f"{name} must be a number, got {quoted(value)}")
    if isinstance(value, Rational):
        number = Fraction(int(value.numerator), int(value.denominator))
    elif isinstance(value, Decimal) and (not value.is_finite() or abs(value.adjusted()) > 400):
        raise InvalidArgument(f"{name} must be finite, got {quoted(value)}")
    else:
        try:
            number = Fraction(Decimal(str(value)))  # str of a float is the shortest text that reads back as it
        except (ArithmeticError, ValueError):
            raise InvalidArgument(f"{name} must be finite, got {quoted(value)}") from None
    if abs(number.numerator) > LARGEST * number.denominator:  # faster than comparing fractions
        raise InvalidArgument(f"{name} must be at most 1e100, got {quoted(value)}")
    return number


def positive(name: str, value: object) -> Fraction:
    """A number above 0, and not so far from 1 that doubles lose it."""
    number = as_fraction(name, value)
    if number * LARGEST < 1:
        raise InvalidArgument(f"{name} must be above 0 (at least 1e-100), got {quoted(value)}")
    return number


def positive_float(name: str, value: object) -> float:
    """Like `positive`, as a float; a float is checked without a fraction, which takes longer."""
    return value if type(value) is float and 1e-100 <= value <= LARGEST_FLOAT else float(positive(name, value))


def rate(name: str, value: object, *, or_one: bool = False) -> Fraction:
    """A share strictly between 0 and 1; with `or_one` it may also be 1."""
    number = as_fraction(name, value)
    if 0 < number < 1 or (or_one and number == 1):
        return number
    rule = "lie above 0 and be at most 1" if or_one else "lie strictly between 0 and 1"
    hint = f": write {float(number / 100):g} for {float(number):g}%" if 10 <= number < 100 else ""
    raise InvalidArgument(f"{name} must {rule}, got {quoted(value)}{hint}")


def between(name: str, value: object, least: float, most: float) -> float:
    """A number in a range, its ends included."""
    number = float(as_fraction(name, value))
    if not least <= number <= most:
        raise InvalidArgument(f"{name} must lie between {least:g} and {most:g}, got {quoted(value)}")
    return number


def positive_int(name: str, value: object, least: int = 1) -> int:
    """A whole number of at least `least`; NumPy's integers count."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 1e6 is how people write a million
    if isinstance(value, bool) or not isinstance(value, Rational) or value.denominator != 1:
        raise InvalidArgument(f"{name} must be a whole number, got {quoted(value)}")
    number = int(value.numerator)
    if number < least:
        raise InvalidArgument(f"{name} must be at least {least}, got {quoted(value)}")
    if number > 10**18:
        raise InvalidArgument(f"{name} must be at most 1e18, got {quoted(value)}")
    return number


def flag(name: str, value: object) -> bool:
    """True or False; 0, 1 and NumPy's bools are refused."""
    if not isinstance(value, bool):
        raise InvalidArgument(f"{name} must be True or False, got {quoted(value)}")
    return value


def success_units(success: object) -> int:
    """A success in whole billionths, rounded down: what is counted never exceeds what was reported.

    >>> success_units(True), success_units(0), success_units(0.25)
    (1000000000, 0, 250000000)
    """
    kind = type(success)
    # NumPy's bool is no Real; its name is all that the standard library knows of it.
    if kind.__name__ in ("bool", "bool_") or (kind is float and success in (0.0, 1.0)):
        return ONE_SUCCESS if success else 0
    if not isinstance(success, Real | Decimal):
        raise InvalidArgument(f"success must be a bool or a number from 0 to 1, got {quoted(success)}")
    number = as_fraction("success", success)
    if not 0 <= number <= 1:
        raise InvalidArgument(f"success must lie between 0 and 1, got {quoted(success)}")
    return number.numerator * ONE_SUCCESS // number.denominator


def cost_told(cost: object) -> float:
    """A cost that came with an outcome: finite and not negative."""
    if type(cost) is float and 0.0 <= cost <= LARGEST_FLOAT:
        return cost
    number = as_fraction("cost", cost)
    if number < 0:
        raise InvalidArgument(f"cost must be at least 0, got {quoted(cost)}")
    return float(number)


def as_number(units: int) -> float:
    """Billionths as a number of successes: an int where it is whole."""
    return units // ONE_SUCCESS if units % ONE_SUCCESS == 0 else units / ONE_SUCCESS
