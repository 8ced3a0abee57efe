"""Clients of the decision service: its selectors as if they were in this process. Needs the extra `client`.

The logic is written once, without I/O (`remote`, `line`, `outbox`, `breaker`); `sync` and `asynchronous` do its steps.
"""

from suffice.client.asynchronous import AsyncClient, AsyncRemoteSelector
from suffice.client.bodies import UNASKED
from suffice.client.replies import RemoteCertificate, Standing
from suffice.client.sync import Client, RemoteSelector

__all__ = [
    "UNASKED",
    "AsyncClient",
    "AsyncRemoteSelector",
    "Client",
    "RemoteCertificate",
    "RemoteSelector",
    "Standing",
]
