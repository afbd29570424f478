"""The sender: one thread that empties an outbox into the service.

It sends what waits in batches, the oldest first, the same ids on every try, and removes only
what the service answered for. It never gives up on network trouble. What the service rejects is
set aside; a key that it refuses stops the sending until the next flush.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from foretell.client import calls
from foretell.client.at_exit import at_exit
from foretell.client.backoff import backoff, retry_after
from foretell.client.errors import OutboxUnusable, ServiceRefused, ServiceUnavailable
from foretell.client.health import logger
from foretell.client.outbox import Outbox, WaitingEvent
from foretell.client.transport import REQUEST_TIMEOUT, SyncTransport
from foretell.errors import ForetellError
from foretell.protocol import Receipt

MAX_SENT_EVENTS = 500
"""Events in one batch: fewer than a service takes, so that one is soon answered."""
MAX_UNWRITTEN_EVENTS = 10_000
"""Events that are kept in memory while the outbox cannot be written."""
IDLE_SECONDS = 30.0
"""Seconds after which an idle sender looks for what others left behind."""
STOP_SECONDS = 0.1
"""Seconds that a sender has to stop when there is no time left."""


class Tally(NamedTuple):
    """What is in an outbox: how many events wait, since when, and how many were rejected."""

    queued: int = 0
    oldest: float | None = None
    rejected: int = 0


class Sender:
    """Owns an outbox, a transport and the thread that empties the one through the other."""

    def __init__(self, outbox: Outbox, transport: SyncTransport) -> None:
        """Start with what an earlier process left behind."""
        self.outbox = outbox
        self.transport = transport
        self.trouble: ForetellError | None = None
        self._changed = threading.Condition()
        self._has_new = False
        self._urgent = False
        self._closing = False
        self._refused: ServiceRefused | None = None
        self._up_to = outbox.head()
        self._batch_size = MAX_SENT_EVENTS
        self._logged: set[int] = set()
        self._unwritten: deque[bytes] = deque()
        self._tries = 0
        self._last_tally: Tally | None = None
        """What was in the outbox when it was closed."""
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._run, name="foretell-sender", daemon=True)
        self._thread.start()
        self._cancel_close_at_exit = at_exit(self.close)

    def put(self, body: bytes, timeout: float, *, safe: bool) -> None:
        """Keep an event, and have it sent: at once, unless the service is in trouble.

        What cannot be written in time is kept in memory where it is `safe` not to raise.
        """
        try:
            self.outbox.put(body, timeout)
        except OutboxUnusable:
            if not safe or len(self._unwritten) >= MAX_UNWRITTEN_EVENTS:
                raise
            self._unwritten.append(body)
        with self._changed:
            self._has_new = True
            self._changed.notify_all()

    def count(self) -> int:
        """Return how many events wait, written or not."""
        return self.outbox.count() + len(self._unwritten)

    def tally(self) -> Tally:
        """Return what is in the outbox, or was when it was closed."""
        try:
            return self._last_tally or self._read_tally()
        except OutboxUnusable:
            if self._last_tally is None:  # else it was closed just now
                raise
            return self._last_tally

    def _read_tally(self) -> Tally:
        return Tally(self.count(), self.outbox.oldest(), self.outbox.count_rejected())

    def resend(self, seqs: Sequence[int] | None) -> int:
        """Send rejected events again, all or those with these numbers; return how many."""
        moved = self.outbox.requeue(seqs)
        with self._changed:
            self._has_new = True
            self._changed.notify_all()
        return moved

    def flush(self, timeout: float) -> bool:
        """Wait until all that waits now is sent; return whether it is.

        What waits is tried at once, also with a key that was refused: if it is refused again,
        that is raised.
        """
        end = time.monotonic() + min(timeout, threading.TIMEOUT_MAX)
        with self._changed:
            self._tries = 0
            self._refused = None
            self._urgent = True
            self._changed.notify_all()
            while self._unwritten:
                if not self._changed.wait(end - time.monotonic()):
                    return False
            head = self.outbox.head()
            self._up_to = max(self._up_to, head)
            self._urgent = True
            self._changed.notify_all()
            while not self.outbox.empty(head):
                if self._refused is not None:
                    raise self._refused
                if not self._changed.wait(end - time.monotonic()):
                    return self.outbox.empty(head)
        return True

    def close(self, timeout: float = 2.0) -> None:
        """Send what can be sent in this time, then stop; the rest stays in the outbox.

        Nothing is raised: this is also done when the process ends.
        """
        if self._closing or self._process != os.getpid():
            return
        self._cancel_close_at_exit()
        end = time.monotonic() + timeout
        try:
            self._send_rest(timeout)
        except ForetellError as error:
            logger().warning("not everything was sent: %s", error)
        finally:
            with self._changed:
                self._closing = True
                self._changed.notify_all()
        left = end - time.monotonic()
        self._thread.join(min(max(left, STOP_SECONDS), threading.TIMEOUT_MAX))

    def _send_rest(self, timeout: float) -> None:
        sent = False
        with suppress(ServiceRefused):
            sent = self.flush(timeout)
        if not sent:
            logger().warning("not everything was sent: %s", self.outbox.what_remains())
            if self._unwritten:
                logger().error("%d events that could not be written are lost", len(self._unwritten))

    def _run(self) -> None:
        try:
            while self._sleep(self._send_next()):
                pass
        finally:
            self.transport.close()
            with suppress(OutboxUnusable):
                self._last_tally = self._read_tally()
            self.outbox.close()

    def _sleep(self, seconds: float | None) -> bool:
        with self._changed:
            self._changed.notify_all()
            self._changed.wait_for(self._is_awake, seconds)
            self._has_new = self._urgent = False
            return not self._closing

    def _is_awake(self) -> bool:
        return self._closing or self._urgent or (self._has_new and self.trouble is None)

    def _send_next(self) -> float | None:
        """Send one batch; return the seconds until the next one, None: when it is asked for."""
        try:
            unwritable = self._write_rest()
            events = self.outbox.take(self._batch_size, self._up_to)
            if events:
                return self._send(events)
            if unwritable is not None:
                return self._retry_later(unwritable)
        except OutboxUnusable as error:
            return self._retry_later(error)
        except Exception as error:  # noqa: BLE001 - what waits must be sent, whatever this was
            return self._retry_later(
                ForetellError(f"the sending failed, and is tried again: {error!r}")
            )
        self._recover()
        return IDLE_SECONDS

    def _write_rest(self) -> OutboxUnusable | None:
        """Write what could not be written in time; return why it still cannot."""
        try:
            while self._unwritten:
                self.outbox.put(self._unwritten[0])
                self._unwritten.popleft()
        except OutboxUnusable as error:
            return error
        return None

    def _send(self, events: list[WaitingEvent]) -> float | None:
        result = self.transport.send(
            calls.batch_call([event.body for event in events]), REQUEST_TIMEOUT
        )
        try:
            receipts = calls.read_receipts(result, len(events))
        except (ServiceRefused, ServiceUnavailable) as error:
            return self._failed(events, error, retry_after(result))
        self._settle(events, receipts)
        self._recover()
        self._batch_size = min(MAX_SENT_EVENTS, 2 * self._batch_size)
        return 0.0

    def _failed(
        self, events: list[WaitingEvent], error: ServiceRefused | ServiceUnavailable, wait: float
    ) -> float | None:
        refused = isinstance(error, ServiceRefused)
        if error.status == 413 or (refused and error.status in {400, 422}):
            self._batch_size = max(1, len(events) // 2)
            if len(events) > 1:
                return 0.0
            if refused:
                self._remove([], [(events[0], str(error))])
                return 0.0
        if isinstance(error, ServiceRefused) and error.status in {401, 403}:
            self._set_trouble(error)
            self._refused = error
            return None
        return wait + self._retry_later(error)

    def _settle(self, events: list[WaitingEvent], receipts: list[Receipt]) -> None:
        done, rejected = [], []
        for event, receipt in zip(events, receipts, strict=True):
            if receipt.status == "rejected":
                rejected.append((event, receipt.detail or "no reason was given"))
            else:
                done.append(event)
        self._remove(done, rejected)

    def _remove(self, done: list[WaitingEvent], rejected: list[tuple[WaitingEvent, str]]) -> None:
        for event, reason in rejected:  # logged first: once they are settled, a flush returns
            if event.seq not in self._logged:
                self._logged.add(event.seq)
                text = event.body.decode(errors="replace")
                logger().warning("the service rejected %s: %s", text, reason)
        try:
            self.outbox.settle(
                [event.seq for event in done], [(event.seq, reason) for event, reason in rejected]
            )
        except OutboxUnusable:
            self._batch_size = max(1, (len(done) + len(rejected)) // 2)
            raise
        self._logged.difference_update(event.seq for event, _ in rejected)

    def _retry_later(self, error: ForetellError) -> float:
        self._set_trouble(error)
        self._tries += 1
        return backoff(self._tries, 0.1, 30.0)

    def _set_trouble(self, error: ForetellError) -> None:
        if self.trouble is None:
            logger().warning("feedback waits in the outbox: %s", error)
        self.trouble = error

    def _recover(self) -> None:
        if self.trouble is not None:
            logger().info("feedback is sent again")
        self.trouble = None
        self._tries = 0
