"""What both clients share: their settings, the reading of answers, and the outbox."""

from __future__ import annotations

import logging
import os
import threading
from abc import abstractmethod
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import msgspec

from foretell.client import calls as wire
from foretell.client.decision import Decision
from foretell.client.errors import ClientClosed, ServiceRefused, ServiceUnavailable
from foretell.client.events import Event
from foretell.client.fallback import Fallback, action_of
from foretell.client.feedback import Feedback
from foretell.client.outbox import Outbox
from foretell.client.sender import Sender
from foretell.client.transport import CLOSED, Blocking, Site
from foretell.errors import ForetellError, InvalidInput

PATIENCE = 10.0
"""Seconds that a call may take which is no decision."""

NOT_NOW = 409
"""The status of a campaign that does not run: it is paused, stopped or not started."""

Kept = TypeVar("Kept")
_log = logging.getLogger("foretell.client")


class Rejected(NamedTuple):
    """An event (JSON, as it was sent) that the service will never take, and why.

    `at` is the time of its answer, in seconds since 1970.
    """

    event: str
    reason: str
    at: float


class Base(Feedback[Kept]):
    """A client without its way to send and to wait."""

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float = 1.0,
        fallback: Fallback | None = None,
        outbox: str | os.PathLike[str] | None = None,
    ) -> None:
        """Check the settings; connections, the outbox and its thread come with the first use."""
        if not _is_time(timeout):
            raise InvalidInput(
                f"timeout must be a number of seconds above 0, at most a day, got {timeout!r}"
            )
        self._site = Site.of(url, key)
        self._timeout = timeout
        self._fallback = fallback
        self._path = _file(outbox)
        self._lock = threading.Lock()
        self._sender: Sender | None = None
        self._process: int | None = None
        self._closed = False
        self.dropped = 0
        """How often feedback on a fallback was dropped."""
        if self._path is not None:
            Outbox(self._path).close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._site.url!r})"

    @property
    def pending(self) -> int:
        """The number of events that the service does not have yet."""
        return self._mail().outbox.count()

    @property
    def trouble(self) -> ForetellError | None:
        """What keeps feedback from being sent; None: nothing does."""
        return self._mail().trouble

    @abstractmethod
    def _keep(self, event: Event | None) -> Kept:
        """Keep an event until the service has it, and give its id; None: count it as dropped."""

    def _put(self, event: Event | None) -> str | None:
        if event is None:
            self.dropped += 1
            return None
        self._mail().put(msgspec.json.encode(event))
        return event.event_id

    def _flush(self, timeout: float) -> bool:
        return self._mail().flush(timeout)

    def _rejected(self) -> list[Rejected]:
        rows = self._mail().outbox.rejected()
        return [Rejected(row.body.decode(errors="replace"), row.reason, row.at) for row in rows]

    def _close(self, timeout: float) -> bool:
        """Stop sending; False: the connections are not ours to close."""
        if self._process not in {None, os.getpid()}:
            return False
        with self._lock:
            self._closed = True
            sender = self._sender
        if sender is not None:
            sender.close(timeout)
        return True

    def _decided(
        self,
        outcome: wire.Outcome,
        campaign: str,
        eligible: Sequence[str] | None,
        fallback: Fallback | None,
    ) -> Decision[Kept]:
        try:
            answer = wire.read(outcome, wire.Answer)
        except (ServiceUnavailable, ServiceRefused) as error:
            if isinstance(error, ServiceRefused) and error.status != NOT_NOW:
                raise
            action = action_of(fallback, campaign, eligible)
            if action is None:
                action = action_of(self._fallback, campaign, eligible)
            if action is None:
                raise
            _log.info("fallback for %s: %s", campaign, error)
            return Decision(None, action, None, "fallback", None, None, self)
        return Decision(
            answer.decision_id,
            answer.action,
            answer.propensity,
            answer.mode,
            answer.policy,
            answer.reward_due_at,
            self,
        )

    def _enter(self) -> None:
        """Refuse to work when closed, and with the connections of the process before a fork."""
        here = os.getpid()
        if self._process is None:
            self._process = here
        if self._process != here:
            raise ClientClosed(
                f"this client was used in process {self._process} before the fork to {here}: "
                f"make a client in each process"
            )
        if self._closed:
            raise ClientClosed(CLOSED)

    def _mail(self) -> Sender:
        self._enter()
        with self._lock:
            if self._sender is None:
                self._sender = Sender(Outbox(self._path), Blocking(self._site))
            return self._sender


def _is_time(timeout: float) -> bool:
    """Return whether a decision can take so many seconds."""
    try:
        return 0 < timeout <= 86400
    except (TypeError, ValueError):
        return False


def _file(outbox: str | os.PathLike[str] | None) -> str | None:
    """Return the path of an outbox; None: there is no file."""
    if outbox is None:
        return None
    try:
        path = os.fspath(outbox)
    except TypeError:
        path = ""
    if not path:
        raise InvalidInput(
            f"outbox must be the path of a file, got {outbox!r}: leave it out to keep feedback "
            f"in memory"
        )
    return path
