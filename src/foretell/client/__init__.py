"""The Python SDK: decisions from a service, and feedback that is not lost on the way to it."""

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from foretell.client.aio import AsyncClient

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


def __getattr__(name: str) -> object:
    """Load the awaited client when it is first named: asyncio takes as long as all the rest."""
    if name == "AsyncClient":
        from foretell.client.aio import AsyncClient

        return AsyncClient
    raise AttributeError(f"module 'foretell.client' has no attribute {name!r}")
