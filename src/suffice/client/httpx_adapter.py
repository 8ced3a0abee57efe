"""What both clients say to httpx: the address, the key, the timeouts, and what a request is."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
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
    """One request to the service; sent again as it is when it has to be retried."""

    method: str
    path: str
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def address_of(url: str | None) -> str:
    """The address of the service, checked; that in SUFFICE_URL where none is given."""
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


def headers_of(key: str | None) -> dict[str, str]:
    """What every request says; the key is that in SUFFICE_KEY where none is given."""
    given = (os.environ.get(KEY) or None) if key is None else key
    headers = {"User-Agent": f"suffice/{VERSION} httpx/{httpx.__version__}", "Accept": "application/json"}
    if given is None:
        return headers
    # Never quoted: it is a secret. Checked, because an error of the HTTP library would quote it.
    if not isinstance(given, str) or not given or not all("!" <= sign <= "~" for sign in given):
        raise InvalidArgument("key must be text of printable ASCII characters without spaces")
    return headers | {"Authorization": f"Bearer {given}"}


def options(address: str, key: str | None, timeout: float | httpx.Timeout) -> dict[str, Any]:
    """How a client of httpx is made."""
    if not isinstance(timeout, httpx.Timeout):
        seconds = float(positive("timeout", timeout))
        timeout = httpx.Timeout(seconds, connect=min(seconds, CONNECT))
    return {"base_url": address, "headers": headers_of(key), "timeout": timeout}
