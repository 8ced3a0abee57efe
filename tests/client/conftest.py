"""The harness, once with the blocking and once with the asynchronous client."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.support.client_harness import Harness


@pytest.fixture(params=["sync", "async"])
def harness(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Harness]:
    for name in ("SUFFICE_URL", "SUFFICE_KEY"):
        monkeypatch.delenv(name, raising=False)
    with asyncio.Runner() as runner:
        made = Harness(None if request.param == "sync" else runner)
        yield made
        made.service.close()
