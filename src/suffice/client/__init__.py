"""Clients of the decision service: its selectors as if they were in this process. Needs the extra `client`.

The logic is written once, with awaits (`remote`, `delivery`, `line`). The client that blocks runs the same: it sends and
waits before it goes on, so that nothing is ever left to be awaited.
"""

from suffice.client.asynchronous import AsyncClient
from suffice.client.remote_selector import AsyncRemoteSelector
from suffice.client.requests import UNASKED
from suffice.client.responses import RemoteCertificate, Standing
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
