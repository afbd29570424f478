"""Reading a request: its body and its query, within limits that hold before they are parsed."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Annotated, Any, Literal, Protocol
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta, Struct
from starlette.types import Message, Receive

from foretell.errors import UnknownName
from foretell.protocol import RequestBody
from foretell.protocol.fields import MAX_BATCH_EVENTS
from foretell.service.model.errors import BadParameter, Malformed, TooLarge, WrongMedia
from foretell.service.model.validation import query_errors, refuse_json

HeaderMap = Mapping[bytes, bytes]
"""Headers by their names in lower case; of several with one name, the last."""
JSON = b"application/json"
NDJSON = b"application/x-ndjson"

Count = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0)]
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


class Limits(Struct, frozen=True, kw_only=True):
    """What a stranger, a key and a request may take; none depends on what a body says."""

    event: Count = 1 << 19
    """Bytes of the body of one decision or report: 413 over it."""
    body: Count = 1 << 20
    """Bytes of any other body: 413 over it."""
    batch: Count = 2 << 20
    """Bytes of a batch: 413 over it."""
    in_flight: Count = 1000
    """Requests served at the same time: 429 over it."""
    in_flight_per_key: Count = 500
    """Of them those of one key: 429 over it."""
    header_bytes: Count = 1 << 16
    """Bytes until the headers end, and of what stands between the parts of a body: 431 over it."""
    headers: Count = 100
    """Headers of a request: 431 over it."""
    header_seconds: Seconds = 10.0
    """Until the headers end: 408 over it."""
    body_seconds: Seconds = 10.0
    """From there until the body ends, more for a large one: 408 over it."""
    key_requests: Seconds | None = None
    """Requests a second and key: 429 over it; None: as many as come."""
    key_bytes: Seconds | None = None
    """Bytes of bodies a second and key: 429 over it."""
    key_context: Seconds | None = None
    """Bytes of stored context a second and key: 429 over it."""


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
    message = await receive()  # next_message, without a call on every request
    if message["type"] != "http.request":
        raise ClientDisconnected
    body: bytes = message.get("body", b"")
    if meter is not None:
        meter.take(len(body))
    if message.get("more_body", False):
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
        raise WrongMedia(f"the body must be {kinds}: say so in the header Content-Type")
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


class NoQuery(RequestBody):
    """No parameters at all."""


class LogQuery(RequestBody):
    """Which records of the log: those after a record, and how many."""

    after: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100


class RetireQuery(RequestBody):
    """How a secret is retired."""

    with_ids: bool = False


class ExportQuery(RequestBody):
    """How a log is written out."""

    format: Literal["ndjson", "parquet"] = "ndjson"


def parse_query(kind: type[RequestBody], text: bytes) -> Any:
    """Parse the parameters of a query: one that is unknown, doubled or unusable is named.

    >>> parse_query(LogQuery, b"after=7")
    LogQuery(after=7, limit=100)
    >>> parse_query(LogQuery, b"limit=0")
    Traceback (most recent call last):
        ...
    foretell.service.model.errors.BadParameter: limit must be a whole number of at least 1 and
    at most 1,000, got 0: send a larger one
    """
    if not text:
        return kind()
    try:
        pairs = parse_qsl(text.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError:
        raise BadParameter("the query must be percent-encoded UTF-8") from None
    known = kind.__struct_fields__
    values: dict[str, str] = {}
    for name, value in pairs:
        if name not in known:
            raise BadParameter(_unknown_parameter(name[:40], known), field=name[:40])
        if name in values:
            raise BadParameter(f"{name} is given twice: give it once", field=name)
        values[name] = value
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError:
        errors = query_errors(kind, values)
        raise BadParameter("; ".join(one.detail for one in errors), errors=errors) from None


def _unknown_parameter(name: str, known: tuple[str, ...]) -> str:
    if not known:
        return f"there is no parameter {name!r}: this address takes none, leave it out"
    return str(UnknownName.of("parameter", name, known))
