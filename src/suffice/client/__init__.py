"""Clients of the decision service: its selectors as if they were in this process. Needs the extra `client`.

The logic is written once, with awaits (`remote_selector`, `delivery`, `transport`). The blocking client runs the same code:
its transport returns when the request is done, so that no await ever suspends.
"""

from suffice.client.asynchronous import AsyncClient
from suffice.client.remote_selector import AsyncRemoteSelector
from suffice.client.requests import FALLBACK_ID
from suffice.client.responses import Overview, RemoteCertificate
from suffice.client.sync import Client, RemoteSelector

__all__ = [
    "FALLBACK_ID",
    "AsyncClient",
    "AsyncRemoteSelector",
    "Client",
    "Overview",
    "RemoteCertificate",
    "RemoteSelector",
]
