"""Reading contexts: which fields there are, of which kind, and one float per field. `features` turns these into vectors.

A context is a mapping, a row of NumPy or pandas, a list or a tuple (such as a row of polars). The fields and their kinds are
given, or are those of the first context. A number is itself; a category is a code: 1, 2, ... in order of appearance, and 0
once there are MOST_CATEGORIES. A value that is missing, None, NaN or infinite becomes NaN and never raises.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from operator import itemgetter
from typing import Any, Final

import numpy as np

from suffice.context.encode import CATEGORY, NUMBER, UNDECIDED
from suffice.errors import InvalidArgument, InvalidContext, quoted
from suffice.kernels.rows import Floats, Rows

MOST_CATEGORIES: Final = 32
KINDS: Final = {"number": NUMBER, "category": CATEGORY}
NAMES: Final = {code: name for name, code in KINDS.items()} | {UNDECIDED: "undecided"}

_PLAIN: Final = frozenset((float, int, np.float64))  # types whose sum is quick and never warns
_MISSING: Final = ("NAType", "NaTType", "MaskedConstant")  # the missing values of pandas and NumPy


class Schema:
    """Fields, their kinds, and the categories seen.

    >>> schema = Schema()
    >>> schema.row({"length": 12, "task": "chat"}).tolist(), schema.row({"task": "code"}).tolist()
    ([12.0, 1.0], [nan, 2.0])
    """

    def __init__(self, fields: Mapping[str, str] | None = None) -> None:
        self.names: tuple[str, ...] = ()
        self.kinds: tuple[int, ...] = ()  # replaced by another tuple whenever a kind is decided
        self.codes: tuple[dict[str, float], ...] = ()
        self.given = fields is not None  # whether the user named the fields and their kinds
        self.ordered = self.given  # whether a context may be a row without names
        self.closed = False  # whether new categories get the code 0
        self._known: frozenset[str] = frozenset()
        self._decided = False  # whether there are fields, and the kinds of all are known
        self._categories: list[tuple[int, dict[str, float]]] = []
        if fields is not None:
            check_fields(fields)
            self.set_fields(list(fields), [KINDS[kind] for kind in fields.values()], ordered=True)

    def set_fields(self, names: list[str], kinds: list[int], *, ordered: bool) -> None:
        """Set the fields, once."""
        self.names, self.ordered, self._known = tuple(names), ordered, frozenset(names)
        # The first name twice: for a single name, itemgetter returns no tuple.
        self._pick = itemgetter(*names, *(names[:1] or [""]))
        self.codes = tuple({} for _ in names)
        self.set_kinds(kinds)

    def set_kinds(self, kinds: list[int]) -> None:
        """Set the kinds of the fields."""
        self.kinds, self._decided = tuple(kinds), UNDECIDED not in kinds
        self._categories = [(place, self.codes[place]) for place, kind in enumerate(kinds) if kind == CATEGORY]

    # --- from a context to a row

    def row(self, context: object) -> Floats:
        """One float per field. Learns the fields, their kinds and the codes of categories, and nothing else."""
        row: Floats | None = None
        if type(context) is dict:
            row = self._fast_row(context)
        elif type(context) is np.ndarray:
            row = self._array_row(context)
        elif self.ordered and (type(context) is list or type(context) is tuple):
            row = self._fast_row(context)
        return self.checked_row(context) if row is None else row

    def _fast_row(self, context: dict[str, object] | Sequence[object]) -> Floats | None:
        """The row, if it has plain numbers and known categories only; else None."""
        if len(context) != len(self.names) or not self._decided:
            return None
        try:
            values: Sequence[Any] = self._pick(context)[:-1] if isinstance(context, dict) else context
            if self._categories:
                values = list(values)
                for place, codes in self._categories:
                    value = values[place]
                    values[place] = codes.get(str(value) if type(value) is bool else value)
            # A sum is finite only if all terms are.
            if _PLAIN.issuperset(map(type, values)) and math.isfinite(sum(values)):
                return np.array(values, dtype=np.float64)
        except (KeyError, TypeError, OverflowError):  # another field, an unhashable value, a number beyond all doubles
            pass
        return None

    def _array_row(self, context: Rows) -> Floats | None:
        """The row, if the context is a plain array of numbers and all fields are numbers; else None."""
        plain = context.ndim == 1 and context.dtype.kind in "fiu" and context.dtype.itemsize <= 8
        numbers = self._decided and not self._categories
        if plain and numbers and self.ordered and len(context) == len(self.names):
            row: Floats = context.astype(np.float64)
            row[~np.isfinite(row)] = math.nan
            return row
        return None

    def checked_row(self, context: object) -> Floats:
        """Like `row`, for any context: slower, and raises where the context does not fit."""
        read = self._read(context)
        row = np.empty(len(read))
        for place, value in enumerate(read):
            row[place] = self._code(place, value) if isinstance(value, str) else value
        return row

    def _code(self, place: int, category: str) -> float:
        codes = self.codes[place]
        if category not in codes and not self.closed and len(codes) < MOST_CATEGORIES:
            codes[category] = len(codes) + 1.0
        return codes.get(category, 0.0)

    def values(self, context: object) -> dict[str, float | str]:
        """The fields by name, categories as text, without missing values."""
        read = self._read(context)
        return {name: value for name, value in zip(self.names, read, strict=True) if value == value}

    def _read(self, context: object) -> list[float | str]:
        """A number, or the text of a category, per field. The first value of a field decides its kind."""
        given = self._by_name(as_fields(context))
        kinds = list(self.kinds)
        read: list[float | str] = []
        for place, name in enumerate(self.names):
            value = given.get(name)
            if kinds[place] == UNDECIDED:
                kinds[place] = kind_of(name, value)
            if kinds[place] == CATEGORY:
                read.append(category_of(name, value, self.given))
            else:
                read.append(_finite(value) if type(value) is float else number_of(name, value))
        if kinds != list(self.kinds):
            self.set_kinds(kinds)
        return read

    def _by_name(self, given: dict[str, object] | list[object]) -> dict[str, object]:
        """The values by the names of the fields, which the first context sets."""
        if not self.names:
            named = given if isinstance(given, dict) else {str(place): value for place, value in enumerate(given)}
            if not named:
                raise InvalidContext("context must have at least one field, got none")
            kinds = [kind_of(name, value) for name, value in named.items()]
            self.set_fields(list(named), kinds, ordered=isinstance(given, list))
            return named
        if isinstance(given, dict):
            if not given.keys() <= self._known:
                extra = next(name for name in given if name not in self._known)
                raise InvalidContext(
                    f"context must have no other fields than {_listed(self.names)}, got {extra!r}: leave it out, "
                    f"or name all fields beforehand with LogisticModel(fields=...)"
                )
            return given
        if not self.ordered:
            raise InvalidContext(
                f"context must be a mapping with the fields {_listed(self.names)}, as the first one was, "
                f"got a row of {len(given)} without names"
            )
        if len(given) != len(self.names):
            raise InvalidContext(
                f"context must be a row of {len(self.names)} values, for {_listed(self.names)}, got {len(given)}"
            )
        return dict(zip(self.names, given, strict=True))


def check_fields(fields: Mapping[str, str]) -> None:
    """Raise if these are not names of fields with their kinds."""
    if not isinstance(fields, Mapping) or not fields:
        raise InvalidArgument(
            f'fields must map each field to "number" or "category", such as {{"length": "number"}}, got {quoted(fields)}'
        )
    for name, kind in fields.items():
        if not isinstance(name, str):
            raise InvalidArgument(f"fields must have text as names, got {quoted(name)}")
        if not isinstance(kind, str) or kind not in KINDS:
            raise InvalidArgument(f'fields[{name!r}] must be "number" or "category", got {quoted(kind)}')


# --- from what a user passes to plain values


def as_fields(context: object) -> dict[str, object] | list[object]:
    """A context as a dict with text as keys, or as a list if it has no names. pandas and polars are not imported."""
    if isinstance(context, Mapping):
        return {str(name): value for name, value in context.items()}
    if isinstance(context, tuple) and hasattr(context, "_asdict"):
        return dict(context._asdict())
    if isinstance(context, list | tuple):
        return list(context)
    if isinstance(context, np.ndarray):
        if context.ndim != 1:
            raise InvalidContext(f"context must be one row, got an array of shape {context.shape}")
        return list(context.tolist())
    if hasattr(context, "to_dict"):  # a row of pandas
        return {str(name): value for name, value in context.to_dict().items()}
    raise InvalidContext(f"context must be a mapping of field to value, or a row of values, got {quoted(context)}")


def _plain(value: object) -> object:
    """A value as a Python object; None if it is missing."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    return None if type(value).__name__ in _MISSING else value


def _finite(value: Real | Decimal | float) -> float:
    """The value as a float; NaN if it is not finite."""
    try:
        number = float(value)
    except (OverflowError, ValueError):  # an int beyond all doubles, a signalling NaN of decimal
        return math.nan
    return number if math.isfinite(number) else math.nan


def kind_of(name: str, value: object) -> int:
    """The kind of field that a value belongs to."""
    value = _plain(value)
    if isinstance(value, str | bool):
        return CATEGORY
    return UNDECIDED if math.isnan(number_of(name, value)) else NUMBER


def number_of(name: str, value: object) -> float:
    """A number; NaN if it is missing or not finite."""
    value = _plain(value)
    if value is None:
        return math.nan
    if isinstance(value, str):
        raise InvalidContext(
            f"context[{name!r}] must be a number, got {quoted(value)}: if it is a category, name all fields beforehand "
            f"with LogisticModel(fields={{{name!r}: 'category', ...}})"
        )
    if not isinstance(value, Real | Decimal):
        raise InvalidContext(
            f"context[{name!r}] must be a number, a bool, text or None, got {quoted(value)}: leave it out, or make "
            f"numbers or text of it"
        )
    return _finite(value)


def category_of(name: str, value: object, given: bool) -> str | float:
    """A category as text, also of a bool and, if the user named the kind, of a whole number; NaN if it is missing."""
    value = _plain(value)
    if isinstance(value, str | bool):
        return str(value)
    if value is None:
        return math.nan
    if isinstance(value, Real | Decimal):
        number = _finite(value)
        if math.isnan(number):
            return number
        if number.is_integer() and given:  # such as the number of a shop; pandas turns 3 into 3.0 in a row of floats
            return str(value if isinstance(value, int) else int(number))
        if number.is_integer():
            raise InvalidContext(
                f"context[{name!r}] must be text or a bool, as it was before, got {quoted(value)}: if it is one or the "
                f"other, name all fields beforehand with LogisticModel(fields={{{name!r}: 'category', ...}})"
            )
    raise InvalidContext(
        f"context[{name!r}] must be a category (text, a bool or a whole number), got {quoted(value)}: if it is a number, "
        f"name all fields beforehand with LogisticModel(fields={{{name!r}: 'number', ...}})"
    )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(repr(name) for name in names[:12]) + (", ..." if len(names) > 12 else "")


def list_contexts(contexts: object, count: int) -> list[object]:
    """One context per decision, from an iterable or the rows of an array."""
    if isinstance(contexts, str | bytes | Mapping) or not isinstance(contexts, Iterable):
        raise InvalidArgument(f"contexts must list one per decision, got {quoted(contexts)}")
    listed = list(contexts)
    if len(listed) != count:
        raise InvalidArgument(f"contexts must hold {count}, one per decision, got {len(listed)}")
    return listed
