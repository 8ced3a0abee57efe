"""What both clients pass to httpx: the address, the key, the timeouts, and requests."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypedDict
from urllib.parse import urlsplit

import httpx

from suffice.errors import InvalidArgument, quoted
from suffice.numbers import positive
from suffice.version import VERSION

URL: Final = "SUFFICE_URL"
KEY: Final = "SUFFICE_KEY"
TIMEOUT: Final = 10.0  # seconds without an answer
CONNECT: Final = 2.0  # seconds until there is a connection
JSON: Final = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Request:
    """One request to the service; a retry sends it unchanged."""

    method: str
    path: str
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


class Options(TypedDict):
    """The arguments of an httpx client."""

    base_url: str
    headers: dict[str, str]
    timeout: httpx.Timeout


def address_of(url: str | None) -> str:
    """The address of the service, checked; without one, that in SUFFICE_URL."""
    given = os.environ.get(URL) if url is None else url
    if not given:
        raise InvalidArgument(f"url must be given, or stand in the environment as {URL}")
    if not isinstance(given, str):
        raise InvalidArgument(f'url must be text such as "http://127.0.0.1:8470", got {quoted(given)}')
    try:
        parts = urlsplit(given.strip())
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        sound = False
    if not sound or parts.query or parts.fragment:
        raise InvalidArgument(f'url must be an address such as "http://127.0.0.1:8470", got {quoted(given)}')
    if "@" in parts.netloc:  # not quoted: it is a secret
        raise InvalidArgument("url must hold no name and no password: pass the key as key")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def options(address: str, key: str | None, timeout: float | httpx.Timeout) -> Options:
    """The arguments of an httpx client, checked; without a key, that in SUFFICE_KEY."""
    if not isinstance(timeout, httpx.Timeout):
        seconds = float(positive("timeout", timeout))
        timeout = httpx.Timeout(seconds, connect=min(seconds, CONNECT))
    headers = {"User-Agent": f"suffice/{VERSION} httpx/{httpx.__version__}", "Accept": "application/json"}
    secret = (os.environ.get(KEY) or None) if key is None else key
    if secret is not None:
        # The message does not quote it. httpx would, so the check comes first.
        if not isinstance(secret, str) or not secret or not all("!" <= sign <= "~" for sign in secret):
            raise InvalidArgument("key must be text of printable ASCII characters without spaces")
        headers["Authorization"] = f"Bearer {secret}"
    return {"base_url": address, "headers": headers, "timeout": timeout}
