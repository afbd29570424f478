"""What can go wrong between a client and the service.

ForetellError
├── ServiceUnavailable   no usable answer: a timeout, a lost connection, 429, 5xx
├── ServiceRefused       the service answered that it will not do this (4xx)
├── OutboxUnusable       the outbox cannot be read or written
└── ClientClosed         a client that was closed, or that belongs to another process
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretell.errors import ForetellError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretell.protocol import FieldError


class ServiceUnavailable(ForetellError):
    """There is no usable answer; `status` is that of an answer that could not be used.

    `detail` is the sentence of a service that says why it cannot answer now, and `action` what its
    policy would choose, where it can choose and not write.
    """

    def __init__(
        self, why: str, status: int | None = None, detail: str = "", action: str | None = None
    ) -> None:
        """Take the reason why there is no usable answer."""
        super().__init__(f"{why}: {detail}" if detail else why)
        self.status = status
        self.detail = detail
        self.action = action


class ServiceRefused(ForetellError):
    """The service will not do what was asked, and asking again does not help."""

    def __init__(
        self, status: int, kind: str, title: str, detail: str, errors: Sequence[FieldError] = ()
    ) -> None:
        """Take what the service said, as RFC 9457 writes it; `errors` has it field by field."""
        super().__init__(f"the service answered {status}: {detail or title or kind}")
        self.status = status
        self.type = kind
        self.detail = detail
        self.errors = list(errors)


class OutboxUnusable(ForetellError):
    """The outbox cannot be read or written."""


class ClientClosed(ForetellError):
    """A client that was closed, or that belongs to another process."""

    def __init__(self, why: str = "this client is closed: make another one") -> None:
        """Take the reason why it cannot be used."""
        super().__init__(why)
