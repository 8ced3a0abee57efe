"""How a refusal is looked at: one sentence that begins as it should, and is not long."""

from collections.abc import Callable

import pytest

from suffice import InvalidArgument


def refused(call: Callable[[], object], said: str, shorter_than: int = 300) -> None:
    """The call is refused, in these words."""
    with pytest.raises(InvalidArgument) as error:
        call()
    text = str(error.value)
    assert text.startswith(said), text
    assert "\n" not in text
    assert len(text) < shorter_than
