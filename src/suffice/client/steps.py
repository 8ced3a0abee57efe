"""What the logic of the client and the two that do its work say to each other. Nothing here, nor in the logic, does I/O.

The logic is written once, as generators: they yield a step (send this, wait so long) and are sent what came of it. `sync`
and `asynchronous` each do steps, one with a blocking client and one with awaits.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

T = TypeVar("T")

JSON: Final = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Request:
    """One request to the service; sent again as it is when it has to be retried."""

    method: str
    path: str
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait for so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, whatever its status."""

    status: int
    content: bytes
    retry_after: str | None = None
    location: str | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """Nothing came back, and why."""

    why: str


Steps: TypeAlias = Generator[Request | Wait, Any, T]
