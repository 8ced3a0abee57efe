"""Saving features as JSON, and reading them back with every part checked."""

import itertools
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from suffice.context.encode import CATEGORY, NUMBER, UNDECIDED
from suffice.context.features import Features
from suffice.context.schema import KINDS, MOST_CATEGORIES, NAMES
from suffice.errors import StateError, quoted
from suffice.kernels.rows import Floats
from suffice.numbers import flag, positive_int
from suffice.state_files import reading

KIND: Final = "set of features"
PER_FIELD: Final = ("categories", "n_categories", "knots", "missing", "unseen")


def write_row(row: Floats) -> list[float | None]:
    """A row as JSON: None where it is NaN."""
    return [None if value != value else value for value in row.tolist()]


def read_row(written: list[float | None], size: int) -> Floats:
    """The row that `write_row` wrote."""
    row = np.array([math.nan if value is None else value for value in written], dtype=np.float64)
    _require(
        row.shape == (size,) and not np.isinf(row).any(), f"a row must have {size} finite numbers or None", written
    )
    return row


def write_features(features: Features) -> dict[str, object]:
    """All that the features hold."""
    schema, sample = features.schema, features.sample
    return {
        "kind": KIND,
        "fields": [[name, NAMES[kind]] for name, kind in zip(schema.names, schema.kinds, strict=True)],
        "given": schema.given,
        "ordered": schema.ordered,
        "frozen": features.frozen,
        "categories": [list(codes) for codes in schema.codes],
        "n_categories": list(features.n_categories),
        "knots": [list(knots) for knots in features.knots],
        "observed": features.observed,
        "missing": list(features.missing),
        "unseen": list(features.unseen),
        "sample": [write_row(row) for row in sample.rows],
        "next_at": sample.next_at,
        "threshold": sample.threshold,
        "random": sample.words(),
    }


def read_features(state: Mapping[str, Any]) -> Features:
    """The features that `write_features` wrote; raises a StateError if the state is not valid."""
    with reading(state, KIND):
        features = Features()
        _restore(features, state)
    return features


def _restore(features: Features, state: Mapping[str, Any]) -> None:
    names = [str(name) for name, _ in state["fields"]]
    kinds = [{**KINDS, NAMES[UNDECIDED]: UNDECIDED}[kind] for _, kind in state["fields"]]
    size = len(names)
    _require(len(set(names)) == size, "fields must differ", names)
    for part in PER_FIELD:
        fits = isinstance(state[part], list) and len(state[part]) == size
        _require(fits, f"{part} must have one entry per field, {size}", state[part])
    features.schema.set_fields(names, kinds, ordered=flag("ordered", state["ordered"]))
    features.schema.given = flag("given", state["given"])
    features.lay_out()
    features.observed = positive_int("observed", state["observed"], 0)
    features.missing = [positive_int("missing", count, 0) for count in state["missing"]]
    features.unseen = [positive_int("unseen", count, 0) for count in state["unseen"]]
    for place in range(size):
        _restore_field(features, place, *(state[part][place] for part in PER_FIELD[:3]))
    rows = [read_row(row, size) for row in state["sample"]]
    _require(len(rows) <= features.observed, "sample must have no more rows than were observed", len(rows))
    features.sample.restore(rows, state["next_at"], state["threshold"], state["random"])
    features.frozen = features.schema.closed = flag("frozen", state["frozen"])
    features.lay_out()


def _restore_field(
    features: Features, place: int, categories: list[str], n_categories: int, knots: list[float]
) -> None:
    name, kind = features.schema.names[place], features.schema.kinds[place]
    distinct = all(isinstance(value, str) for value in categories) and len(set(categories)) == len(categories)
    _require(distinct, f"the categories of {name!r} must be text and differ", categories)
    most = MOST_CATEGORIES if kind == CATEGORY else 0
    fits = positive_int("n_categories", n_categories, 0) <= len(categories) <= most
    _require(fits, f"{name!r} must have at most {most} categories, and features for these only", n_categories)
    features.schema.codes[place].update({value: code + 1.0 for code, value in enumerate(categories)})
    features.n_categories[place] = int(n_categories)
    valid = all(math.isfinite(knot) for knot in knots) and all(a < b for a, b in itertools.pairwise(knots))
    valid = valid and (not knots or (kind == NUMBER and len(knots) > 1))
    _require(valid, f"the knots of {name!r} must be two or more finite numbers that increase, or none", knots)
    features.knots[place] = [float(knot) for knot in knots]


def _require(valid: bool, rule: str, value: object) -> None:
    if not valid:
        raise StateError(f"{rule}, got {quoted(value)}")
