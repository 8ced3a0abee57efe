"""Reading the body of a request as a whole: not too large, and not too slow; and throwing the rest of one away."""

import asyncio
from typing import Final

from starlette.types import Message, Receive

MOST_DISCARDED: Final = 64 << 20  # bytes
DISCARD_FOR: Final = 5.0  # seconds


class TooLarge(Exception):
    """The body is larger than allowed."""


class TooSlow(Exception):
    """The body did not arrive in time."""


class ClientDisconnected(Exception):
    """The client disconnected before it had sent the whole body."""


async def read(receive: Receive, most: int, seconds: float) -> bytes:
    """The whole body."""
    try:
        async with asyncio.timeout(seconds):
            message = await _next(receive)
            body: bytes = message.get("body", b"")
            if not message.get("more_body", False) and len(body) <= most:  # most bodies arrive together with the header
                return body
            parts, size = [body], len(body)
            while message.get("more_body", False) and size <= most:
                message = await _next(receive)
                parts.append(message.get("body", b""))
                size += len(parts[-1])
    except TimeoutError:
        raise TooSlow from None
    if size > most:
        raise TooLarge
    return b"".join(parts)


async def discard(receive: Receive) -> bool:
    """Read and drop the rest of a body, so that the client can read the response; False if the body does not end."""
    size = 0
    try:
        async with asyncio.timeout(DISCARD_FOR):
            while size <= MOST_DISCARDED:
                message = await _next(receive)
                size += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return True
    except (TimeoutError, ClientDisconnected):
        pass
    return False


def replaying(body: bytes, receive: Receive) -> Receive:
    """A `receive` that first returns a body that was read before, and then the messages that follow."""
    waiting = True

    async def replay() -> Message:
        nonlocal waiting
        if waiting:
            waiting = False
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return replay


async def _next(receive: Receive) -> Message:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientDisconnected
    return message
