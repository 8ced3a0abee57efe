"""Features: from contexts to vectors that a linear model can use, whatever the scale of a number and without tuning.

A number becomes a few hats between knots at the quantiles of what was seen, a category one feature for each value, and
each field has a flag for what is missing or new. Reading a context is the work of `schema`.
"""

import itertools
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from suffice.context.encode import CATEGORY, NUMBER, UNDECIDED, activate
from suffice.context.schema import KINDS, MOST_CATEGORIES, NAMES, Schema
from suffice.context.spline_knots import Change, change, knots_for, laid_out, quantiles
from suffice.errors import InvalidArgument, StateError, quoted
from suffice.kernels.compiler import at_hand, compiled
from suffice.kernels.rows import Floats
from suffice.learning.rng import MASK, WORDS, seed_state, uniform
from suffice.numbers import flag, positive_int
from suffice.state_files import reading

FIRST: Final = 32  # knots are placed when so many contexts have been noted, and whenever that number has doubled
SAMPLE: Final = 512
STATE: Final = "set of features"


class Features:
    """A vector for each context, and how it changes while contexts are noted. Whoever shares one holds a lock.

    Args:
        fields: the kind of each field, "number" or "category"; those of the first context if left out.

    >>> features = Features()
    >>> for length in range(32):
    ...     row = features.row({"length": length, "task": "chat" if length % 2 else "code"})
    ...     change = features.note(row)
    >>> features
    <Features: length (number, 5 knots), task (category, 2 values), 32 noted>
    >>> features.width, features.names()[-3:], features.vector(row)[-3:].tolist()
    (10, ['task is code', 'task is chat', 'task unseen'], [0.0, 1.0, 0.0])
    """

    def __init__(self, fields: Mapping[str, str] | None = None) -> None:
        self.schema = Schema(fields)
        self.noted = 0
        self.frozen = False
        self._missing: list[int] = []
        self._unseen: list[int] = []
        self._knots: list[list[float]] = []
        self._open: list[int] = []  # how many categories of each field have a feature
        self._sample: list[Floats] = []
        self._quiet = 0  # so many may be noted before the sample or the knots change; 0: who knows
        self._next, self._bar = 0, 1.0  # the next row that the sample takes, and how few it takes by now
        self._random = [0.0] * WORDS
        seed_state(self._random, 0, 1)
        self._lay_out()

    # --- from contexts to rows and vectors

    def row(self, context: Any) -> Floats:
        """One float per field: the number, or the code of the category; NaN where it is missing."""
        row = self.schema.row(context)
        if self.schema.kinds is not self._kinds:
            self._lay_out()
        return row

    def active(self, row: Floats) -> int:
        """Write the indices and values of the features that are not 0 into `indices` and `values`; how many."""
        self._check(row)
        if self._compiled:
            return int(compiled(activate)(row, *self.layout, self.indices, self.values))
        return activate(row.tolist(), *self._lists, self.indices, self.values)

    def vector(self, row: Floats) -> Floats:
        """The vector of a row."""
        used, vector = self.active(row), np.zeros(self.width)
        vector[self.indices[:used]] = self.values[:used]
        return vector

    def names(self) -> list[str]:
        """What each feature stands for."""
        names = ["intercept"]
        for place, name in enumerate(self.schema.names):
            if self.schema.kinds[place] == CATEGORY:
                names += [f"{name} is {value}" for value in list(self.schema.codes[place])[: self._open[place]]]
                names.append(f"{name} unseen")
            else:
                names += [f"{name} at {knot:.6g}" for knot in self._knots[place]]
                names.append(f"{name} missing")
        return names

    # --- learning what contexts are like

    def note(self, row: Floats) -> Change | None:
        """Take a row into account, once for each decision. If that changes what the vector means, how."""
        if self.noted < self._quiet and row.size == len(self._kinds) and self._usual(row):
            self.noted += 1
            return None
        self._check(row)
        self.noted += 1
        opened = self._count(row)
        if self.frozen:
            return None
        self._keep(row)
        if len(self._sample) == SAMPLE:
            # Until then a row without anything new changes nothing: the next of the sample, or knots placed anew.
            self._quiet = min(self._next, 1 << self.noted.bit_length()) - 1
        knots = self._place() if self.noted >= FIRST and self.noted & (self.noted - 1) == 0 else self._knots
        if opened == self._open and knots == self._knots:
            return None
        before = self.layout
        self._quiet = 0
        self._open, self._knots = opened, knots
        self._lay_out()
        return change(before, self.layout)

    def freeze(self) -> None:
        """Keep the meaning of the vector as it is now. `note` still counts what is missing or unseen."""
        self.frozen = self.schema.closed = True
        self._sample = []

    def report(self) -> dict[str, dict[str, Any]]:
        """Per field how often its value was missing or not finite, or of a category without a feature; and what was seen."""
        report: dict[str, dict[str, Any]] = {}
        for place, name in enumerate(self.schema.names):
            kind = self.schema.kinds[place]
            counts = {"kind": NAMES[kind], "noted": self.noted, "missing": self._missing[place]}
            if kind == CATEGORY:
                seen = list(self.schema.codes[place])[: self._open[place]]
                report[name] = {**counts, "unseen": self._unseen[place], "categories": seen}
            else:
                report[name] = {**counts, "knots": list(self._knots[place])}
        return report

    def _check(self, row: Floats) -> None:
        if len(row) != len(self._kinds):
            raise InvalidArgument(f"row must have {len(self._kinds)} numbers, one per field, got {len(row)}")

    def _count(self, row: Floats) -> list[int]:
        """Count what is missing or unseen. How many categories of each field should have a feature now."""
        for place in np.flatnonzero(row != row).tolist():
            self._missing[place] += 1
        opened = self._open
        for place in self._categories:
            code = float(row[place])
            if code > opened[place] and not self.frozen:
                opened = opened.copy()
                opened[place] = int(code)
            elif code == 0.0 or code > opened[place]:
                self._unseen[place] += 1
        return opened

    def _usual(self, row: Floats) -> bool:
        """Whether there is nothing missing, nor a category that has no feature yet."""
        for place in self._categories:
            if not 0.0 < row[place] <= self._open[place]:
                return False
        least = row.min() if row.size else 0.0
        return bool(least == least)  # NaN if any is, and only then

    def _keep(self, row: Floats) -> None:
        """A sample of all rows noted, each as likely as any other: once it is full, it is known which comes next (Li 1994)."""
        if len(self._sample) < SAMPLE:
            self._sample.append(row.copy())
            if len(self._sample) < SAMPLE:
                return
        elif self.noted < self._next:
            return
        else:
            self._sample[int(uniform(self._random, 0) * SAMPLE)] = row.copy()
        self._bar *= math.exp(math.log(uniform(self._random, 0)) / SAMPLE)
        ahead = math.log(uniform(self._random, 0)) / math.log1p(-self._bar)
        self._next = self.noted + 1 + int(min(ahead, 1e15))

    def _place(self) -> list[list[float]]:
        """Knots for every number, equally spaced in rank among the sample."""
        rows = np.array(self._sample)
        wanted = knots_for(sum(kind == NUMBER for kind in self._kinds), self.noted)
        placed = list(self._knots)
        for field, kind in enumerate(self._kinds):
            if kind == NUMBER:
                found = quantiles(rows[:, field], wanted)
                if len(found) > 1:  # a number that is always the same says nothing
                    placed[field] = found
        return placed

    def _lay_out(self) -> None:
        """Compute where each feature lies."""
        self._kinds = self.schema.kinds
        size = len(self._kinds)
        if len(self._open) != size:
            self._missing, self._unseen, self._open = [0] * size, [0] * size, [0] * size
            self._knots = [[] for _ in range(size)]
        room = 1 + 2 * size  # made before the layout that fills it: an interrupt may strike between
        self.indices, self.values = np.zeros(room, dtype=np.int64), np.zeros(room)
        self._categories = [place for place, kind in enumerate(self._kinds) if kind == CATEGORY]
        self.layout = laid_out(self._kinds, self._open, self._knots)
        kinds, first, counts, starts, knots = (part.tolist() for part in self.layout)
        self._lists = kinds, first, counts, starts, knots  # quicker than arrays for code that is not compiled
        self._compiled = at_hand()
        self.width = self.layout.width

    def __repr__(self) -> str:
        fields = []
        for place, name in enumerate(self.schema.names):
            kind = self.schema.kinds[place]
            seen = f"{self._open[place]} values" if kind == CATEGORY else f"{len(self._knots[place])} knots"
            fields.append(f"{name} ({NAMES[kind]}, {seen})")
        listed = ", ".join(fields[:8]) + (f" and {len(fields) - 8} more" if len(fields) > 8 else "")
        return f"<Features: {listed or 'no context yet'}, {self.noted} noted{', frozen' if self.frozen else ''}>"

    # --- saving

    def state(self) -> dict[str, Any]:
        """All of it, in JSON's terms."""
        schema = self.schema
        return {
            "kind": STATE,
            "fields": [[name, NAMES[kind]] for name, kind in zip(schema.names, schema.kinds, strict=True)],
            "given": schema.given,
            "ordered": schema.ordered,
            "frozen": self.frozen,
            "categories": [list(codes) for codes in schema.codes],
            "open": list(self._open),
            "knots": [list(knots) for knots in self._knots],
            "noted": self.noted,
            "missing": list(self._missing),
            "unseen": list(self._unseen),
            "sample": [[None if value != value else value for value in row.tolist()] for row in self._sample],
            "next": self._next,
            "bar": self._bar,
            "random": [int(word) for word in self._random],
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "Features":
        """The features that `state` wrote down; a StateError if it is none of theirs."""
        with reading(state, STATE):
            features = cls()
            _fill(features, state)
        return features


def _fill(features: Features, state: Mapping[str, Any]) -> None:
    """Take over a state, after looking at each part of it."""
    names = [str(name) for name, _ in state["fields"]]
    kinds = [{**KINDS, NAMES[UNDECIDED]: UNDECIDED}[kind] for _, kind in state["fields"]]
    if len(set(names)) != len(names):
        raise StateError(f"fields must differ, got {quoted(names)}")
    schema, size = features.schema, len(names)
    schema.begin(names, kinds, ordered=flag("ordered", state["ordered"]))
    for part in ("categories", "open", "knots", "missing", "unseen"):
        if not isinstance(state[part], list) or len(state[part]) != size:
            raise StateError(f"{part} must have one entry per field, {size}, got {quoted(state[part])}")
    schema.given = flag("given", state["given"])
    features._lay_out()
    features.noted = positive_int("noted", state["noted"], 0)
    features._missing = [positive_int("missing", count, 0) for count in state["missing"]]
    features._unseen = [positive_int("unseen", count, 0) for count in state["unseen"]]
    for place, kind in enumerate(kinds):
        _fill_field(features, place, kind, state["categories"][place], state["open"][place], state["knots"][place])
    features._sample = [_row(row, size) for row in state["sample"]]
    if len(features._sample) > min(SAMPLE, features.noted):
        raise StateError(
            f"sample must have at most {SAMPLE} rows and none that was not noted, got {len(state['sample'])}"
        )
    features._next, features._bar = positive_int("next", state["next"], 0), float(state["bar"])
    if not 0.0 < features._bar <= 1.0:
        raise StateError(f"bar must be above 0 and at most 1, got {quoted(state['bar'])}")
    words = [positive_int("random", word, 0) for word in state["random"]]
    if len(words) != WORDS or max(words) > MASK or not any(words[:-1]):
        raise StateError(f"random must be {WORDS} numbers below 2^32, the first five not all 0, got {quoted(words)}")
    features._random = [float(word) for word in words]
    features.frozen = schema.closed = flag("frozen", state["frozen"])
    features._lay_out()


def _fill_field(features: Features, place: int, kind: int, categories: Any, opened: Any, knots: Any) -> None:
    name = features.schema.names[place]
    if kind != CATEGORY and (categories or opened):
        raise StateError(f"{name!r} must have no categories, got {quoted(categories)}")
    if not all(isinstance(value, str) for value in categories) or len(set(categories)) != len(categories):
        raise StateError(f"the categories of {name!r} must be text and differ, got {quoted(categories)}")
    if not positive_int("open", opened, 0) <= len(categories) <= MOST_CATEGORIES:
        raise StateError(f"{name!r} must have at most {MOST_CATEGORIES} categories and {quoted(opened)} of them open")
    features.schema.codes[place].update({value: code + 1.0 for code, value in enumerate(categories)})
    features._open[place] = int(opened)
    found = [float(knot) for knot in knots]
    if (kind != NUMBER and found) or len(found) == 1 or not all(math.isfinite(knot) for knot in found):
        raise StateError(f"the knots of {name!r} must be two or more finite numbers, or none, got {quoted(knots)}")
    if any(left >= right for left, right in itertools.pairwise(found)):
        raise StateError(f"the knots of {name!r} must increase, got {quoted(knots)}")
    features._knots[place] = found


def _row(row: Any, size: int) -> Floats:
    values = np.array([math.nan if value is None else value for value in row], dtype=np.float64)
    if values.shape != (size,) or np.isinf(values).any():
        raise StateError(f"a row of the sample must have {size} finite numbers or None, got {quoted(row)}")
    return values
