"""What both clients share: their settings, how they read answers, and the outbox."""

from __future__ import annotations

import logging
import os
import threading
from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from foretell.client.address import ServiceAddress
from foretell.client.calls import CallResult, read
from foretell.client.decision import Fallback, ServiceDecision, fallback_action
from foretell.client.errors import ClientClosed, ServiceRefused, ServiceUnavailable
from foretell.client.feedback import FeedbackReporter
from foretell.client.outbox import Outbox, RejectedEvent
from foretell.client.sender import Sender
from foretell.client.transport import CLOSED, SyncTransport
from foretell.errors import ForetellError, InvalidInput
from foretell.protocol import DecisionAnswer, FeedbackItem

NOT_RUNNING = 409
"""The status of a campaign that does not run: it is paused, stopped or not started."""

EventId = TypeVar("EventId")
_log = logging.getLogger("foretell.client")


class BaseClient(FeedbackReporter[EventId]):
    """What both clients share; each adds how it sends and waits."""

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
        if not _is_timeout(timeout):
            raise InvalidInput(
                f"timeout must be a number of seconds above 0, at most a day, got {timeout!r}"
            )
        self._address = ServiceAddress.of(url, key)
        self._timeout = timeout
        self._fallback = fallback
        self._path = _outbox_path(outbox)
        self._lock = threading.Lock()
        self._sender: Sender | None = None
        self._process: int | None = None
        self._closed = False
        self.dropped = 0
        """How often feedback on a fallback was dropped."""
        if self._path is not None:
            Outbox(self._path).close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._address.url!r})"

    @property
    def pending(self) -> int:
        """The number of events that the service does not have yet."""
        return self._running_sender().outbox.count()

    @property
    def trouble(self) -> ForetellError | None:
        """What keeps feedback from being sent; None: nothing does."""
        return self._running_sender().trouble

    @abstractmethod
    def _keep_event(self, event: FeedbackItem | None) -> EventId:
        """Keep an event until the service has it, and return its id; None: count it as dropped."""

    def _put_event(self, event: FeedbackItem | None) -> str | None:
        if event is None:
            self.dropped += 1
            return None
        self._running_sender().put(msgspec.json.encode(event))
        return event.event_id

    def _flush(self, timeout: float) -> bool:
        return self._running_sender().flush(timeout)

    def _rejected(self) -> list[RejectedEvent]:
        return self._running_sender().outbox.rejected()

    def _close(self, timeout: float) -> bool:
        """Stop sending; return whether the connections are ours to close."""
        if self._process not in {None, os.getpid()}:
            return False
        with self._lock:
            self._closed = True
            sender = self._sender
        if sender is not None:
            sender.close(timeout)
        return True

    def _decision(
        self,
        result: CallResult,
        campaign: str,
        eligible: Sequence[str] | None,
        fallback: Fallback | None,
    ) -> ServiceDecision[EventId]:
        try:
            answer = read(result, DecisionAnswer)
        except (ServiceUnavailable, ServiceRefused) as error:
            if isinstance(error, ServiceRefused) and error.status != NOT_RUNNING:
                raise
            action = fallback_action(fallback, campaign, eligible)
            if action is None:
                action = fallback_action(self._fallback, campaign, eligible)
            if action is None:
                raise
            _log.info("fallback for %s: %s", campaign, error)
            return ServiceDecision(None, action, None, "fallback", None, None, self)
        return ServiceDecision(
            answer.decision_id,
            answer.action,
            answer.propensity,
            answer.mode,
            answer.policy,
            answer.reward_due_at,
            self,
        )

    def _check_usable(self) -> None:
        """Raise ClientClosed if this client is closed, or was used on the other side of a fork."""
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

    def _running_sender(self) -> Sender:
        self._check_usable()
        with self._lock:
            if self._sender is None:
                self._sender = Sender(Outbox(self._path), SyncTransport(self._address))
            return self._sender


def _is_timeout(timeout: float) -> bool:
    """Return whether a decision may take so many seconds."""
    try:
        return 0 < timeout <= 86400
    except (TypeError, ValueError):
        return False


def _outbox_path(outbox: str | os.PathLike[str] | None) -> str | None:
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
