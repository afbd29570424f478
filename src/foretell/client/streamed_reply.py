"""An answer that is read part by part: a backup, or an export."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from foretell.client.calls import HttpReply
from foretell.client.replies import ReplyBody, network_errors_raised, reply_of

if TYPE_CHECKING:
    import httpx2


class StreamedReply(NamedTuple):
    """An answer whose body is still on its way."""

    response: httpx2.Response
    idle_seconds: float

    @property
    def status(self) -> int:
        """The status of the answer."""
        return self.response.status_code

    @property
    def content_type(self) -> str:
        """The media type of the answer, without its parameters."""
        media: str = self.response.headers.get("Content-Type", "")
        return media.partition(";")[0].strip().lower()

    @property
    def has_length(self) -> bool:
        """Whether the answer says how long it is; the library notices one that is cut off."""
        return "Content-Length" in self.response.headers

    def parts(self) -> Iterator[bytes]:
        """Yield the body as it comes."""
        with network_errors_raised(self.idle_seconds):
            yield from self.response.iter_raw()

    def read(self) -> HttpReply:
        """Read the body into memory."""
        body = ReplyBody()
        with network_errors_raised(self.idle_seconds):
            for part in self.response.iter_raw():
                body.add(part)
        return reply_of(self.response, body)
