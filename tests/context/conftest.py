"""Fixtures of the tests of contexts."""

import pytest

import suffice


@pytest.fixture(scope="module")
def warm() -> None:
    """Compile once: small menus use compiled code only where something is compiled already."""
    suffice.warmup()
