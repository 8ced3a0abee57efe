"""Features: from contexts to vectors for a linear model, whatever the scale of a number and without tuning.

A number becomes a few hat functions between knots at its quantiles, a category one feature per value, and each field has a
flag for a missing or new value. `schema` reads contexts, `spline_knots` places knots, `features_state` reads saved features.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from suffice.context.encode import CATEGORY, NUMBER, activate
from suffice.context.reservoir import SIZE, Reservoir
from suffice.context.schema import NAMES, Schema
from suffice.context.spline_knots import WeightMap, build_layout, knots_for, quantiles, weight_map
from suffice.errors import InvalidArgument
from suffice.kernels.compiler import at_hand, compiled
from suffice.kernels.rows import Floats

FIRST: Final = 32  # knots are placed after this many contexts, and again whenever their number has doubled


class Features:
    """A vector for each context; what the vector means changes with the contexts observed. Not safe without a lock.

    Args:
        fields: the kind of each field, "number" or "category"; those of the first context if left out.

    >>> features = Features()
    >>> for length in range(32):
    ...     row = features.row({"length": length, "task": "chat" if length % 2 else "code"})
    ...     changed = features.observe(row)
    >>> features.width, features.vector(row)[-3:].tolist()
    (10, [0.0, 1.0, 0.0])
    >>> features.report()["task"]["categories"], len(features.report()["length"]["knots"])
    (['code', 'chat'], 5)
    """

    def __init__(self, fields: Mapping[str, str] | None = None) -> None:
        self.schema = Schema(fields)
        self.observed = 0
        self.frozen = False
        self.missing: list[int] = []  # per field, as the next three
        self.unseen: list[int] = []
        self.knots: list[list[float]] = []
        self.n_categories: list[int] = []  # that have a feature
        self.sample = Reservoir()
        self._unchanged_until = 0  # ordinary rows before this number change nothing but the count; 0: not known
        self.lay_out()

    # --- from contexts to rows and vectors

    def row(self, context: object) -> Floats:
        """One float per field: the number, or the code of the category; NaN if it is missing."""
        row = self.schema.row(context)
        if self.schema.kinds is not self._kinds:
            self.lay_out()
        return row

    def active(self, row: Floats) -> int:
        """Write the features that are not 0 into `indices` and `values`; return how many."""
        self._check(row)
        if self._compiled:
            return int(compiled(activate)(row, *self.layout, self.indices, self.values))
        return activate(row.tolist(), *self._lists, self.indices, self.values)

    def vector(self, row: Floats) -> Floats:
        """The vector of a row."""
        used, vector = self.active(row), np.zeros(self.width)
        vector[self.indices[:used]] = self.values[:used]
        return vector

    # --- learning what contexts are like

    def observe(self, row: Floats) -> WeightMap | None:
        """Learn from the row of a decision, once. Returns how to convert weights, if the meaning of the vector changes."""
        if self.observed < self._unchanged_until and row.size == len(self._kinds) and self._is_ordinary(row):
            self.observed += 1
            return None
        self._check(row)
        self.observed += 1
        n_categories = self._count(row)
        if self.frozen:
            return None
        self.sample.offer(row, self.observed)
        if len(self.sample.rows) == SIZE:
            # Ordinary rows change nothing until the sample takes one, or knots are placed again.
            self._unchanged_until = min(self.sample.next_at, 1 << self.observed.bit_length()) - 1
        doubled = self.observed >= FIRST and self.observed & (self.observed - 1) == 0
        knots = self._place_knots() if doubled else self.knots
        if n_categories == self.n_categories and knots == self.knots:
            return None
        before = self.layout
        self._unchanged_until = 0
        self.n_categories, self.knots = n_categories, knots
        self.lay_out()
        return weight_map(before, self.layout)

    def freeze(self) -> None:
        """Keep the meaning of the vector as it is now. `observe` still counts missing and unseen values."""
        self.frozen = self.schema.closed = True
        self.sample.rows = []

    def report(self) -> dict[str, dict[str, Any]]:
        """Per field: how many values were missing or not finite, or of a category without a feature; and what was seen."""
        report: dict[str, dict[str, Any]] = {}
        for place, name in enumerate(self.schema.names):
            kind = self.schema.kinds[place]
            report[name] = {"kind": NAMES[kind], "noted": self.observed, "missing": self.missing[place]}
            if kind == CATEGORY:
                categories = list(self.schema.codes[place])[: self.n_categories[place]]
                report[name] |= {"unseen": self.unseen[place], "categories": categories}
            else:
                report[name]["knots"] = list(self.knots[place])
        return report

    def _check(self, row: Floats) -> None:
        if len(row) != len(self._kinds):
            raise InvalidArgument(f"row must have {len(self._kinds)} numbers, one per field, got {len(row)}")

    def _count(self, row: Floats) -> list[int]:
        """Count missing and unseen values. Returns how many categories of each field should have a feature now."""
        for place in np.flatnonzero(row != row).tolist():
            self.missing[place] += 1
        n_categories = self.n_categories
        for place in self._categories:
            code = float(row[place])
            if code > n_categories[place] and not self.frozen:
                n_categories = n_categories.copy()
                n_categories[place] = int(code)
            elif code == 0.0 or code > n_categories[place]:
                self.unseen[place] += 1
        return n_categories

    def _is_ordinary(self, row: Floats) -> bool:
        """Whether no value is missing, and every category has a feature."""
        for place in self._categories:
            if not 0.0 < row[place] <= self.n_categories[place]:
                return False
        least = row.min() if row.size else 0.0
        return bool(least == least)  # NaN if any value is NaN

    def _place_knots(self) -> list[list[float]]:
        """Knots for every number, equally spaced in rank among the sample."""
        rows = np.array(self.sample.rows)
        count = knots_for(sum(kind == NUMBER for kind in self._kinds), self.observed)
        placed = list(self.knots)
        for field, kind in enumerate(self._kinds):
            if kind == NUMBER:
                knots = quantiles(rows[:, field], count)
                if len(knots) > 1:  # a constant needs no feature beside the intercept
                    placed[field] = knots
        return placed

    def lay_out(self) -> None:
        """Compute where each feature lies."""
        kinds = self.schema.kinds
        size = len(kinds)
        if len(self.n_categories) != size:
            self.missing, self.unseen, self.n_categories = [0] * size, [0] * size, [0] * size
            self.knots = [[] for _ in range(size)]
        room = 1 + 2 * size  # allocated before the layout that fills it: an interrupt may strike in between
        self.indices, self.values = np.zeros(room, dtype=np.int64), np.zeros(room)
        self._categories = [place for place, kind in enumerate(kinds) if kind == CATEGORY]
        self.layout = build_layout(kinds, self.n_categories, self.knots)
        self._lists = (
            self.layout.kinds.tolist(), self.layout.first.tolist(), self.layout.counts.tolist(),
            self.layout.starts.tolist(), self.layout.knots.tolist(),
        )  # fmt: skip
        self._compiled = at_hand()
        self.width, self._kinds = self.layout.width, kinds

    def is_consistent(self) -> bool:
        """Whether the layout has a place for every field, category and knot. An interrupt may leave it behind."""
        fields = len(self.schema.names)
        return fields == len(self.knots) and self.width == 1 + fields + sum(self.n_categories) + sum(
            map(len, self.knots)
        )
