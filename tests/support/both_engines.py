"""Menus on which both engines are tested, and selectors with the engine that is wanted."""

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

from suffice import Menu, Selector
from suffice.kernels.compiler import OFF
from suffice.selector.compiled import CompiledEngine
from suffice.selector.plain import PlainEngine

MENUS = {
    "known": Menu({"a": 0.1, "b": 0.4, "c": 0.6}, safe="all", skip="none", safe_cost=1.0),
    "no skip": Menu({"a": 0.1, "b": 0.4}, safe="all", safe_cost=1.0),
    "told": Menu(["a", "b"], safe="all", skip="none", safe_cost=1.0),
    "chain": Menu.top_k([1, 2, 5, 10, 20, 50], classes=100, skip=True),
    "intervals": Menu.intervals(0.25, skip=True),
    "large": Menu({i: i / 100 for i in range(80)}, safe="all", skip="none", safe_cost=1.0),
    "may fail": Menu({"a": 0.2}, safe="all", skip="none", safe_success=0.95, safe_cost=1.0),
}
WAYS = ["plain", "compiled"]


@contextlib.contextmanager
def without_compiler() -> Iterator[None]:
    """What is made, loaded or copied in here is plain."""
    before = os.environ.get(OFF)
    os.environ[OFF] = "1"
    try:
        yield
    finally:
        del os.environ[OFF]
        if before is not None:
            os.environ[OFF] = before


def made(way: str, make: Callable[[], Selector]) -> Selector:
    """A selector with the engine that is wanted."""
    if way == "plain":
        with without_compiler():
            selector = make()
        assert type(selector.engine) is PlainEngine
        return selector
    selector = make()
    selector.compile()
    assert type(selector.engine) is CompiledEngine
    return selector


def state_of(selector: Selector) -> dict[str, Any]:
    """The state but for the keys, which are random."""
    return {name: value for name, value in selector.state().items() if name != "keys"}
