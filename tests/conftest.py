"""Fixtures of several files, and the marks of tests that need a browser, a PostgreSQL or a compiler."""

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from suffice import warmup
from suffice.kernels.compiler import available
from tests.support import browser as chromium
from tests.support.interrupt import restore_interrupts_in_children
from tests.support.postgres import Postgres, running

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.support.sites import Site
    from tests.support.visiting import Visitor


def pytest_configure() -> None:
    """Before any test starts a process: Ctrl-C must work in it, wherever the tests were started."""
    restore_interrupts_in_children()


@pytest.hookimpl(tryfirst=True)  # before `-m` selects by the marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs a browser, a PostgreSQL or a compiler, and leave out the long tests unless `-m` names them."""
    for item in items:
        for mark in needs(item):
            item.add_marker(mark)
        if item.get_closest_marker("compiled") and not available():
            item.add_marker(pytest.mark.skip(reason="needs the extra `fast`"))
    if "long" not in config.option.markexpr:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("long")])
        items[:] = [item for item in items if not item.get_closest_marker("long")]


def needs(item: pytest.Item) -> Iterator[str]:
    """The marks that follow from the fixtures and the parameters of a test; others are written beside the test."""
    fixtures = getattr(item, "fixturenames", ())
    parameters = dict(getattr(getattr(item, "callspec", None), "params", {}))
    if "browser_path" in fixtures:
        yield "browser"
    if "postgres" in fixtures or parameters.get("store_url") == "postgres":
        yield "postgres"
    if parameters.get("compiled") is True or any(
        isinstance(one, str) and one == "compiled" for one in parameters.values()
    ):
        yield "compiled"


@pytest.fixture(scope="session")
def warm() -> None:
    """Compile once: small menus use compiled code only where something is compiled already."""
    warmup()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A real PostgreSQL, one for each process that runs tests."""
    with running() as server:
        yield server


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a new store, of each kind in turn."""
    if request.param == "memory":
        return "memory:"
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'suffice.db'}"
    server: Postgres = request.getfixturevalue("postgres")
    return server.database()


@pytest.fixture(scope="session")
def browser_path() -> str:
    """The path of a Chromium that starts."""
    try:
        return chromium.find()
    except chromium.NoBrowser as error:
        if chromium.wanted():
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def browser(browser_path: str) -> Iterator["Browser"]:
    """A real Chromium, one per test file: while it runs, other tests could not use an event loop in this thread."""
    with chromium.launched(browser_path) as one:
        yield one


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Site"]:
    """A running service that tests share: each makes selectors of its own."""
    from tests.support.sites import serving

    with serving(tmp_path_factory.mktemp("site")) as one:
        yield one


@pytest.fixture
def things() -> Iterator[ExitStack]:
    """Closes what a test starts for a window, after the window."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def visit(browser: "Browser", things: ExitStack) -> Iterator[Callable[..., "Visitor"]]:
    """Opens windows on sites. The test fails if something unexpected went wrong in one of them."""
    from tests.support.visiting import Visitor

    visitors: list[Visitor] = []

    def visit(site: "Site", **how: Any) -> Visitor:
        visitors.append(Visitor(browser, site, **how))
        return visitors[-1]

    yield visit
    troubles = [trouble for visitor in visitors for trouble in visitor.close()]
    assert not troubles, "\n".join(troubles)


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C interrupts, also where the tests run in the background of a shell, which has them ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
