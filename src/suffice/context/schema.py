"""Reading contexts: which fields there are, of which kind, and one float per field. What is made of them is in `features`.

A context is a mapping, a row of NumPy, pandas or polars, a list or a tuple. The fields and their kinds are given, or are
those of the first context. A number is itself; a category is a code: 1, 2, ... in the order in which they appear, and 0
once there are MOST_CATEGORIES. What is missing, None, NaN or infinite is NaN and never an error.
"""

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from numbers import Real
from operator import itemgetter
from typing import Any, Final

import numpy as np

from suffice.context.encode import CATEGORY, NUMBER, UNDECIDED
from suffice.errors import InvalidArgument, InvalidContext, quoted
from suffice.kernels.rows import Floats

MOST_CATEGORIES: Final = 32
KINDS: Final = {"number": NUMBER, "category": CATEGORY}
NAMES: Final = {code: name for name, code in KINDS.items()} | {UNDECIDED: "undecided"}

_PLAIN: Final = frozenset((float, int, np.float64))  # types of which a sum is quick and never warns
_GONE: Final = ("NAType", "NaTType", "MaskedConstant")  # what pandas and NumPy write where there is nothing


class Schema:
    """Fields, their kinds, and the categories seen.

    >>> schema = Schema()
    >>> schema.row({"length": 12, "task": "chat"}).tolist(), schema.row({"task": "code"}).tolist()
    ([12.0, 1.0], [nan, 2.0])
    """

    def __init__(self, fields: Mapping[str, str] | None = None) -> None:
        self.names: tuple[str, ...] = ()
        self.kinds: tuple[int, ...] = ()  # another tuple whenever a kind is decided
        self.codes: tuple[dict[str, float], ...] = ()
        self.given = fields is not None  # whether somebody named the fields and their kinds
        self.ordered = self.given  # whether a context may be a row without names
        self.closed = False  # whether new categories have the code 0
        self._known: frozenset[str] = frozenset()
        self._decided = False  # whether there are fields, and the kinds of all are known
        self._categories: list[tuple[int, dict[str, float]]] = []
        if fields is not None:
            if not isinstance(fields, Mapping) or not fields:
                raise InvalidArgument(
                    f'fields must map each field to "number" or "category", such as {{"length": "number"}}, '
                    f"got {quoted(fields)}"
                )
            for name, kind in fields.items():
                if not isinstance(name, str):
                    raise InvalidArgument(f"fields must have text as names, got {quoted(name)}")
                if not isinstance(kind, str) or kind not in KINDS:
                    raise InvalidArgument(f'fields[{name!r}] must be "number" or "category", got {quoted(kind)}')
            self.begin(list(fields), [KINDS[kind] for kind in fields.values()], ordered=True)

    def begin(self, names: list[str], kinds: list[int], *, ordered: bool) -> None:
        """Take these fields, for good."""
        self.names, self.ordered, self._known = tuple(names), ordered, frozenset(names)
        # The first name twice: of one name alone it would give no tuple.
        self._pick = itemgetter(*names, *(names[:1] or [""]))
        self.codes = tuple({} for _ in names)
        self.decide(kinds)

    def decide(self, kinds: list[int]) -> None:
        """Take these kinds of the fields."""
        self.kinds, self._decided = tuple(kinds), UNDECIDED not in kinds
        self._categories = [(place, self.codes[place]) for place, kind in enumerate(kinds) if kind == CATEGORY]

    # --- from a context to a row

    def row(self, context: Any) -> Floats:
        """One float per field. What it learns is words: the fields, their kinds and the codes of categories."""
        kind = type(context)
        found = self._array(context) if kind is np.ndarray else None
        if kind is dict or (self.ordered and (kind is list or kind is tuple)):
            found = self._quick(context)
        return self._careful(context) if found is None else found

    def _quick(self, context: Any) -> Floats | None:
        """The row of plain numbers and known categories; None if there is anything else in it."""
        if len(context) != len(self.names) or not self._decided:
            return None
        try:
            values = self._pick(context)[:-1] if type(context) is dict else context
            if self._categories:
                values = list(values)
                for place, codes in self._categories:
                    value = values[place]
                    values[place] = codes.get(str(value) if type(value) is bool else value)
            # A sum is finite only if all terms are.
            if _PLAIN.issuperset(map(type, values)) and math.isfinite(sum(values)):
                return np.array(values, dtype=np.float64)
        except (KeyError, TypeError, OverflowError):  # another field, what has no hash, a number beyond all doubles
            pass
        return None

    def _array(self, context: Any) -> Floats | None:
        plain = context.ndim == 1 and context.dtype.kind in "fiu" and context.dtype.itemsize <= 8
        numbers = self._decided and not self._categories
        if plain and numbers and self.ordered and len(context) == len(self.names):
            row: Floats = context.astype(np.float64)
            row[~np.isfinite(row)] = math.nan
            return row
        return None

    def _careful(self, context: Any) -> Floats:
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

    def values(self, context: Any) -> dict[str, float | str]:
        """The fields by name, categories as text, and what is missing left out."""
        read = self._read(context)
        return {name: value for name, value in zip(self.names, read, strict=True) if value == value}

    def _read(self, context: Any) -> list[float | str]:
        """A number, or the text of a category, per field. Decides the kinds of fields of which this is the first value."""
        given = opened(context)
        if not self.names:
            self._begin_with(given)
        if isinstance(given, list):
            given = self._by_place(given)
        if not given.keys() <= self._known:
            extra = next(name for name in given if name not in self.names)
            raise InvalidContext(
                f"context must have no other fields than {_listed(self.names)}, got {extra!r}: leave it out, "
                f"or name all fields beforehand with LogisticModel(fields=...)"
            )
        kinds = list(self.kinds)
        read: list[float | str] = []
        for place, name in enumerate(self.names):
            value = given.get(name)
            if kinds[place] == UNDECIDED:
                kinds[place] = kind_of(name, value)
            if kinds[place] == CATEGORY:
                read.append(category_of(name, value, self.given))
            else:
                read.append(_float(value) if type(value) is float else number_of(name, value))
        if kinds != list(self.kinds):
            self.decide(kinds)
        return read

    def _begin_with(self, given: dict[str, Any] | list[Any]) -> None:
        named = given if isinstance(given, dict) else {str(place): value for place, value in enumerate(given)}
        if not named:
            raise InvalidContext("context must have at least one field, got none")
        kinds = [kind_of(name, value) for name, value in named.items()]
        self.begin(list(named), kinds, ordered=isinstance(given, list))

    def _by_place(self, values: list[Any]) -> dict[str, Any]:
        if not self.ordered:
            raise InvalidContext(
                f"context must be a mapping with the fields {_listed(self.names)}, as the first one was, "
                f"got a row of {len(values)} without names"
            )
        if len(values) != len(self.names):
            raise InvalidContext(
                f"context must be a row of {len(self.names)} values, for {_listed(self.names)}, got {len(values)}"
            )
        return dict(zip(self.names, values, strict=True))


# --- from what a user passes to plain values


def opened(context: Any) -> dict[str, Any] | list[Any]:
    """A context as a dict with text as keys, or as a list where it has no names. pandas and polars are not imported."""
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
    if hasattr(context, "columns") and hasattr(context, "shape"):  # a table
        if context.shape[0] != 1:
            raise InvalidContext(f"context must be one row, got a table of {context.shape[0]} rows")
        row = context.iloc[0].to_dict() if hasattr(context, "iloc") else context.row(0, named=True)
        return {str(name): value for name, value in row.items()}
    if hasattr(context, "to_dict"):  # a row of pandas
        return {str(name): value for name, value in context.to_dict().items()}
    if hasattr(context, "to_list"):
        return list(context.to_list())
    raise InvalidContext(f"context must be a mapping of field to value, or a row of values, got {quoted(context)}")


def _plain(value: Any) -> Any:
    """A value as Python has it; None where there is none."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    return None if type(value).__name__ in _GONE else value


def _float(value: Any) -> float:
    """A number that is finite, or NaN."""
    try:
        number = float(value)
    except (OverflowError, ValueError):  # an int beyond all doubles, a signalling NaN of decimal
        return math.nan
    return number if math.isfinite(number) else math.nan


def kind_of(name: str, value: Any) -> int:
    """The kind that a value speaks for."""
    value = _plain(value)
    if isinstance(value, str | bool):
        return CATEGORY
    return UNDECIDED if math.isnan(number_of(name, value)) else NUMBER


def number_of(name: str, value: Any) -> float:
    """A number; NaN where it is missing or not finite."""
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
    return _float(value)


def category_of(name: str, value: Any, given: bool) -> str | float:
    """A category as text, also of a bool and, where the kind was given, of a whole number; NaN where it is missing."""
    value = _plain(value)
    if isinstance(value, str | bool):
        return str(value)
    if value is None:
        return math.nan
    if isinstance(value, Real | Decimal):
        number = _float(value)
        if math.isnan(number):
            return number
        if number.is_integer():  # such as the number of a shop; 3.0 is what pandas makes of 3 in a row of floats
            if given:
                return str(value if isinstance(value, int) else int(number))
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


def listed(contexts: Any, count: int, each: str) -> list[Any]:
    """One context for each decision: the rows of an array, or of a table of pandas or polars, or whatever is listed."""
    if isinstance(contexts, np.ndarray):
        if contexts.ndim != 2:
            raise InvalidArgument(f"contexts must be an array with a row per {each}, got shape {contexts.shape}")
        found = list(contexts)
    elif hasattr(contexts, "columns") and hasattr(contexts, "shape"):
        found = contexts.to_dict("records") if hasattr(contexts, "iloc") else contexts.to_dicts()
    elif isinstance(contexts, str | bytes | Mapping) or not isinstance(contexts, Iterable):
        raise InvalidArgument(f"contexts must list one per {each}, got {quoted(contexts)}")
    else:
        found = list(contexts)
    if len(found) != count:
        raise InvalidArgument(f"contexts must hold {count}, one per {each}, got {len(found)}")
    return found
