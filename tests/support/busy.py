"""A selector in the middle of its work."""

from typing import Any

from suffice import Selector, ThresholdSelector


def busy(selector: Selector | ThresholdSelector) -> Any:
    """Some of everything: told, pending, expired, amended, unaudited."""
    for k, decision in enumerate(selector.ask_many(12)):
        if k % 4 == 0:
            selector.expire(decision)
        if k % 4 != 1:
            selector.tell(decision, k % 3 > 0, 0.25)
    selector.expire(1)
    selector.ask(audit=False)
    return selector
