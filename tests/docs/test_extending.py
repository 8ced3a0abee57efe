"""The page on extending: its classes, taken from the page as it is, put through the contracts that ours pass."""

import doctest
import json
import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from suffice.service.stores.base import Store
from suffice.testing.stores import StoreContract
from tests.lab import test_streams
from tests.support.paths import DOCS, ROOT

PAGE = DOCS / "extending.md"
TEXT = PAGE.read_text("utf-8")
ENOUGH = 32  # lines of a class with all its docstrings; about twenty of them do something


def shown() -> dict[str, Any]:
    """What the page defines. Only definitions are run here: its examples are run as doctests."""
    module = sys.modules["extending_page"] = types.ModuleType("extending_page")  # where pickle looks for its classes
    for example in doctest.DocTestParser().get_examples(TEXT):
        if example.source.startswith(("import ", "from ", "class ")):
            exec(example.source, vars(module))
    return vars(module)


SHOWN = shown()


def checks(contract: type[Any]) -> list[Any]:
    """Every test of a contract."""
    tests = [value for name, value in vars(contract).items() if name.startswith("test_")]
    assert tests
    return tests


def named(check: Any) -> str:
    return str(check.__name__)


HELP_DESK: Any = SHOWN["TestHelpDesk"]
BERNSTEIN: Any = SHOWN["TestBernstein"]
RECENT: Any = SHOWN["TestRecent"]
TRY_THEN_COMMIT: Any = SHOWN["TestTryThenCommit"]


class TestTheStream(HELP_DESK):  # type: ignore[misc]
    """The contract that the page subclasses."""


@pytest.mark.parametrize("check", checks(test_streams.TestEveryName), ids=named)
def test_the_name_of_the_stream(check: Any) -> None:
    check(test_streams.TestEveryName(), SHOWN["HelpDesk"])


class TestTheBound(BERNSTEIN):  # type: ignore[misc]
    """The contract that the page subclasses."""


class TestTheChooser(RECENT):  # type: ignore[misc]
    """The contract that the page subclasses."""


class TestTheRival(TRY_THEN_COMMIT):  # type: ignore[misc]
    """The contract that the page subclasses."""


@pytest.mark.parametrize("check", checks(StoreContract), ids=named)
def test_the_store(check: Any, tmp_path: Path) -> None:
    check(SHOWN["TestAudited"](), tmp_path)


def test_the_trail_holds_what_was_settled_and_nothing_else(tmp_path: Path) -> None:
    contract = SHOWN["TestAudited"]()
    contract.test_events_come_in_order_and_an_amended_expiry_twice(tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "tickets.audit").read_text("utf-8").splitlines()]
    assert [(line["decision"], line["state"]) for line in lines] == [
        (3, "told"),
        (1, "expired"),
        (0, "amended"),
        (2, "told"),
    ]
    other = tmp_path / "other"
    other.mkdir()
    contract.test_a_transaction_that_raises_writes_nothing(other)
    assert (other / "tickets.audit").read_text("utf-8").count("\n") == 1


def test_every_method_of_a_store_is_listed() -> None:
    section = TEXT.split("**A backend of its own**")[1]
    rows = "".join(line.split("|")[2] for line in section.splitlines() if line.startswith("| ") and "`" in line)
    assert set(re.findall(r"`(\w+)`", rows)) == Store.__abstractmethods__
    assert f"| {len(Store.__abstractmethods__)} methods, or one of ours" in TEXT


def test_contracts_that_are_named_exist() -> None:
    for name, file in re.findall(r"`(\w+)` in `(tests/[\w/]+\.py)`", TEXT):
        source = (ROOT / file).read_text("utf-8")
        assert re.search(rf"^(class|def) {name}\b", source, re.MULTILINE), (name, file)


def test_about_twenty_lines_each() -> None:
    for example in doctest.DocTestParser().get_examples(TEXT):
        if example.source.startswith("class "):
            assert example.source.count("\n") <= ENOUGH, example.source.splitlines()[0]
