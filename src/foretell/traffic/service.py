"""What the driver asks of a server, however it is reached."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

import msgspec

from foretell.errors import ForetellError


class WrongAnswer(ForetellError):
    """The server answered what it may not answer."""


class Decision(NamedTuple):
    """A decision: its id, the action, and when its reward window closes by the server's clock."""

    id: str
    action: str
    due: float


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """A signal or a reward, as a batch takes it."""

    decision_id: str
    event_id: str
    signal: str | None = None
    value: float | None = None


class Counts(msgspec.Struct):
    """What a campaign says that it has taken in."""

    decisions: int
    signals: int
    rewards: int


class Service(Protocol):
    """A decision service."""

    async def create(self, campaign: dict[str, Any]) -> None:
        """Make a campaign."""

    async def decide(self, campaign: str, key: str) -> Decision:
        """Ask for a decision; the same key gives the same one."""

    async def report(self, events: Sequence[Event]) -> list[str]:
        """Hand in events, and give what became of each."""

    async def counts(self, campaign: str) -> Counts:
        """Ask what a campaign has taken in."""


def seconds(moment: str) -> float:
    """Read a time of the server, RFC 3339.

    >>> seconds("1970-01-01T00:01:00.250000Z")
    60.25
    """
    return datetime.fromisoformat(moment).timestamp()
