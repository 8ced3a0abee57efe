"""The harness, once with the blocking and once with the asynchronous client."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.support.client_harness import Harness


@pytest.fixture(params=["sync", "async"])
def harness(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Harness]:
    for name in ("SUFFICE_URL", "SUFFICE_KEY"):
        monkeypatch.delenv(name, raising=False)
    if request.param == "sync":
        yield Harness(None)
    else:
        with asyncio.Runner() as runner:
            yield Harness(runner)
