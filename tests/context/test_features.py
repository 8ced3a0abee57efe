"""Features: what is read from a context, what the vector means, and that its meaning changes without losing anything."""

import copy
import json
import math
import os
import pickle
from collections import namedtuple
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any
from unittest import mock

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings

from suffice import InvalidArgument, StateError
from suffice.context.encode import activate
from suffice.context.features import SAMPLE, Features
from suffice.context.schema import MOST_CATEGORIES, Schema
from suffice.context.spline_knots import Change, quantiles
from suffice.errors import InvalidContext
from suffice.kernels.compiler import available, compiled
from suffice.kernels.rows import Floats

numbers = st.one_of(st.none(), st.floats(), st.integers(-(10**6), 10**6), st.just(10**400))
texts = st.one_of(st.none(), st.text(max_size=3))
contexts = st.lists(
    st.fixed_dictionaries(
        {}, optional={"a": numbers, "b": numbers, "c": texts, "d": st.one_of(st.none(), st.booleans())}
    ),
    min_size=1,
    max_size=30,
)
FIELDS = {"a": "number", "b": "number", "c": "category", "d": "category"}


def fed(features: Features, rows: list[Any]) -> tuple[Features, list[Change]]:
    changes = [features.note(features.row(context)) for context in rows]
    return features, [change for change in changes if change is not None]


def mixed(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Contexts with two numbers of very different scales, a category and a bool, and holes in all of them."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for _ in range(count):
        row = {"a": rng.normal(), "b": rng.lognormal(5, 3), "c": str(rng.integers(5)), "d": bool(rng.random() < 0.3)}
        rows.append({name: value for name, value in row.items() if rng.random() < 0.9})
    return rows


def same(left: Any, right: Any) -> bool:
    return np.array_equal(left, right, equal_nan=True)


@pytest.fixture(
    params=["plain", pytest.param("compiled", marks=pytest.mark.skipif(not available(), reason="no numba"))]
)
def _either_way(request: pytest.FixtureRequest) -> Iterator[None]:
    with mock.patch.dict(os.environ, {"SUFFICE_NO_COMPILE": "1"} if request.param == "plain" else {}):
        compiled(activate)  # from now on, compiled code is used wherever there is any
        yield


# --- reading contexts

Row = namedtuple("Row", ["x", "task"])  # what pandas' itertuples makes
FRAME = pd.DataFrame({"x": [1.5, 2.5], "task": ["chat", "code"]})
TABLE = pl.DataFrame({"x": [1.5, 2.5], "task": ["chat", "code"]})


@pytest.mark.parametrize(
    "context",
    [
        {"x": 1.5, "task": "chat"},
        {"task": "chat", "x": Fraction(3, 2)},
        {"x": Decimal("1.5"), "task": np.str_("chat")},
        {"x": np.float32(1.5), "task": "chat"},
        {"x": np.array(1.5), "task": "chat"},
        FRAME.iloc[0],
        FRAME.iloc[[0]],
        TABLE.row(0, named=True),
        TABLE.row(0),
        TABLE[:1],
        (1.5, "chat"),
        [1.5, "chat"],
        np.array([1.5, "chat"], dtype=object),
        Row(1.5, "chat"),
        next(FRAME.itertuples(index=False)),
    ],
    ids=lambda context: type(context).__name__,
)
def test_a_context_in_any_form(context: Any) -> None:
    features = Features(fields={"x": "number", "task": "category"})
    features.row({"x": 0.0, "task": "code"})
    assert features.row(context).tolist() == [1.5, 2.0]


@pytest.mark.parametrize(
    "row",
    [
        np.array([1.0, 2.0, np.inf]),
        np.array([1, 2, np.nan], dtype=np.float32),
        np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, False, True]),
        [1, 2.0, None],
        (True, 2, 10**400),
        pd.Series([1.0, 2.0, np.nan]),
        pd.Series([1, 2, pd.NA], dtype="Int64"),
        pl.Series([1.0, 2.0, None]),
        {"0": 1, "1": 2},
        {"0": 1, "1": 2, "2": pd.NaT},
    ],
    ids=lambda row: type(row).__name__,
)
def test_a_row_without_names(row: Any) -> None:
    features = Features()
    assert features.row(np.array([5.0, 6.0, 7.0])).tolist() == [5.0, 6.0, 7.0]
    assert features.schema.names == ("0", "1", "2")
    assert same(features.row(row), [1.0, 2.0, math.nan])


def test_integers_are_numbers_and_a_row_is_a_copy() -> None:
    features = Features()
    given_ = np.array([1.0, 2.0])
    features.row(np.array([1, 2]))
    row = features.row(given_)
    given_[0] = 9.0
    assert row.tolist() == [1.0, 2.0]
    assert features.row(np.array([3, 4], dtype=np.uint8)).tolist() == [3.0, 4.0]


@pytest.mark.parametrize(
    "odd", [math.inf, -math.inf, math.nan, None, 10**400, Decimal("sNaN"), np.float32(np.inf), pd.NA]
)
def test_what_is_not_finite_is_missing(odd: Any) -> None:
    features = Features()
    features.row({"x": 1.0, "y": 2.0})
    assert same(features.row({"x": 1.7e308, "y": 1.7e308}), [1.7e308, 1.7e308])  # though their sum is not finite
    for context in ({"x": odd, "y": 2.0}, {"y": 2.0, "x": odd}, {"y": 2.0}):
        assert same(features.row(context), [math.nan, 2.0])


def test_whole_numbers_are_categories_where_that_was_said() -> None:
    features = Features(fields={"shop": "category"})
    codes = [features.row({"shop": shop})[0] for shop in (17, 3, "17", 17.0, np.int64(3), True, "True", 1, 2**60)]
    assert codes == [1, 2, 1, 1, 2, 3, 3, 4, 5]
    with pytest.raises(InvalidContext, match=r"'shop'.* must be a category .* got 2\.5"):
        features.row({"shop": 2.5})


@pytest.mark.parametrize(
    ("first", "then", "said"),
    [
        ({"x": 1.0}, {"x": "1.5"}, r"context\['x'\] must be a number, got '1.5'.*'category'"),
        ({"x": 1.0}, {"x": [1.0]}, r"context\['x'\] must be a number, .* got \[1.0\]"),
        ({"x": 1.0}, {"x": 1j}, r"context\['x'\] must be a number, .* got 1j"),
        ({"x": 1.0}, {"x": b"1"}, r"context\['x'\] must be"),
        ({"x": 1.0}, {"x": np.datetime64("2020-01-01")}, r"context\['x'\] must be"),
        ({"t": "a"}, {"t": 1}, r"context\['t'\] must be text or a bool, .* got 1: .*'category'"),
        ({"t": "a"}, {"t": 1.5}, r"context\['t'\] must be a category .* got 1.5: .*'number'"),
        ({"t": True}, {"t": {}}, r"context\['t'\] must be a category"),
        ({"x": 1.0}, {"x": 1.0, "y": 2.0}, r"no other fields than 'x', got 'y': leave it out"),
        ({"x": 1.0}, {"y": 2.0}, r"no other fields than 'x', got 'y'"),
        ({"x": 1.0}, [1.0], r"a mapping with the fields 'x'"),
        ([1.0, 2.0], [1.0], r"a row of 2 values, for '0', '1', got 1"),
        ([1.0, 2.0], np.ones(3), r"a row of 2 values, for '0', '1', got 3"),
        ([1.0, 2.0], np.ones((1, 2)), r"one row, got an array of shape \(1, 2\)"),
        ([1.0, 2.0], {"2": 1.0}, r"'0', '1', got '2'"),
        ({"x": 1.0}, FRAME, r"one row, got a table of 2 rows"),
        ({"x": 1.0}, TABLE, r"one row, got a table of 2 rows"),
        ({"x": 1.0}, "x", r"a mapping of field to value, or a row of values, got 'x'"),
        ({"x": 1.0}, None, r"a mapping of field to value, or a row of values, got None"),
        ({"x": 1.0}, 3.5, r"a mapping of field to value"),
    ],
)
def test_what_does_not_fit_is_named(first: Any, then: Any, said: str) -> None:
    features = Features()
    before = features.row(first)
    kept = copy.deepcopy(features.state())
    with pytest.raises(InvalidContext, match=said):
        features.row(then)
    assert features.state() == kept
    assert same(features.row(first), before)


@pytest.mark.parametrize("first", [{}, [], np.ones(0), {"x": object()}, {"x": 1.0, "y": [2.0]}])
def test_a_first_context_that_is_none_settles_nothing(first: Any) -> None:
    features = Features()
    with pytest.raises(InvalidContext):
        features.row(first)
    assert features.row({"z": 1.0}).tolist() == [1.0]


@pytest.mark.parametrize("fields", [{}, ["x"], {"x": "text"}, {"x": 1}, {1: "number"}, "x"])
def test_fields_that_are_none(fields: Any) -> None:
    with pytest.raises(InvalidArgument, match="fields"):
        Features(fields=fields)


def test_an_error_teaches_no_words() -> None:
    """A new category before the field that is wrong has no code afterwards."""
    features = Features()
    features.row({"t": "a", "x": 1.0})
    with pytest.raises(InvalidContext, match="'x'"):
        features.row({"t": "new", "x": "text"})
    assert features.row({"t": "b", "x": 1.0})[0] == 2.0


def test_the_first_value_that_is_there_decides_the_kind() -> None:
    features = Features()
    assert same(features.row({"x": None, "t": math.nan, "y": 1.0}), [math.nan, math.nan, 1.0])
    assert features.vector(features.row({"y": 1.0})).tolist() == [1.0, 1.0, 1.0, 0.0]
    assert same(features.row({"x": 2.0, "t": None, "y": 1.0}), [2.0, math.nan, 1.0])
    assert same(features.row({"x": 3.0, "t": "a", "y": 1.0}), [3.0, 1.0, 1.0])
    assert features.vector(features.row({"x": 3.0, "t": "a", "y": 1.0})).tolist() == [1.0, 0.0, 1.0, 0.0]
    assert [field["kind"] for field in features.report().values()] == ["number", "category", "number"]
    with pytest.raises(InvalidContext, match="'x'"):
        features.row({"x": "text"})


@given(contexts)
@settings(deadline=None)
def test_the_quick_way_reads_what_the_careful_way_reads(rows: list[dict[str, Any]]) -> None:
    quick, careful = Schema(FIELDS), Schema(FIELDS)
    for context in rows:
        assert same(quick.row(context), careful._careful(context))


@given(contexts, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_of_keys_does_not_matter(rows: list[dict[str, Any]], shuffler: Any) -> None:
    features, other = Features(fields=FIELDS), Features(fields=FIELDS)
    for context in rows:
        items = list(context.items())
        shuffler.shuffle(items)
        row, again = features.row(context), other.row(dict(items))
        assert same(row, again)
        features.note(row)
        other.note(again)
        assert same(features.vector(row), other.vector(again))
    assert features.state() == other.state()


def test_categories_beyond_the_last_are_one() -> None:
    features = Features()
    codes = [float(features.row({"t": f"t{place}"})[0]) for place in range(MOST_CATEGORIES + 3)]
    assert codes == [*range(1, MOST_CATEGORIES + 1), 0, 0, 0]
    features, _ = fed(Features(), [{"t": f"t{place}"} for place in range(MOST_CATEGORIES + 3)])
    assert features.width == 1 + MOST_CATEGORIES + 1
    assert features.report()["t"]["unseen"] == 3
    assert features.vector(features.row({"t": "t999"}))[-1] == 1.0


# --- the vector


@given(contexts)
@settings(max_examples=60, deadline=None)
def test_vectors_are_finite_and_every_field_sums_to_one(rows: list[dict[str, Any]]) -> None:
    """Whatever comes in. Where a number has no knots yet it says nothing, unless it is missing."""
    features, _ = fed(Features(fields=FIELDS), rows * 5)
    for context in rows:
        row = features.row(context)
        vector = features.vector(row)
        assert vector.shape == (features.width,) == (len(features.names()),)
        assert np.isfinite(vector).all()
        assert (vector >= 0.0).all()
        assert vector[0] == 1.0
        for field, (first, count) in enumerate(zip(features.layout.first, features.layout.counts, strict=True)):
            silent = field < 2 and count == 0 and not math.isnan(row[field])
            assert vector[first : first + count + 1].sum() == pytest.approx(0.0 if silent else 1.0)


def test_numbers_far_out_make_no_nonsense() -> None:
    extreme = [1.7e308, -1.7e308, 5e-324, 0.0, 1e-323, -5e-324, 1e100, -1e100, 1.0]
    features, _ = fed(Features(), [{"x": value} for value in extreme * 8])
    for value in [*extreme, 3e-324, 1e200]:
        vector = features.vector(features.row({"x": value}))
        assert np.isfinite(vector).all()
        assert vector.sum() == pytest.approx(2.0)
    features, _ = fed(Features(), [{"x": value} for value in (1.7e308, -1.7e308) * 16])
    assert features.vector(features.row({"x": 0.0})).tolist() == [1.0, 0.5, 0.5, 0.0]


def test_hats() -> None:
    features, changes = fed(Features(), [{"x": float(value)} for value in range(32)])
    (change,) = changes
    knots = features.report()["x"]["knots"]
    assert len(knots) == 5
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
    ("fields", "noted", "knots"),
    [
        (1, 32, 5),
        (1, 128, 6),
        (1, 1024, 9),
        (1, 1 << 14, 12),
        (2, 4096, 9),
        (3, 1024, 5),
        (4, 32, 5),
        (5, 32, 3),
        (20, 32, 3),
    ],
)
def test_more_numbers_have_fewer_knots_and_time_brings_more(fields: int, noted: int, knots: int) -> None:
    rng = np.random.default_rng(0)
    features, _ = fed(Features(), list(rng.normal(size=(noted, fields))))
    assert features.layout.counts.tolist() == [knots] * fields
    assert features.width == 1 + fields * (knots + 1)


def test_knots_are_distinct_and_few_values_have_one_each() -> None:
    assert quantiles(np.array([0.0] * 1000 + [1.0, 2.0]), 9) == [0.0, 1.0, 2.0]
    # What is common has one knot, and the rest has the others.
    assert quantiles(np.array([0.0] * 90 + list(range(1, 11))), 5) == pytest.approx(
        [0.0, 1.18, 4.06, 6.94, 9.82], abs=0.1
    )
    assert quantiles(np.array([np.nan, 3.0]), 9) == [3.0]
    features, changes = fed(Features(), [{"x": 4.0}] * 64)
    assert features.width == 2  # one value says nothing
    assert changes == []


def test_names() -> None:
    features, _ = fed(Features(), [{"x": float(place % 2), "t": "a b"} for place in range(32)])
    assert features.names() == ["intercept", "x at 0", "x at 1", "x missing", "t is a b", "t unseen"]
    assert repr(features) == "<Features: x (number, 2 knots), t (category, 1 values), 32 noted>"
    assert repr(Features()) == "<Features: no context yet, 0 noted>"
    many, _ = fed(Features(), [np.arange(20.0)])
    assert "and 12 more" in repr(many)


def test_the_report_counts_what_was_missing() -> None:
    rows = [{"x": 1.0, "t": "a"}, {"x": math.inf}, {"t": "a"}, {"x": None, "t": None}]
    report = fed(Features(), rows)[0].report()
    assert report["x"] == {"kind": "number", "noted": 4, "missing": 3, "knots": []}
    assert report["t"] == {"kind": "category", "noted": 4, "missing": 2, "unseen": 0, "categories": ["a"]}


@pytest.mark.usefixtures("_either_way")
def test_active_is_the_vector() -> None:
    rows = mixed(300)
    features, _ = fed(Features(fields=FIELDS), rows)
    for context in [*rows, {}]:
        row = features.row(context)
        features.indices.fill(-1)
        features.values.fill(math.nan)
        used = features.active(row)
        assert used <= len(features.indices) == len(features.values)
        dense = np.zeros(features.width)
        for place in range(used):
            dense[features.indices[place]] += features.values[place]
        assert same(dense, features.vector(row))


@pytest.mark.skipif(not available(), reason="the extra `fast` is not installed")
def test_compiled_is_plain() -> None:
    rows = mixed(400)
    features, _ = fed(Features(fields=FIELDS), rows)
    room = len(features.indices)
    found = [(np.zeros(room, dtype=np.int64), np.zeros(room)) for _ in range(2)]
    for context in rows:
        row = features.row(context)
        kinds, first, counts, starts, knots = (part.tolist() for part in features.layout)
        used = [
            activate(row.tolist(), kinds, first, counts, starts, knots, *found[0]),
            compiled(activate)(row, *features.layout, *found[1]),
        ]
        assert used[0] == used[1]
        assert same(found[0][0], found[1][0])
        assert same(found[0][1], found[1][1])


def test_a_row_of_other_features_is_refused() -> None:
    features, _ = fed(Features(), [[1.0, 2.0]])
    for call in (features.note, features.active, features.vector):
        with pytest.raises(InvalidArgument, match="row must have 2 numbers"):
            call(np.ones(3))


# --- changes of meaning


def follow(rows: list[dict[str, Any]], seed: int) -> None:
    """Random weights, carried along: at every knot, category and flag they say what they said before the change."""
    rng = np.random.default_rng(seed)
    features = Features(fields=FIELDS)
    weights = rng.normal(size=features.width)
    for context in rows:
        row = features.row(context)
        before = copy.deepcopy(features)
        change = features.note(row)
        if change is None:
            assert same(before.vector(row), features.vector(row))
            continue
        assert change.matrix.shape == (features.width, before.width)
        assert same(change.fresh, np.maximum(1.0 - (change.matrix**2).sum(axis=1), 0.0))
        assert (change.matrix.sum(axis=1) <= 1.0 + 1e-12).all()
        carried = change.matrix @ weights
        for probe in probes(before, features):
            assert features.vector(probe) @ carried == pytest.approx(before.vector(probe) @ weights, abs=1e-9)
        weights = np.where(change.fresh == 1.0, rng.normal(size=features.width), carried)
    assert features.noted == len(rows)


def probes(before: Features, after: Features) -> list[Floats]:
    """Rows at the new knots of a number that had knots, and all categories that had a feature; all else missing."""
    missing = np.full(len(FIELDS), math.nan)
    rows = [missing]
    for field in range(len(FIELDS)):
        if before.layout.counts[field]:
            opened = before.layout.counts[field]
            values = after._knots[field] if field < 2 else range(1, int(opened) + 1)
            for value in values:
                rows.append(missing.copy())
                rows[-1][field] = value
    return rows


@given(contexts, st.integers(0, 100))
@settings(max_examples=40, deadline=None)
def test_a_change_keeps_the_function(rows: list[dict[str, Any]], seed: int) -> None:
    follow(rows * 4, seed)


def test_a_change_keeps_the_function_through_many_knots() -> None:
    follow(mixed(600), 0)


def test_knots_move_when_contexts_have_doubled() -> None:
    rng = np.random.default_rng(0)
    features = Features()
    changes = [features.note(features.row({"x": rng.normal() + step / 100.0})) for step in range(1, 1100)]
    when = [step for step, change in enumerate(changes, start=1) if change is not None]
    assert when == [32, 64, 128, 256, 512, 1024]


def test_a_change_is_interpolation() -> None:
    features, _ = fed(Features(), [{"x": float(value)} for value in range(32)])
    old = features.report()["x"]["knots"]
    _, changes = fed(features, [{"x": 50.0 + value} for value in range(32)])
    (change,) = changes
    new = features.report()["x"]["knots"]
    weights = np.concatenate([[0.25], np.sin(old), [0.5]])
    expected = np.concatenate([[0.25], np.interp(new, old, np.sin(old)), [0.5]])
    assert change.matrix @ weights == pytest.approx(expected)
    assert change.fresh[0] == change.fresh[-1] == 0.0
    assert change.fresh[1:-1].max() <= 0.5 + 1e-12


def test_the_sample_is_fair_and_bounded() -> None:
    """Ten thousand numbers in order: the knots are their quantiles, not those of the first or the last."""
    features, _ = fed(Features(), [[float(step)] for step in range(8192)])
    assert len(features._sample) == SAMPLE
    assert features.report()["0"]["knots"] == pytest.approx(np.linspace(0.02, 0.98, 12) * 8192, abs=500)


def test_frozen_features_only_count() -> None:
    features, _ = fed(Features(fields=FIELDS), mixed(100))
    features.freeze()
    width, names = features.width, features.names()
    _, changes = fed(features, [{"c": "new", "a": 1e6}] * 200)
    assert changes == []
    assert (features.width, features.names()) == (width, names)
    assert features.report()["c"]["unseen"] == 200
    assert features.row({"c": "new"})[2] == 0.0
    assert repr(features).endswith("300 noted, frozen>")


# --- saving


@pytest.mark.parametrize("count", [0, 1, 31, 32, 700])
@pytest.mark.parametrize("frozen", [False, True])
def test_a_state_is_all_of_it(count: int, frozen: bool) -> None:
    features, _ = fed(Features(), [{"a": 1.0, "b": None, "c": None, "d": True}, *mixed(count)][:count])
    if frozen:
        features.freeze()
    state = json.loads(json.dumps(features.state(), allow_nan=False))
    again = Features.from_state(state)
    assert again.state() == state == features.state()
    for other in (again, pickle.loads(pickle.dumps(features)), copy.deepcopy(features)):
        twin = copy.deepcopy(features)
        for context in [{"a": 1.0, "b": 2.0, "c": "x", "d": False}, *mixed(400, seed=1)]:
            row, same_row = twin.row(context), other.row(context)
            change, same_change = twin.note(row), other.note(same_row)
            assert same(row, same_row)
            assert (change is None) == (same_change is None)
            assert same(twin.vector(row), other.vector(same_row))
        assert twin.state() == other.state()


def broken() -> list[tuple[str, Any]]:
    return [
        ("kind", "selector"), ("fields", None), ("fields", [["a", "text"]] * 4), ("fields", [["a", "number"]] * 4),
        ("fields", []), ("given", 1), ("ordered", None), ("frozen", 0), ("categories", []),
        ("categories", [["x"], [], [], []]),
        ("categories", [[], [], ["x", "x"], []]), ("categories", [[], [], [1], []]), ("categories", None),
        ("categories", [[], [], [str(place) for place in range(33)], []]), ("open", [0, 0, 99, 0]), ("open", [1, 0, 0, 0]),
        ("open", [0, 0, -1, 0]), ("open", [0, 0, 0.5, 0]), ("knots", [[1.0], [], [], []]), ("knots", [[2.0, 1.0], [], [], []]),
        ("knots", [[1.0, 1.0], [], [], []]), ("knots", [[], [], [1.0, 2.0], []]), ("knots", [[0.0, math.inf], [], [], []]),
        ("knots", [["x", 1.0], [], [], []]), ("noted", -1), ("noted", 1), ("noted", None), ("missing", [0, 0, 0]),
        ("missing", [-1, 0, 0, 0]), ("unseen", [0, 0, 0, "x"]), ("sample", [[1.0]]), ("sample", [[1.0, 2.0, 3.0, math.inf]]),
        ("sample", [["x", 1.0, 1.0, 1.0]]), ("sample", None), ("random", [0] * 6), ("random", [1] * 5),
        ("random", [2**40] * 6), ("random", [1.5] * 6),
    ]  # fmt: skip


@pytest.mark.parametrize(("part", "value"), broken())
def test_a_state_that_is_nonsense(part: str, value: Any) -> None:
    state = fed(Features(fields=FIELDS), mixed(100))[0].state()
    Features.from_state(state)
    with pytest.raises(StateError):
        Features.from_state({**state, part: value})
    with pytest.raises(StateError):
        Features.from_state({key: kept for key, kept in state.items() if key != part})


def test_a_state_that_is_no_state() -> None:
    wrong: list[Any] = [None, [], "features", {}]
    for state in wrong:
        with pytest.raises(StateError):
            Features.from_state(state)
