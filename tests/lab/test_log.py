"""Logs: what is read from files, how they are replayed, and the message for everything that can be wrong with one."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suffice import SufficeWarning
from suffice.lab.streams import Log
from tests.lab.test_streams import ROWS
from tests.support.refusals import refused

GOOD = "success:small,cost:small,success:large,cost:large\n1,0.1,1,2\n0,0.3,1,2\n0.5,0,1,2\n"


def written(folder: Path, text: str, name: str = "log.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def load(path: Any, **settings: Any) -> Log:
    return Log.from_settings(path=path, **settings)


def test_a_csv_file_is_read(tmp_path: Path) -> None:
    log = load(written(tmp_path, GOOD))
    assert (log.menu.options, log.menu.safe, log.menu.has_skip) == (("small",), "large", False)
    assert (log.menu.safe_cost, log.menu.costs) == (2.0, None)
    assert log.table().successes.tolist() == [[1, 1], [0, 1], [0.5, 1]]
    assert log.table().costs.tolist() == [[0.1, 2], [0.3, 2], [0, 2]]
    assert [part.round(6).tolist() for part in log.truth()] == [[0.5, 1.0], [0.133333, 2.0]]


COST_RANGE = "cost:small must be between 0 and 2, what the safe option costs at most"


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD.rstrip("\n"),
        GOOD.replace("1,0.1", "\n\n1,0.1") + "\n\n",
        GOOD.replace("\n1,0.1,1", "\n True,1e-1,yes").replace("\n0,", "\nfalse,"),
        GOOD.replace(",", " ,").replace("success:small ", ' "success:small"'[1:]),
    ],
    ids=["byte order mark", "Windows", "no last newline", "blank lines", "words", "spaces"],
)
def test_equivalent_files(tmp_path: Path, text: str) -> None:
    log, same = load(written(tmp_path, text)), load(written(tmp_path, GOOD, "same.csv"))
    assert log.menu.recipe() == same.menu.recipe()
    for part in (0, 1):
        assert log.table()[part].tolist() == same.table()[part].tolist()


def test_other_columns_are_ignored(tmp_path: Path) -> None:
    text = 'prompt,success:a,note,cost:a,success:b,cost:b\n"Why, oh\nwhy?",1,x,0.5,1,1\nhm,0,"""",0.5,1,1\n'
    log = load(written(tmp_path, text))
    assert log.truth()[0].tolist() == [0.5, 1.0]
    assert log.menu.costs is not None  # all equal, so known
    assert log.menu.costs.tolist() == [0.5]


def test_a_skip_needs_no_column(tmp_path: Path) -> None:
    added = load(written(tmp_path, GOOD), skip="skip")
    assert [added.menu.option(arm) for arm in range(3)] == ["skip", "small", "large"]
    assert added.table().successes[:, 0].tolist() == added.table().costs[:, 0].tolist() == [0, 0, 0]
    text = "success:skip,cost:skip,success:a,cost:a\n0,0,1,1\n"
    assert load(written(tmp_path, text), skip="skip").menu.options == ()
    refused(
        lambda: load(written(tmp_path, text.replace("\n0,0", "\n0,0.1")), skip="skip"),
        "cost:skip must be 0, since this is the skip option, got 0.1 in row 1",
    )
    refused(lambda: load(written(tmp_path, GOOD), skip="large"), "skip must be another option than the safe one")


def test_the_safe_option_may_cost_more_in_some_rows() -> None:
    columns: dict[str, Any] = {"success:a": [1, 0], "cost:a": [0.5, 2.5], "success:b": [1, 1], "cost:b": [2, 3]}
    log = Log.of(columns)
    assert log.menu.safe_cost == 3.0
    assert [log.outcome(row, 1, 0.0) for row in (0, 1)] == [(1.0, 2.0), (1.0, 3.0)]
    assert log.truth()[1].tolist() == [1.5, 2.5]


def test_rows_repeat_in_their_order(tmp_path: Path) -> None:
    log = load(written(tmp_path, GOOD))
    rng = np.random.default_rng(0)
    assert log.draw(rng, 7).tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert log.draw(rng, 3, start=10**12 + 1).tolist() == [(10**12 + 1 + step) % 3 for step in range(3)]
    shuffled = load(tmp_path / "log.csv", order="shuffled")
    drawn = shuffled.draw(rng, 3000)
    assert np.bincount(drawn, minlength=3) == pytest.approx(1000, abs=4 * np.sqrt(3000 * 2 / 9))


def test_many_rows(tmp_path: Path) -> None:
    """More than a batch, with words in the second batch only."""
    rows = 150_000
    lines = ["1,0.25,1"] * rows
    lines[100_000] = "false,0.5,true"
    log = load(written(tmp_path, "success:a,cost:a,success:b\n" + "\n".join(lines)), safe_cost=1)
    assert log.table().successes.shape == (rows, 2)
    assert log.table().successes[:, 0].argmin() == 100_000
    assert log.truth()[1][0] == pytest.approx(0.25 + 0.25 / rows)
    lines[140_000] = "1,?,1"
    path = written(tmp_path, "success:a,cost:a,success:b\n" + "\n".join(lines))
    refused(lambda: load(path, safe_cost=1), "cost:a must be a number, got '?' in row 140001")


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "columns must include success:OPTION, one per option, got none"),
        ("a,b\n1,2\n", "columns must include success:OPTION, one per option, got 'a, b'"),
        ("cost:a\n1\n", "columns must include success:OPTION, one per option, got 'cost:a'"),
        (GOOD.splitlines()[0], "columns must hold at least one row, got none"),
        (
            changed("cost:small", "price"),
            "columns must include cost:small, got 'success:small, success:large, cost:large'",
        ),
        (
            changed("success:small", "small"),
            "columns must include success:small, got 'cost:small, success:large, cost:la",
        ),
        (changed("success:large", "success:small"), "columns must differ, got 'success:small' twice"),
        (changed("0,0.3", "0,cheap"), "cost:small must be a number, got 'cheap' in row 2"),
        (changed("0,0.3", "0,nan"), f"{COST_RANGE}, got nan in row 2"),
        (changed("0,0.3", "0,2.5"), f"{COST_RANGE}, got 2.5 in row 2"),
        (changed("0.5,0", "1.5,0"), "success:small must be between 0 and 1, got 1.5 in row 3"),
        (changed("0.5,0", "0.5,0,0"), "rows must have 4 cells as the header has, got 5 in row 3"),
        (GOOD.replace(",2", ",0").replace("0.1", "0").replace("0.3", "0"), "safe_cost must be above 0"),
        (GOOD + '"' + "x" * 200_000, "path must name a CSV file, got line 5 with: field larger than field limit"),
    ],
)
def test_hostile_files(tmp_path: Path, text: str, message: str) -> None:
    refused(lambda: load(written(tmp_path, text)), message)


def test_hostile_arguments(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    for settings, message in (
        ({"safe": "huge"}, "safe must be one of 'small, large', got 'huge'"),
        ({"safe_cost": 1}, "cost:large must be between 0 and 1, what the safe option costs at most, got 2 in row 1"),
        ({"safe_cost": "x"}, "safe_cost must be a number"),
        ({"order": "random"}, 'order must be "recorded" or "shuffled", got \'random\''),
        ({"safe_success": 2}, "safe_success must lie above 0 and be at most 1"),
    ):
        refused(lambda settings=settings: load(path, **settings), message)  # type: ignore[misc]
    refused(lambda: load(tmp_path / "none.csv"), "path must name a file that can be read")
    refused(lambda: load(tmp_path / "log.xlsx"), "path must name a .csv file")
    refused(lambda: load(3), "path must name a .csv file, got 3")
    (tmp_path / "latin.csv").write_bytes("success:größe\n1\n".encode("latin-1"))
    refused(lambda: load(tmp_path / "latin.csv"), "path must name a text file in UTF-8")


def test_a_safe_option_that_fails_is_counted(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD.replace("0,0.3,1,2", "0,0.3,0,2"))
    with pytest.warns(SufficeWarning, match=r"\('large'\) fails in 1 of 3 rows.*safe_success=0\.666"):
        load(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        log = load(path, safe_success=0.666)
    assert float(log.menu.safe_success) == 0.666


def test_arrays_are_checked() -> None:
    menu = Log.of(ROWS).menu
    refused(lambda: Log(menu, [[1, 1]], [[1, 1]]), "successes must have at least one row and 3 columns, one per arm")
    refused(lambda: Log(menu, np.ones((2, 3)), np.ones((1, 3))), "costs must have the shape (2, 3), got (1, 3)")
    refused(
        lambda: Log(menu, [[1, 2, 1]], [[0, 0, 1]]), "success of 'large model' must be between 0 and 1, got 2 in row 1"
    )
    refused(lambda: Log.of({"success:a": ["x"]}), "success:a must hold one number per row, got ['x']")
    refused(lambda: Log.of({"success:a": [1], "cost:a": [1, 2]}), "columns must be equally long")
