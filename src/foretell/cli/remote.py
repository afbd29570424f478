"""Asking a running service, with what Python brings along."""

from __future__ import annotations

import contextlib
import http.client
import urllib.request
from collections.abc import Iterator
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

import msgspec

from foretell.errors import ForetellError, InvalidInput
from foretell.live.api import Problem

PATIENCE = 60.0
"""Seconds without a byte after which a service is given up."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A service never sends one elsewhere, and a key must not be taken there."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class Remote:
    """A running service, and a key to it."""

    def __init__(self, url: str, key: str | None) -> None:
        """Check the address; nothing is sent yet."""
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.netloc:
            raise InvalidInput(
                f"a service has an address like 'http://localhost:8000', got {url!r}"
            )
        if not key:
            raise InvalidInput("a running service wants an admin key: give it with --key")
        if not key.isascii() or not key.isprintable() or " " in key:
            raise InvalidInput("a key is made of letters, digits and signs: check how it is read")
        self.url = url.rstrip("/")
        self._key = key
        self._opener = urllib.request.build_opener(_NoRedirects)

    def ask(self, method: str, path: str, body: Any = None) -> bytes:
        """Send a request with a JSON body and give the answer's."""
        content = None if body is None else msgspec.json.encode(body)
        with self.opened(method, path, content, "application/json") as answer:
            return answer.read()

    @contextlib.contextmanager
    def opened(
        self,
        method: str,
        path: str,
        content: bytes | IO[bytes] | None = None,
        media: str = "application/octet-stream",
        length: int | None = None,
    ) -> Iterator[http.client.HTTPResponse]:
        """Send a request, and give the answer to be read; a refusal is raised as its sentence."""
        headers = {"Authorization": f"Bearer {self._key}"}
        if content is not None:
            headers["Content-Type"] = media
        if length is not None:
            headers["Content-Length"] = str(length)
        request = urllib.request.Request(  # noqa: S310  (the scheme was checked)
            self.url + path, content, headers, method=method
        )
        try:
            with self._opener.open(request, timeout=PATIENCE) as answer:
                yield answer
        except HTTPError as error:
            raise ForetellError(f"{self.url} says: {_sentence(error)}") from None
        except (URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
            reason = getattr(error, "reason", error)
            raise ForetellError(
                f"no answer from {self.url} ({reason}): is the service running?"
            ) from None


def _sentence(error: HTTPError) -> str:
    with error:
        try:
            return msgspec.json.decode(error.read(), type=Problem).detail
        except msgspec.MsgspecError:
            return f"{error.code} {error.reason}"
