"""What tests of several files are given."""

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import browser as chromium
from tests.support.interrupt import let_children_hear
from tests.support.postgres import Postgres, running

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.support.sites import Site
    from tests.support.visiting import Visitor


def pytest_configure() -> None:
    """Before any test starts a process: what it does on Ctrl-C must not hang on where the tests were started."""
    let_children_hear()


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
    """Where a Chromium is that starts."""
    try:
        return chromium.find()
    except chromium.NoBrowser as error:
        if chromium.wanted():
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def browser(browser_path: str) -> Iterator["Browser"]:
    """A real Chromium, one for each file of tests: the tests of other files want the thread's event loop for themselves."""
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
    """Holds what a test starts for a window to look at: it outlives the window."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def visit(browser: "Browser", things: ExitStack) -> Iterator[Callable[..., "Visitor"]]:
    """Opens windows on sites. Afterwards nothing must have gone wrong in them that the test did not expect."""
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
    """Ctrl-C interrupts, also where the tests run in the background of a shell and were told to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
