"""Where a request really comes from: addresses of this machine, and the headers of trusted proxies."""

import ipaddress
import re
from collections.abc import Collection
from functools import lru_cache
from typing import Final

from starlette.types import Scope

from suffice.service.http.settings import UNIX

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# Headers that only a proxy sends.
FORWARDED: Final = frozenset(
    {b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-real-ip", b"via"}
)

_HOST: Final = re.compile(r"([A-Za-z0-9._~-]*|\[[0-9A-Fa-f:.]+\])(:[0-9]{0,5})?")


@lru_cache(1024)
def is_local(client: str) -> bool:
    """Whether a client's address is one of this machine; text that is no address does not come over a network."""
    address = _address(client)
    return address is None or address.is_loopback


@lru_cache(1024)
def is_local_name(name: str) -> bool:
    """Whether a host name, as in the header Host, can only mean this machine.

    >>> [is_local_name(name) for name in ("localhost", "suffice.localhost", "127.0.0.1", "::1", "example.com", "")]
    [True, True, True, True, False, False]
    """
    if name == "localhost" or name.endswith(".localhost"):
        return True
    address = _address(name)
    return address is not None and address.is_loopback


@lru_cache(1024)
def is_host(header: str) -> bool:
    """Whether the header Host is well-formed; it may be empty.

    >>> [is_host(header) for header in ("localhost:80", "[::1]", "", "[::", "a b", "a/b", "user@host")]
    [True, True, True, False, False, False, False]
    """
    return _HOST.fullmatch(header) is not None


def host_name(header: str) -> str:
    """The header Host without its port.

    >>> host_name("Example.com:80"), host_name("[::1]:8470"), host_name("localhost.")
    ('example.com', '::1', 'localhost')
    """
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.partition(":")[0].rstrip(".").lower()


class Proxies:
    """The proxies whose headers are trusted."""

    def __init__(self, trusted: Collection[str]) -> None:
        self._networks = [ipaddress.ip_network(text) for text in trusted if text != UNIX]
        self._unix = UNIX in trusted
        self._trusts = lru_cache(4096)(self._find)

    def rewrite(self, scope: Scope, headers: dict[bytes, bytes]) -> Scope:
        """The request with the address and the scheme that the client behind the proxy used."""
        client: tuple[str, int] | None = scope.get("client")
        if not (self._unix if client is None else self._trusts(client[0])):
            return scope
        scope = dict(scope)
        if (protocol := headers.get(b"x-forwarded-proto", b"").strip().lower()) in (b"http", b"https"):
            scope["scheme"] = protocol.decode()
        # Each proxy appends the address it was called from: the last one that is no trusted proxy is the client's.
        hops = [
            hop.strip() for name, value in scope["headers"] if name == b"x-forwarded-for" for hop in value.split(b",")
        ]
        for hop in reversed(hops):
            address = _address(_without_port(hop.decode("latin-1")))
            if address is None:
                break
            scope["client"] = (str(address), 0)
            if not self._trusts(str(address)):
                break
        return scope

    def _find(self, text: str) -> bool:
        address = _address(text)
        return address is not None and any(address in network for network in self._networks)


def _without_port(hop: str) -> str:
    return host_name(hop) if hop.startswith("[") or hop.count(":") == 1 else hop


def _address(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
