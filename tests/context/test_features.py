"""Features: what the vector means, how weights follow when its meaning changes, and that a saved state is whole."""

import copy
import json
import math
import pickle
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from suffice import InvalidArgument, StateError
from suffice.context.encode import activate
from suffice.context.features import Features
from suffice.context.features_state import read_features, write_features
from suffice.context.reservoir import SIZE
from suffice.context.schema import MOST_CATEGORIES
from suffice.context.spline_knots import WeightMap, quantiles
from suffice.kernels.compiler import compiled
from suffice.kernels.rows import Floats
from tests.context.test_schema import FIELDS, contexts, same


def observe(features: Features, rows: list[Any]) -> tuple[Features, list[WeightMap]]:
    changes = [features.observe(features.row(context)) for context in rows]
    return features, [change for change in changes if change is not None]


def mixed(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Contexts with two numbers of very different scales, a category and a bool; one value in ten is missing."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for _ in range(count):
        row = {"a": rng.normal(), "b": rng.lognormal(5, 3), "c": str(rng.integers(5)), "d": bool(rng.random() < 0.3)}
        rows.append({name: value for name, value in row.items() if rng.random() < 0.9})
    return rows


# --- the vector


@given(contexts)
@settings(max_examples=60, deadline=None)
def test_vectors_are_finite_and_each_field_sums_to_one(rows: list[dict[str, Any]]) -> None:
    """For any input; a number without knots yet sums to 0, unless it is missing."""
    features, _ = observe(Features(fields=FIELDS), rows * 5)
    for context in rows:
        row = features.row(context)
        vector = features.vector(row)
        assert vector.shape == (features.width,)
        assert np.isfinite(vector).all()
        assert (vector >= 0.0).all()
        assert vector[0] == 1.0
        for field, (first, count) in enumerate(zip(features.layout.first, features.layout.counts, strict=True)):
            empty = field < 2 and count == 0 and not math.isnan(row[field])
            assert vector[first : first + count + 1].sum() == pytest.approx(0.0 if empty else 1.0)


def test_hats_between_knots() -> None:
    features, changes = observe(Features(), [{"x": float(value)} for value in range(32)])
    (change,) = changes
    knots = features.report()["x"]["knots"]
    assert np.diff(knots) == pytest.approx(np.full(4, (knots[-1] - knots[0]) / 4))
    assert change.matrix.shape == (7, 2)
    assert change.fresh.tolist() == [0.0, *[1.0] * 5, 0.0]
    at = [features.vector(features.row({"x": x}))[1:-1] for x in (-100.0, knots[3], (knots[3] + knots[4]) / 2, 100.0)]
    assert at[0].tolist() == [1.0, *[0.0] * 4]
    assert at[1].tolist() == [0.0] * 3 + [1.0, 0.0]
    assert at[2] == pytest.approx(np.array([0.0] * 3 + [0.5, 0.5]))
    assert at[3].tolist() == [*[0.0] * 4, 1.0]
    assert features.vector(features.row({"x": None})).tolist() == [1.0, *[0.0] * 5, 1.0]


@pytest.mark.parametrize(
    ("fields", "observed", "knots"),
    [(1, 32, 5), (1, 128, 6), (1, 1 << 14, 12), (2, 4096, 9), (3, 1024, 5), (5, 32, 3), (20, 32, 3)],
)
def test_more_numbers_have_fewer_knots_and_more_contexts_bring_more(fields: int, observed: int, knots: int) -> None:
    rng = np.random.default_rng(0)
    features, _ = observe(Features(), list(rng.normal(size=(observed, fields))))
    assert features.layout.counts.tolist() == [knots] * fields
    assert features.width == 1 + fields * (knots + 1)


def test_a_common_value_has_one_knot() -> None:
    assert quantiles(np.array([0.0] * 1000 + [1.0, 2.0]), 9) == [0.0, 1.0, 2.0]
    spread = quantiles(np.array([0.0] * 90 + list(range(1, 11))), 5)
    assert spread == pytest.approx([0.0, 1.18, 4.06, 6.94, 9.82], abs=0.1)
    assert quantiles(np.array([np.nan, 3.0]), 9) == [3.0]
    features, changes = observe(Features(), [{"x": 4.0}] * 64)
    assert features.width == 2  # a constant has no knots
    assert changes == []


def test_the_report_counts_missing_and_unseen_values() -> None:
    rows: list[Any] = [{"x": 1.0, "t": "a"}, {"x": math.inf}, {"t": "a"}, {"x": None, "t": None}]
    report = observe(Features(), rows)[0].report()
    assert report["x"] == {"kind": "number", "noted": 4, "missing": 3, "knots": []}
    assert report["t"] == {"kind": "category", "noted": 4, "missing": 2, "unseen": 0, "categories": ["a"]}
    features, _ = observe(Features(), [{"t": f"t{place}"} for place in range(MOST_CATEGORIES + 3)])
    assert features.width == 1 + MOST_CATEGORIES + 1
    assert features.report()["t"]["unseen"] == 3
    assert features.vector(features.row({"t": "t999"}))[-1] == 1.0


@pytest.mark.compiled
def test_compiled_features_equal_plain_ones() -> None:
    rows = mixed(400)
    features, _ = observe(Features(fields=FIELDS), rows)
    room = len(features.indices)
    plain, fast = ((np.zeros(room, dtype=np.int64), np.zeros(room)) for _ in range(2))
    for context in [*rows, {}]:
        row = features.row(context)
        kinds, first, counts, starts, knots = (part.tolist() for part in features.layout)
        used = activate(row.tolist(), kinds, first, counts, starts, knots, *plain)
        assert used == compiled(activate)(row, *features.layout, *fast) <= room
        assert same(plain[0], fast[0])
        assert same(plain[1], fast[1])
        dense = np.zeros(features.width)
        np.add.at(dense, plain[0][:used], plain[1][:used])
        assert same(dense, features.vector(row))


def test_a_row_of_another_length_is_refused() -> None:
    features, _ = observe(Features(), [[1.0, 2.0]])
    for call in (features.observe, features.active, features.vector):
        with pytest.raises(InvalidArgument, match="row must have 2 numbers"):
            call(np.ones(3))


# --- changes of meaning


def check_changes_keep_the_function(rows: list[dict[str, Any]], seed: int) -> None:
    """Random weights, converted at each change: at every knot, category and flag the function keeps its value."""
    rng = np.random.default_rng(seed)
    features = Features(fields=FIELDS)
    weights = rng.normal(size=features.width)
    for context in rows:
        row = features.row(context)
        before = copy.deepcopy(features)
        change = features.observe(row)
        if change is None:
            assert same(before.vector(row), features.vector(row))
            continue
        assert change.matrix.shape == (features.width, before.width)
        assert same(change.fresh, np.maximum(1.0 - (change.matrix**2).sum(axis=1), 0.0))
        assert (change.matrix.sum(axis=1) <= 1.0 + 1e-12).all()
        converted = change.matrix @ weights
        for probe in probes(before, features):
            assert features.vector(probe) @ converted == pytest.approx(before.vector(probe) @ weights, abs=1e-9)
        weights = np.where(change.fresh == 1.0, rng.normal(size=features.width), converted)
    assert features.observed == len(rows)


def probes(before: Features, after: Features) -> list[Floats]:
    """Rows at the new knots of numbers that had knots, and at all categories that had a feature; all else missing."""
    missing = np.full(len(FIELDS), math.nan)
    rows = [missing]
    for field in range(len(FIELDS)):
        if before.layout.counts[field]:
            categories = range(1, int(before.layout.counts[field]) + 1)
            for value in after.knots[field] if field < 2 else categories:
                rows.append(missing.copy())
                rows[-1][field] = value
    return rows


@given(contexts, st.integers(0, 100))
@settings(max_examples=40, deadline=None)
def test_a_change_keeps_the_function(rows: list[dict[str, Any]], seed: int) -> None:
    check_changes_keep_the_function(rows * 4, seed)


def test_changes_through_many_knots_keep_the_function() -> None:
    check_changes_keep_the_function(mixed(600), 0)


def test_knots_move_when_contexts_have_doubled() -> None:
    rng = np.random.default_rng(0)
    features = Features()
    changes = [features.observe(features.row({"x": rng.normal() + step / 100.0})) for step in range(1, 1100)]
    when = [step for step, change in enumerate(changes, start=1) if change is not None]
    assert when == [32, 64, 128, 256, 512, 1024]


def test_the_sample_is_uniform_and_bounded() -> None:
    """The knots of 8,192 increasing numbers are their quantiles, not those of the first or the last."""
    features, _ = observe(Features(), [[float(step)] for step in range(8192)])
    assert len(features.sample.rows) == SIZE
    assert features.report()["0"]["knots"] == pytest.approx(np.linspace(0.02, 0.98, 12) * 8192, abs=500)


def test_frozen_features_only_count() -> None:
    features, _ = observe(Features(fields=FIELDS), mixed(100))
    features.freeze()
    layout = features.layout
    _, changes = observe(features, [{"c": "new", "a": 1e6}] * 200)
    assert changes == []
    assert features.layout is layout
    assert features.report()["c"]["unseen"] == 200
    assert features.row({"c": "new"})[2] == 0.0


# --- saving


@pytest.mark.parametrize("count", [0, 1, 31, 32, 700])
@pytest.mark.parametrize("frozen", [False, True])
def test_restored_features_continue_alike(count: int, frozen: bool) -> None:
    features, _ = observe(Features(), [{"a": 1.0, "b": None, "c": None, "d": True}, *mixed(count)][:count])
    if frozen:
        features.freeze()
    state = json.loads(json.dumps(write_features(features), allow_nan=False))
    restored = read_features(state)
    assert write_features(restored) == state == write_features(features)
    for other in (restored, pickle.loads(pickle.dumps(features)), copy.deepcopy(features)):
        twin = copy.deepcopy(features)
        for context in [{"a": 1.0, "b": 2.0, "c": "x", "d": False}, *mixed(400, seed=1)]:
            row, other_row = twin.row(context), other.row(context)
            assert same(row, other_row)
            assert (twin.observe(row) is None) == (other.observe(other_row) is None)
            assert same(twin.vector(row), other.vector(other_row))
        assert write_features(twin) == write_features(other)


INVALID: list[tuple[str, Any]] = [
    ("kind", "selector"), ("fields", None), ("fields", [["a", "text"]] * 4), ("fields", [["a", "number"]] * 4),
    ("fields", []), ("given", 1), ("ordered", None), ("frozen", 0), ("categories", []), ("categories", [["x"], [], [], []]),
    ("categories", [[], [], ["x", "x"], []]), ("categories", [[], [], [1], []]), ("categories", None),
    ("categories", [[], [], [str(place) for place in range(33)], []]), ("n_categories", [0, 0, 99, 0]),
    ("n_categories", [1, 0, 0, 0]), ("n_categories", [0, 0, -1, 0]), ("n_categories", [0, 0, 0.5, 0]),
    ("knots", [[1.0], [], [], []]), ("knots", [[2.0, 1.0], [], [], []]), ("knots", [[1.0, 1.0], [], [], []]),
    ("knots", [[], [], [1.0, 2.0], []]), ("knots", [[0.0, math.inf], [], [], []]), ("knots", [["x", 1.0], [], [], []]),
    ("observed", -1), ("observed", 1), ("observed", None), ("missing", [0, 0, 0]), ("missing", [-1, 0, 0, 0]),
    ("unseen", [0, 0, 0, "x"]), ("sample", [[1.0]]), ("sample", [[1.0, 2.0, 3.0, math.inf]]),
    ("sample", [["x", 1.0, 1.0, 1.0]]), ("sample", None), ("next_at", -1), ("threshold", 0.0), ("random", [0] * 6),
    ("random", [1] * 5), ("random", [2**40] * 6), ("random", [1.5] * 6),
]  # fmt: skip


@pytest.mark.parametrize(("part", "value"), INVALID)
def test_an_invalid_state_is_refused(part: str, value: Any) -> None:
    state = write_features(observe(Features(fields=FIELDS), mixed(100))[0])
    read_features(state)
    with pytest.raises(StateError):
        read_features({**state, part: value})
    with pytest.raises(StateError):
        read_features({key: kept for key, kept in state.items() if key != part})


@pytest.mark.parametrize("state", [None, [], "features", {}])
def test_a_state_that_is_no_state_is_refused(state: Any) -> None:
    with pytest.raises(StateError):
        read_features(state)
