"""What both clients say to httpx: the address, the key, the timeouts; and how they read what it gives back."""

import os
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

import suffice
from suffice.checks import positive
from suffice.client.steps import Answer, Lost
from suffice.errors import InvalidArgument, shown

URL: Final = "SUFFICE_URL"
KEY: Final = "SUFFICE_KEY"
TIMEOUT: Final = 10.0  # seconds without an answer
CONNECT: Final = 2.0  # seconds until there is a connection


def address_of(url: str | None) -> str:
    """The address of the service, checked; that in SUFFICE_URL where none is given."""
    given = os.environ.get(URL) if url is None else url
    if not given:
        raise InvalidArgument(f"url must be given, or stand in the environment as {URL}")
    if not isinstance(given, str):
        raise InvalidArgument(f'url must be text such as "http://127.0.0.1:8470", got {shown(given)}')
    try:
        parts = urlsplit(given.strip())
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        sound = False
    if not sound or parts.query or parts.fragment:
        raise InvalidArgument(f'url must be an address such as "http://127.0.0.1:8470", got {shown(given)}')
    if "@" in parts.netloc:  # not quoted: it is a secret
        raise InvalidArgument("url must hold no name and no password: pass the key as key")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def headers_of(key: str | None) -> dict[str, str]:
    """What every request says; the key is that in SUFFICE_KEY where none is given."""
    given = (os.environ.get(KEY) or None) if key is None else key
    headers = {"User-Agent": f"suffice/{suffice.__version__} httpx/{httpx.__version__}", "Accept": "application/json"}
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


def answer(response: httpx.Response) -> Answer:
    """What came back."""
    headers = response.headers
    return Answer(response.status_code, response.content, headers.get("Retry-After"), headers.get("Location"))


def lost(error: httpx.RequestError) -> Lost:
    """That nothing came back."""
    return Lost(f"{type(error).__name__}: {error}".rstrip(": "))
