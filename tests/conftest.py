"""What tests of several files are given."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres import Postgres, running


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
