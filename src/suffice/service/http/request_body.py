"""Bodies as they come in: whole, not too large and not too slow; or thrown away."""

import asyncio
from typing import Final

from starlette.types import Message, Receive

MOST_DISCARDED: Final = 64 << 20
DISCARD_FOR: Final = 5.0


class TooLarge(Exception):
    """More than is allowed."""


class TooSlow(Exception):
    """It was not here in time."""


class ClientDisconnected(Exception):
    """The client went away before it had sent all."""


async def read(receive: Receive, most: int, seconds: float) -> bytes:
    """The whole body."""
    try:
        async with asyncio.timeout(seconds):
            message = await _next(receive)
            body: bytes = message.get("body", b"")
            if not message.get("more_body", False) and len(body) <= most:  # as most are: here at once, with the header
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
    """Throw the rest of a body away, so that the client can read the answer; False if there is no end of it."""
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


def given(receive: Receive, body: bytes) -> Receive:
    """What hands out a body that was read before, and then whatever comes."""
    waiting = True

    async def hand() -> Message:
        nonlocal waiting
        if waiting:
            waiting = False
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return hand


async def _next(receive: Receive) -> Message:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientDisconnected
    return message
