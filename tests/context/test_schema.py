"""Reading contexts: every form that a context may have, the kinds of fields, and errors that name the field."""

import copy
import math
from collections import namedtuple
from decimal import Decimal
from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings

from suffice import InvalidArgument
from suffice.context.schema import MOST_CATEGORIES, Schema
from suffice.errors import InvalidContext

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


def same(left: Any, right: Any) -> bool:
    return np.array_equal(left, right, equal_nan=True)


def contents(schema: Schema) -> Any:
    return copy.deepcopy((schema.names, schema.kinds, schema.codes, schema.ordered))


Row = namedtuple("Row", ["x", "task"])  # as from pandas' itertuples
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
        TABLE.row(0, named=True),
        TABLE.row(0),
        (1.5, "chat"),
        [1.5, "chat"],
        np.array([1.5, "chat"], dtype=object),
        Row(1.5, "chat"),
        next(FRAME.itertuples(index=False)),
    ],
    ids=lambda context: type(context).__name__,
)
def test_a_context_in_any_form(context: Any) -> None:
    schema = Schema(fields={"x": "number", "task": "category"})
    schema.row({"x": 0.0, "task": "code"})
    assert schema.row(context).tolist() == [1.5, 2.0]


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
        {"0": 1, "1": 2},
        {"0": 1, "1": 2, "2": pd.NaT},
    ],
    ids=lambda row: type(row).__name__,
)
def test_a_row_without_names(row: Any) -> None:
    schema = Schema()
    assert schema.row(np.array([5.0, 6.0, 7.0])).tolist() == [5.0, 6.0, 7.0]
    assert schema.names == ("0", "1", "2")
    assert same(schema.row(row), [1.0, 2.0, math.nan])


def test_a_row_is_a_copy_of_the_context() -> None:
    schema, context = Schema(), np.array([1.0, 2.0])
    schema.row(np.array([1, 2], dtype=np.uint8))
    row = schema.row(context)
    context[0] = 9.0
    assert row.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "odd", [math.inf, -math.inf, math.nan, None, 10**400, Decimal("sNaN"), np.float32(np.inf), pd.NA]
)
def test_a_value_that_is_not_finite_is_missing(odd: Any) -> None:
    schema = Schema()
    schema.row({"x": 1.0, "y": 2.0})
    assert same(schema.row({"x": 1.7e308, "y": 1.7e308}), [1.7e308, 1.7e308])  # though their sum is not finite
    for context in ({"x": odd, "y": 2.0}, {"y": 2.0, "x": odd}, {"y": 2.0}):
        assert same(schema.row(context), [math.nan, 2.0])


def test_whole_numbers_are_categories_if_the_user_says_so() -> None:
    schema = Schema(fields={"shop": "category"})
    codes = [schema.row({"shop": shop})[0] for shop in (17, 3, "17", 17.0, np.int64(3), True, "True", 1, 2**60)]
    assert codes == [1, 2, 1, 1, 2, 3, 3, 4, 5]
    with pytest.raises(InvalidContext, match=r"'shop'.* must be a category .* got 2\.5"):
        schema.row({"shop": 2.5})


@pytest.mark.parametrize(
    ("first", "then", "message"),
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
        ([1.0, 2.0], np.ones((1, 2)), r"one row, got an array of shape \(1, 2\)"),
        ([1.0, 2.0], {"2": 1.0}, r"'0', '1', got '2'"),
        ({"x": 1.0}, FRAME, r"no other fields than 'x', got 'task'"),
        ({"x": 1.0}, "x", r"a mapping of field to value, or a row of values, got 'x'"),
        ({"x": 1.0}, None, r"a mapping of field to value, or a row of values, got None"),
    ],
)
def test_a_context_that_does_not_fit_is_refused_and_changes_nothing(first: Any, then: Any, message: str) -> None:
    schema = Schema()
    before = schema.row(first)
    kept = contents(schema)
    with pytest.raises(InvalidContext, match=message):
        schema.row(then)
    assert contents(schema) == kept
    assert same(schema.row(first), before)


@pytest.mark.parametrize("first", [{}, [], np.ones(0), {"x": object()}, {"x": 1.0, "y": [2.0]}])
def test_an_invalid_first_context_sets_no_fields(first: Any) -> None:
    schema = Schema()
    with pytest.raises(InvalidContext):
        schema.row(first)
    assert schema.row({"z": 1.0}).tolist() == [1.0]


@pytest.mark.parametrize("fields", [{}, ["x"], {"x": "text"}, {"x": 1}, {1: "number"}, "x"])
def test_invalid_fields_are_refused(fields: Any) -> None:
    with pytest.raises(InvalidArgument, match="fields"):
        Schema(fields=fields)


def test_a_refused_context_adds_no_category() -> None:
    schema = Schema()
    schema.row({"t": "a", "x": 1.0})
    with pytest.raises(InvalidContext, match="'x'"):
        schema.row({"t": "new", "x": "text"})
    assert schema.row({"t": "b", "x": 1.0})[0] == 2.0


def test_the_first_value_decides_the_kind_of_a_field() -> None:
    schema = Schema()
    assert same(schema.row({"x": None, "t": math.nan, "y": 1.0}), [math.nan, math.nan, 1.0])
    assert same(schema.row({"x": 2.0, "t": None, "y": 1.0}), [2.0, math.nan, 1.0])
    assert same(schema.row({"x": 3.0, "t": "a", "y": 1.0}), [3.0, 1.0, 1.0])
    with pytest.raises(InvalidContext, match="'x'"):
        schema.row({"x": "text"})


@given(contexts)
@settings(deadline=None)
def test_the_fast_path_reads_the_same_rows(rows: list[dict[str, Any]]) -> None:
    fast, checked = Schema(FIELDS), Schema(FIELDS)
    for context in rows:
        assert same(fast.row(context), checked.checked_row(context))


def test_categories_beyond_the_last_have_the_code_0() -> None:
    schema = Schema()
    codes = [float(schema.row({"t": f"t{place}"})[0]) for place in range(MOST_CATEGORIES + 3)]
    assert codes == [*range(1, MOST_CATEGORIES + 1), 0, 0, 0]
