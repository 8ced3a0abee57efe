"""Decision ids over HTTP: opaque strings such as "d-1a". Stores and the library use numbers; only this file converts."""

import re
from typing import Annotated, Final

from pydantic import Field

NO_DECISION: Final = -1  # what an unreadable id is read as; no decision has this number

_FORM: Final = re.compile(r"d-(0|[1-9a-f][0-9a-f]{0,13})")

DecisionId = Annotated[str, Field(description="The id of a decision, an opaque string.", examples=["d-11"])]


def to_id(number: int) -> str:
    """The id of the decision with this number.

    >>> to_id(0), to_id(26)
    ('d-0', 'd-1a')
    """
    return f"d-{number:x}"


def to_number(decision_id: str) -> int:
    """The number of the decision with this id; NO_DECISION for text that is no id.

    >>> to_number("d-1a"), to_number("d-01a"), to_number("26")
    (26, -1, -1)
    """
    return int(decision_id[2:], 16) if _FORM.fullmatch(decision_id) else NO_DECISION
