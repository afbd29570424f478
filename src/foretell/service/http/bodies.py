"""Reading the body of a request, within limits that hold before it is parsed."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any, Protocol

import msgspec
from starlette.types import Message, Receive

from foretell.protocol.fields import MAX_BATCH_EVENTS
from foretell.service.http.responses import Exchanged
from foretell.service.model.checks.validation import refuse_json
from foretell.service.model.errors import Malformed, TooLarge, WrongMedia

HeaderMap = Mapping[bytes, bytes]
"""Headers by their names in lower case; of several with one name, the last."""
JSON = b"application/json"
NDJSON = b"application/x-ndjson"

MAX_DEPTH = 64
"""Arrays and objects inside each other: 400 over it."""
MAX_VALUES = 1 << 16
"""Commas, opening brackets and line ends of a body, those in strings too: 413 over it. The time
that a parser takes goes by them, and not by the bytes."""
MAX_EVENT_VALUES = 1 << 14
"""The same for one decision, whose `context` may be anything, or report."""
MAX_LINES = 4 * MAX_BATCH_EVENTS
"""Lines of a batch, the empty ones too: 413 over it."""
_TOO_DEEP = f"the body must have at most {MAX_DEPTH} arrays and objects inside each other"
_MARKS = b",[{\n"
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[{]}"))


class ClientDisconnected(Exception):
    """The client went away before its request was read."""


async def next_message(receive: Receive) -> Message:
    """Wait for the next part of a body."""
    message = await receive()
    if message["type"] != "http.request":
        raise ClientDisconnected
    return message


class BodyMeter(Protocol):
    """Counts what comes of bodies."""

    def take(self, size: int) -> None:
        """Take the bytes of a part of a body, whatever becomes of it."""

    def hold(self, size: int) -> None:
        """Hold a part of a body that is not whole yet, or raise; less than 0 gives it back."""


async def read_body(
    receive: Receive,
    headers: HeaderMap,
    limit: int,
    values: int = MAX_VALUES,
    meter: BodyMeter | None = None,
) -> bytes:
    """Read a whole body of at most `limit` bytes, with at most so many values in it."""
    length = headers.get(b"content-length", b"0")
    if not length.isdigit():
        raise Malformed("the header Content-Length must be a whole number")
    if len(length) > 18 or int(length) > limit:
        raise _too_large(limit)
    exchange, more = getattr(receive, "__self__", None), False
    body = exchange.whole_body() if isinstance(exchange, Exchanged) else None
    if body is None:
        message = await next_message(receive)
        body, more = message.get("body", b""), message.get("more_body", False)
    if meter is not None:
        meter.take(len(body))
    if more:
        body = await _read_rest(receive, body, limit, values, meter)
    elif len(body) > values and _count_marks(body) > values:
        raise _too_many(values)
    if len(body) > limit:
        raise _too_large(limit)
    return body


async def _read_rest(
    receive: Receive, body: bytes, limit: int, values: int, meter: BodyMeter | None
) -> bytes:
    """Read on; each part is looked at when it comes, so that no body takes long at its end."""
    parts, size, marks, more, held = [body], len(body), _count_marks(body), True, 0
    try:
        while more and size <= limit:
            message = await next_message(receive)
            part = message.get("body", b"")
            if meter is not None:
                meter.take(len(part))
                held += len(part)
                meter.hold(len(part))
            parts.append(part)
            size += len(part)
            marks += _count_marks(part)
            if marks > values:
                raise _too_many(values)
            more = message.get("more_body", False)
        return b"".join(parts)
    finally:
        if meter is not None:
            meter.hold(-held)


def _count_marks(part: bytes) -> int:
    return len(part) - len(part.translate(None, _MARKS))


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body must have at most {limit} bytes: send less at once")


def _too_many(values: int) -> TooLarge:
    return TooLarge(
        f"the body must have at most {values} commas, opening brackets and line ends: "
        f"send less at once"
    )


def check_media(headers: HeaderMap, known: tuple[bytes, ...]) -> bytes:
    """Return the media type of the body, one of those that are known."""
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        raise WrongMedia("the body must come as it is: send it without a Content-Encoding")
    sent = headers.get(b"content-type", b"")
    if sent in known:
        return sent
    media = sent.partition(b";")[0].strip().lower()
    if media not in known:
        kinds = " or ".join(kind.decode() for kind in known)
        got = repr(media[:40].decode("ascii", "replace")) if media else "no Content-Type"
        raise WrongMedia(f"the body must be {kinds}, got {got}: say so in the header Content-Type")
    return media


def parse_json(decoder: msgspec.json.Decoder[Any], body: bytes, *, any_depth: bool = False) -> Any:
    """Parse a JSON body: 400 if it is not JSON, 422 if its content is not allowed."""
    if not body:
        raise Malformed("the body is empty: send JSON")
    try:
        parsed = decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if isinstance(error, msgspec.ValidationError) and not any_depth:
            _check_depth(body)
        refuse_json(decoder.type, body, error)
    except RecursionError:
        raise Malformed(_TOO_DEEP) from None
    if not any_depth:
        _check_depth(body)
    return parsed


def _check_depth(body: bytes) -> None:
    """Refuse JSON that is too deep, without a step of Python for each bracket."""
    if body.count(b"[") + body.count(b"{") <= MAX_DEPTH:
        return
    unescaped = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside_strings = b"".join(unescaped.split(b'"')[::2])
    steps = memoryview(outside_strings.translate(_STEPS, _NO_BRACKETS)).cast("b")
    if max(accumulate(steps), default=0) > MAX_DEPTH:
        raise Malformed(_TOO_DEEP)


def split_ndjson(body: bytes) -> list[tuple[int, bytes]]:
    r"""Split NDJSON into its lines, each with its number from 1; empty lines are left out.

    >>> split_ndjson(b'{"a": 1}\r\n\n{"b": 2}')
    [(1, b'{"a": 1}'), (3, b'{"b": 2}')]
    """
    if body.count(b"\n") > MAX_LINES:
        lines = body.count(b"\n")
        raise TooLarge(f"a batch must have at most {MAX_LINES} lines, got {lines}: send several")
    stripped = (line.strip() for line in body.split(b"\n"))
    return [(number, line) for number, line in enumerate(stripped, 1) if line]
