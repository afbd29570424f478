"""The sender: one thread that empties an outbox into the service.

It sends what waits in batches, the oldest first, the same ids on every try, and lets go only of
what the service answered for. It never gives up on network trouble. What the service rejects is
set aside; a key that it refuses stops the sending until the next flush.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from contextlib import suppress

from foretell.client import calls as wire
from foretell.client.at_exit import at_end
from foretell.client.backoff import asked_wait, wait
from foretell.client.errors import OutboxUnusable, ServiceRefused, ServiceUnavailable
from foretell.client.outbox import Outbox, Row
from foretell.client.transport import Blocking
from foretell.errors import ForetellError

LARGEST = 500
"""Events in one batch."""
PATIENCE = 10.0
"""Seconds that a batch may take."""
IDLE = 30.0
"""Seconds after which an idle sender looks for what others left behind."""
GRACE = 0.1
"""Seconds that a sender has to stop when there is no time left."""

_log = logging.getLogger("foretell.client")


class Sender:
    """Owns an outbox, a connection and the thread that works them."""

    def __init__(self, outbox: Outbox, http: Blocking) -> None:
        """Start with what an earlier process left behind."""
        self.outbox = outbox
        self.trouble: ForetellError | None = None
        self._http = http
        self._changed = threading.Condition()
        self._fresh = False
        self._urgent = False
        self._closing = False
        self._refused: ServiceRefused | None = None
        self._up_to = outbox.head()
        self._largest = LARGEST
        self._told: set[int] = set()
        self._tries = 0
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._run, name="foretell-sender", daemon=True)
        self._thread.start()
        self._take_back = at_end(self.close)

    def put(self, body: bytes) -> None:
        """Keep an event, and have it sent: at once, unless the service is in trouble."""
        self.outbox.put(body)
        with self._changed:
            self._fresh = True
            self._changed.notify_all()

    def flush(self, timeout: float) -> bool:
        """Wait until all that waits now is sent; False: some of it is not.

        What waits is tried at once, also with a key that was refused: if it is refused again,
        that is raised.
        """
        end = time.monotonic() + min(timeout, threading.TIMEOUT_MAX)
        head = self.outbox.head()
        with self._changed:
            self._up_to = max(self._up_to, head)
            self._tries = 0
            self._refused = None
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
        self._take_back()
        end = time.monotonic() + timeout
        try:
            self._empty(timeout)
        except ForetellError as error:
            _log.warning("not everything was sent: %s", error)
        finally:
            with self._changed:
                self._closing = True
                self._changed.notify_all()
        left = end - time.monotonic()
        self._thread.join(min(max(left, GRACE), threading.TIMEOUT_MAX))

    def _empty(self, timeout: float) -> None:
        sent = False
        with suppress(ServiceRefused):
            sent = self.flush(timeout)
        if not sent:
            _log.warning("not everything was sent: %s", self.outbox.fate())

    def _run(self) -> None:
        try:
            while self._rest(self._step()):
                pass
        finally:
            self._http.close()
            self.outbox.close()

    def _rest(self, seconds: float | None) -> bool:
        with self._changed:
            self._changed.notify_all()
            self._changed.wait_for(self._called, seconds)
            self._fresh = self._urgent = False
            return not self._closing

    def _called(self) -> bool:
        return self._closing or self._urgent or (self._fresh and self.trouble is None)

    def _step(self) -> float | None:
        """Send one batch; give the seconds until the next one, None: when it is asked for."""
        try:
            rows = self.outbox.take(self._largest, self._up_to)
            if rows:
                return self._send(rows)
        except OutboxUnusable as error:
            return self._later(error)
        except Exception as error:  # noqa: BLE001 - what waits must be sent, whatever this was
            return self._later(ForetellError(f"the sending failed, and is tried again: {error!r}"))
        self._well()
        return IDLE

    def _send(self, rows: list[Row]) -> float | None:
        outcome = self._http.send(wire.batch([row.body for row in rows]), PATIENCE)
        try:
            receipts = wire.receipts(outcome, len(rows))
        except (ServiceRefused, ServiceUnavailable) as error:
            return self._failed(rows, error, asked_wait(outcome))
        self._settle(rows, receipts)
        self._well()
        self._largest = min(LARGEST, 2 * self._largest)
        return 0.0

    def _failed(
        self, rows: list[Row], error: ServiceRefused | ServiceUnavailable, asked: float
    ) -> float | None:
        refused = isinstance(error, ServiceRefused)
        if error.status == 413 or (refused and error.status in {400, 422}):
            self._largest = max(1, len(rows) // 2)
            if len(rows) > 1:
                return 0.0
            if refused:
                self._let_go([], [(rows[0], str(error))])
                return 0.0
        if isinstance(error, ServiceRefused) and error.status in {401, 403}:
            self._trouble(error)
            self._refused = error
            return None
        return asked + self._later(error)

    def _settle(self, rows: list[Row], receipts: list[wire.Receipt]) -> None:
        done, rejected = [], []
        for row, receipt in zip(rows, receipts, strict=True):
            if receipt.status == "rejected":
                rejected.append((row, receipt.detail or "no reason was given"))
            else:
                done.append(row)
        self._let_go(done, rejected)

    def _let_go(self, done: list[Row], rejected: list[tuple[Row, str]]) -> None:
        for row, reason in rejected:  # said first: once they are settled, a flush returns
            if row.seq not in self._told:
                self._told.add(row.seq)
                text = row.body.decode(errors="replace")
                _log.warning("the service rejected %s: %s", text, reason)
        try:
            self.outbox.settle(
                [row.seq for row in done], [(row.seq, reason) for row, reason in rejected]
            )
        except OutboxUnusable:
            self._largest = max(1, (len(done) + len(rejected)) // 2)
            raise
        self._told.difference_update(row.seq for row, _ in rejected)

    def _later(self, error: ForetellError) -> float:
        self._trouble(error)
        self._tries += 1
        return wait(self._tries, 0.1, 30.0)

    def _trouble(self, error: ForetellError) -> None:
        if self.trouble is None:
            _log.warning("feedback waits in the outbox: %s", error)
        self.trouble = error

    def _well(self) -> None:
        if self.trouble is not None:
            _log.info("feedback is sent again")
        self.trouble = None
        self._tries = 0
