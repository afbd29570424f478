"""Asking a running service, with what Python brings along."""

from __future__ import annotations

import contextlib
import http.client
import urllib.request
from collections.abc import Iterator
from typing import IO, Any, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

import msgspec

from foretell.errors import ForetellError, InvalidInput
from foretell.protocol import ProblemDetails

PATIENCE = 60.0
"""Seconds without a byte after which a service is given up."""
Answer = TypeVar("Answer")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A service never sends one elsewhere, and a key must not be taken there."""

    def http_error_302(self, req: Any, fp: Any, code: int, msg: str, headers: Any) -> None:
        """Leave it to be raised like any other status, without a look at where it leads."""

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


class Remote:
    """A running service, and a key to it."""

    def __init__(self, url: str, key: str | None) -> None:
        """Check the address; nothing is sent yet."""
        if not _is_address(url):
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

    def ask(self, method: str, path: str, kind: type[Answer], body: Any = None) -> Answer:
        """Send a request with a JSON body and give what is answered."""
        content = None if body is None else msgspec.json.encode(body)
        with self.opened(method, path, content, "application/json") as answer:
            return self.understood(answer.read(), kind)

    def understood(self, content: bytes, kind: type[Answer]) -> Answer:
        """Read an answer in JSON; no content is None."""
        try:
            return msgspec.json.decode(content or b"null", type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise self.stranger() from None

    def stranger(self) -> ForetellError:
        """Return the error for an answer that is none of ours."""
        return ForetellError(f"{self.url} does not answer as foretell does: check the address")

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
            with self._answer(request) as answer:
                yield answer
        except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
            raise self._silence(error) from None

    def _answer(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        try:
            return self._opener.open(request, timeout=PATIENCE)
        except HTTPError as error:
            raise ForetellError(f"{self.url} says: {_sentence(error)}") from None
        except (URLError, ValueError) as error:  # the latter: a name that no host can have
            raise self._silence(error) from None

    def _silence(self, error: Exception) -> ForetellError:
        reason = _shown(str(getattr(error, "reason", error)))
        return ForetellError(f"no answer from {self.url} ({reason}): is the service running?")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        named = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
        (parts.hostname or "").encode("idna")
    except ValueError:
        return False
    return bool(named) and url.isprintable() and " " not in url


def _sentence(error: HTTPError) -> str:
    with error:
        try:
            return _shown(msgspec.json.decode(error.read(), type=ProblemDetails).detail)
        except (msgspec.MsgspecError, RecursionError, http.client.HTTPException, OSError):
            return _shown(f"{error.code} {error.reason}")


def _shown(words: str) -> str:
    """Return words that come from elsewhere so that a terminal only shows them."""
    return words if words.isprintable() else repr(words)
