"""What both clients share: their settings, how they read answers, and the outbox."""

from __future__ import annotations

import os
import threading
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

import msgspec

from foretell.client.address import ServiceAddress
from foretell.client.calls import CallResult, read
from foretell.client.decision import (
    DecisionMode,
    Fallback,
    ServiceDecision,
    checked_fallback,
    fallback_action,
    last_resort,
)
from foretell.client.errors import ClientClosed, ServiceUnavailable
from foretell.client.feedback import FeedbackReporter, MakeEvent
from foretell.client.health import ClientHealth, FallbackLog, utc
from foretell.errors import ForetellError, InvalidInput
from foretell.protocol import DecisionAnswer

if TYPE_CHECKING:
    from foretell.client.outbox import RejectedEvent
    from foretell.client.sender import Sender

EventId = TypeVar("EventId")


class BaseClient(FeedbackReporter[EventId]):
    """What both clients share; each adds how it sends and waits."""

    def __init__(
        self,
        url: str | None = None,
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
        url, key = _or_set(url, "FORETELL_URL"), _or_set(key, "FORETELL_KEY")
        self._address = ServiceAddress.of(url, key)
        self._timeout = timeout
        self._fallback = checked_fallback(fallback)
        self._path = _outbox_path(outbox)
        self._lock = threading.Lock()
        self._sender: Sender | None = None
        self._process: int | None = None
        self._closed = False
        self._failures = FallbackLog()
        self._last_actions: dict[str, str] = {}
        """The action that the service last gave for each campaign."""
        if self._path is not None:
            from foretell.client.outbox import Outbox

            Outbox(self._path).close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._address.url!r})"

    @property
    def fallbacks(self) -> int:
        """How many decisions were fallbacks."""
        return self._failures.fallbacks

    @property
    def dropped(self) -> int:
        """How often feedback was dropped: on a fallback, or because it could not be kept."""
        return self._failures.dropped

    @property
    def pending(self) -> int:
        """The number of events that the service does not have yet."""
        return self._running_sender().count()

    @property
    def trouble(self) -> ForetellError | None:
        """What keeps feedback from being sent; None: nothing does."""
        return self._running_sender().trouble

    @abstractmethod
    def _keep_event(self, event: MakeEvent, *, safe: bool) -> EventId:
        """Keep an event until the service has it, and return its id; None: count it as dropped."""

    def _put_event(self, make_event: MakeEvent, *, safe: bool) -> str | None:
        safe = safe or self._fallback is not None
        try:
            event = make_event()
            if event is None:
                self._failures.drop()
                return None
            body = msgspec.json.encode(event)
            self._running_sender().put(body, self._timeout, safe=safe)
        except Exception as error:
            if not safe:
                raise
            self._failures.drop(error)
            return None
        return event.event_id

    def _health(self, last_contact: float | None) -> ClientHealth:
        from foretell.client.sender import Tally

        failures = self._failures
        tally, trouble = Tally(), None
        try:
            sender = self._sender if self._closed else self._running_sender()
            if sender is not None:
                trouble = None if sender.trouble is None else str(sender.trouble)
                last_contact = max(last_contact or 0, sender.transport.last_contact or 0) or None
                tally = sender.tally()
            self._check_usable()
        except ForetellError as error:
            trouble = str(error)
        return ClientHealth(
            fallbacks=failures.fallbacks,
            last_fallback=failures.last,
            last_fallback_at=utc(failures.last_at),
            dropped=failures.dropped,
            queued=tally.queued,
            oldest_queued_at=utc(tally.oldest),
            rejected=tally.rejected,
            trouble=trouble,
            last_contact=utc(last_contact),
            last_drop=failures.last_drop,
            last_drop_at=utc(failures.last_drop_at),
        )

    def _flush(self, timeout: float) -> bool:
        return self._running_sender().flush(timeout)

    def _rejected(self) -> list[RejectedEvent]:
        return self._running_sender().outbox.rejected()

    def _resend(self, events: Iterable[RejectedEvent] | None) -> int:
        seqs = None if events is None else [one.seq for one in events]
        return self._running_sender().resend(seqs)

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
        self, campaign: str, result: CallResult, *, safe: bool
    ) -> ServiceDecision[EventId]:
        answer = read(result, DecisionAnswer)
        self._last_actions[campaign] = answer.action
        return ServiceDecision(
            answer.decision_id,
            answer.action,
            answer.propensity,
            cast("DecisionMode", answer.mode),
            answer.policy,
            answer.reward_due_at,
            self,
            safe,
        )

    def _fall_back(
        self,
        error: Exception,
        campaign: str,
        eligible: Sequence[str] | None,
        fallback: Fallback | None,
    ) -> ServiceDecision[EventId] | None:
        """Return the fallback in place of a decision, whatever went wrong; None: there is none.

        Where one was given and has no action, there is a decision all the same: a page goes on.
        """
        if self._fallback is None and (fallback is None or not _can_be(fallback)):
            return None
        action = error.action if isinstance(error, ServiceUnavailable) else None
        if action is None or (eligible is not None and action not in eligible):
            action = fallback_action(fallback, campaign, eligible)
        if action is None:
            action = fallback_action(self._fallback, campaign, eligible)
        if action is None:
            known = self._last_actions.get(campaign) if isinstance(campaign, str) else None
            action = last_resort(eligible, known)
        self._failures.fell_back(campaign, error)
        return ServiceDecision(None, action, None, "fallback", None, None, self, _safe=True)

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
            raise ClientClosed

    def _running_sender(self) -> Sender:
        self._check_usable()
        with self._lock:
            if self._sender is None:
                from foretell.client.outbox import Outbox
                from foretell.client.sender import Sender
                from foretell.client.transport import SyncTransport

                self._sender = Sender(Outbox(self._path), SyncTransport(self._address))
            return self._sender


def _or_set(value: str | None, variable: str) -> str | None:
    """Return a setting, or what the environment says where it is left out."""
    return os.environ.get(variable) if value is None else value


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


def _can_be(fallback: object) -> bool:
    """Return whether something can be a fallback: what cannot be one is refused."""
    try:
        return checked_fallback(fallback) is not None  # type: ignore[arg-type]
    except InvalidInput:
        return False
