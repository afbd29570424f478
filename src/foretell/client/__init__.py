"""The Python SDK: decisions from a service, and feedback that is not lost on the way to it."""

from foretell.client.aio import AsyncClient
from foretell.client.decision import ServiceDecision
from foretell.client.errors import (
    ClientClosed,
    OutboxUnusable,
    ServiceRefused,
    ServiceUnavailable,
)
from foretell.client.health import ClientHealth
from foretell.client.outbox import RejectedEvent
from foretell.client.sync import Client

__all__ = [
    "AsyncClient",
    "Client",
    "ClientClosed",
    "ClientHealth",
    "OutboxUnusable",
    "RejectedEvent",
    "ServiceDecision",
    "ServiceRefused",
    "ServiceUnavailable",
]
