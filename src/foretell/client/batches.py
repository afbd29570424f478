"""Events that are sent in batches while somebody waits, through any trouble that ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from foretell.client.address import ServiceAddress
from foretell.client.backoff import backoff, retry_after
from foretell.client.calls import batch_call, read_receipts
from foretell.client.errors import ServiceRefused, ServiceUnavailable
from foretell.client.transport import SyncTransport
from foretell.errors import ForetellError
from foretell.protocol import Receipt

BATCH_TIMEOUT = 60.0
"""Seconds that a batch may take."""
FIRST_RETRY_SECONDS = 5.0
"""Seconds for which a service is tried that has never answered."""


class BatchSender:
    """Sends batches to a service; while it cannot be reached, the same batch is sent again.

    Every event has an id, so that one which is sent twice counts once.
    """

    def __init__(
        self,
        url: str,
        key: str | None,
        retry_seconds: float,
        on_trouble: Callable[[ForetellError], None],
    ) -> None:
        """Check the address and the key; nothing is sent yet.

        A service may be away for `retry_seconds`, and for a few until it has answered once: before
        that the address may be wrong. `on_trouble` hears when it begins to be away.
        """
        self._transport = SyncTransport(ServiceAddress.of(url, key))
        self._retry_seconds = retry_seconds
        self._on_trouble = on_trouble

    def send(self, events: Sequence[bytes]) -> list[Receipt]:
        """Send events, each of them JSON already; return what became of each.

        Raises ServiceRefused where the service will take none of them, and ServiceUnavailable
        where there is no answer for longer than it was to wait.
        """
        began, tries = time.monotonic(), 0
        while True:
            result = self._transport.send(batch_call(events), BATCH_TIMEOUT)
            try:
                return read_receipts(result, len(events))
            except (ServiceRefused, ServiceUnavailable) as error:
                refused = isinstance(error, ServiceRefused)
                if error.status == 413 or (refused and error.status in {400, 422}):
                    return self._send_halves(events, error)
                if refused:
                    raise
                tries += 1
                wait = retry_after(result) + backoff(tries, 0.1, 10.0)
                if time.monotonic() + wait > began + self._longest_wait():
                    raise
                if tries == 1:
                    self._on_trouble(error)
                time.sleep(wait)

    def _send_halves(self, events: Sequence[bytes], error: ForetellError) -> list[Receipt]:
        """Send a batch that is too large, or that one event spoils: until that one is alone."""
        if len(events) == 1:
            return [Receipt("rejected", detail=str(error))]
        half = len(events) // 2
        return [*self.send(events[:half]), *self.send(events[half:])]

    def _longest_wait(self) -> float:
        if self._transport.last_contact is None:
            return min(self._retry_seconds, FIRST_RETRY_SECONDS)
        return self._retry_seconds

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()
