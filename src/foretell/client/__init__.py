"""The Python SDK: decisions from a service, and feedback that is not lost on the way to it."""

from foretell.client.aio import AsyncClient
from foretell.client.base import Rejected
from foretell.client.decision import Decision
from foretell.client.errors import (
    ClientClosed,
    OutboxUnusable,
    ServiceRefused,
    ServiceUnavailable,
)
from foretell.client.sync import Client

__all__ = [
    "AsyncClient",
    "Client",
    "ClientClosed",
    "Decision",
    "OutboxUnusable",
    "Rejected",
    "ServiceRefused",
    "ServiceUnavailable",
]
