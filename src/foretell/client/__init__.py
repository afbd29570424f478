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
from foretell.client.sync import Client

if TYPE_CHECKING:
    from foretell.client.aio import AsyncClient
    from foretell.client.outbox import RejectedEvent

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
    """Load what few name when it is first named: asyncio and sqlite3 are slow to import."""
    if name == "AsyncClient":
        from foretell.client.aio import AsyncClient

        return AsyncClient
    if name == "RejectedEvent":
        from foretell.client.outbox import RejectedEvent

        return RejectedEvent
    raise AttributeError(f"module 'foretell.client' has no attribute {name!r}")
