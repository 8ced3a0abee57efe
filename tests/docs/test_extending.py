"""The page on extending: its classes, taken from the page as it is, put through the contracts that ours pass."""

import doctest
import inspect
import json
import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from suffice.lab.streams.discover import maker
from suffice.learning import bounds
from suffice.service.stores.base import Store
from tests.lab import test_rivals, test_streams
from tests.learning import test_bounds, test_guard
from tests.service import test_stores
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
    found = [value for name, value in vars(contract).items() if name.startswith("test_")]
    assert found
    return found


def named(check: Any) -> str:
    return str(check.__name__)


@pytest.mark.parametrize(
    "check", [*checks(test_streams.TestEveryStream), *checks(test_streams.TestEveryName)], ids=named
)
def test_the_stream(check: Any) -> None:
    kind = SHOWN["HelpDesk"]
    if "kind" in inspect.signature(check).parameters:
        check(test_streams.TestEveryName(), kind)
    else:
        check(test_streams.TestEveryStream(), maker(kind)())


@pytest.mark.parametrize("menu", [test_bounds.KNOWN, test_bounds.TOLD], ids=["known", "told"])
@pytest.mark.parametrize("check", checks(test_bounds.TestEveryKind), ids=named)
def test_the_bound(check: Any, menu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(bounds.NAMED, "bernstein", SHOWN["Bernstein"])
    check(test_bounds.TestEveryKind(), "bernstein", menu, None)


@pytest.mark.parametrize("horizon", [None, 400])
def test_the_bound_is_right_on_almost_every_stream(horizon: int | None) -> None:
    test_bounds.test_selector_bounds_cover_on_almost_every_stream(SHOWN["Bernstein"](), horizon)


@pytest.mark.parametrize("stream", test_guard.STREAMS.values(), ids=test_guard.STREAMS.keys())
@pytest.mark.parametrize("kappa", [0.1, 1.0])
def test_the_chooser(stream: Any, kappa: float) -> None:
    recent: Any = SHOWN["Recent"]

    class Watched(recent):  # type: ignore[misc]
        """What the contract looks at: how often it was asked."""

        calls, latent = 0, None

        def choose(self, price: float, bounds: Any, allowed: Any) -> Any:
            self.calls += 1
            return super().choose(price, bounds, allowed)

    chooser = Watched(stream.menu.n_arms)
    test_guard.endure(stream, chooser, kappa, 700)
    assert chooser.calls > (10 if kappa == 1.0 else 0)


@pytest.mark.parametrize("check", checks(test_rivals.TestEveryRival), ids=named)
def test_the_rival(check: Any) -> None:
    kind = SHOWN["TryThenCommit"]
    outcomes: list[dict[str, float]] = [{"outcome": 0.0}, {"outcome": 1.0}]
    for more in outcomes if "outcome" in inspect.signature(check).parameters else [{}]:
        check(test_rivals.TestEveryRival(), kind, **more)


@pytest.mark.parametrize("check", checks(test_stores.TestContract), ids=named)
def test_the_store(check: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_stores, "open_store", SHOWN["Audited"])
    check(test_stores.TestContract(), str(tmp_path / "suffice.db"))


def test_the_trail_holds_what_was_settled_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_stores, "open_store", SHOWN["Audited"])
    trail = tmp_path / "suffice.audit"
    contract = test_stores.TestContract()
    contract.test_events_come_in_order_and_an_amended_expiry_twice(str(tmp_path / "suffice.db"))
    lines = [json.loads(line) for line in trail.read_text("utf-8").splitlines()]
    assert [(line["decision"], line["state"]) for line in lines] == [
        (3, "told"),
        (1, "expired"),
        (0, "amended"),
        (2, "told"),
    ]
    contract.test_what_raises_leaves_nothing(str(tmp_path / "other.db"))
    assert (tmp_path / "other.audit").read_text("utf-8").count("\n") == 1  # not of what raised


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
