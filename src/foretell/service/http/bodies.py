"""Reading a request: its body and its query, within limits that hold before they are parsed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta, Struct
from starlette.types import Message, Receive

from foretell.errors import UnknownName
from foretell.protocol import RequestBody
from foretell.service.model.errors import BadParameter, Malformed, TooLarge, WrongMedia
from foretell.service.model.validation import query_errors, refuse_json

HeaderMap = Mapping[bytes, bytes]
"""Headers by their names in lower case; of several with one name, the last."""
JSON = b"application/json"
NDJSON = b"application/x-ndjson"

Count = Annotated[int, Meta(ge=1)]
MAX_DEPTH = 64
"""Arrays and objects inside each other: 400 over it."""
_TOO_DEEP = f"the body must have at most {MAX_DEPTH} arrays and objects inside each other"
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
"""A string, to the end of the body where it has none, or a bracket: no byte is read twice."""


class Limits(Struct, frozen=True):
    """Limits that are checked before a body is read, so none depends on its content."""

    body: Count = 1 << 20
    """Bytes of a body: 413 over it."""
    batch: Count = 4 << 20
    """Bytes of a batch: 413 over it."""
    in_flight: Count = 1000
    """Requests served at the same time: 429 over it."""


class ClientDisconnected(Exception):
    """The client went away before its request was read."""


async def next_message(receive: Receive) -> Message:
    """Wait for the next part of a body."""
    message = await receive()
    if message["type"] != "http.request":
        raise ClientDisconnected
    return message


async def read_body(receive: Receive, headers: HeaderMap, limit: int) -> bytes:
    """Read a whole body of at most `limit` bytes."""
    length = headers.get(b"content-length", b"0")
    if not length.isdigit():
        raise Malformed("the header Content-Length must be a whole number")
    if len(length) > 18 or int(length) > limit:
        raise _too_large(limit)
    message = await receive()  # next_message, without a call on every request
    if message["type"] != "http.request":
        raise ClientDisconnected
    body: bytes = message.get("body", b"")
    if message.get("more_body", False):
        body = await _read_rest(receive, body, limit)
    if len(body) > limit:
        raise _too_large(limit)
    return body


async def _read_rest(receive: Receive, body: bytes, limit: int) -> bytes:
    parts, size, more = [body], len(body), True
    while more and size <= limit:
        message = await next_message(receive)
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        more = message.get("more_body", False)
    return b"".join(parts)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body must have at most {limit} bytes: send less at once")


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


def parse_json(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    """Parse a JSON body: 400 if it is not JSON, 422 if its content is not allowed."""
    if not body:
        raise Malformed("the body is empty: send JSON")
    try:
        if body.count(b"[") + body.count(b"{") > MAX_DEPTH:
            _check_depth(body)
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        refuse_json(decoder.type, body, error)
    except RecursionError:
        raise Malformed(_TOO_DEEP) from None


def _check_depth(body: bytes) -> None:
    depth = 0
    for token in _TOKEN.finditer(body):
        first = body[token.start()]
        if first in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise Malformed(_TOO_DEEP)
        elif first in b"]}":
            depth -= 1


def split_ndjson(body: bytes) -> list[tuple[int, bytes]]:
    r"""Split NDJSON into its lines, each with its number from 1; empty lines are left out.

    >>> split_ndjson(b'{"a": 1}\r\n\n{"b": 2}')
    [(1, b'{"a": 1}'), (3, b'{"b": 2}')]
    """
    stripped = (line.strip() for line in body.split(b"\n"))
    return [(number, line) for number, line in enumerate(stripped, 1) if line]


class NoQuery(RequestBody):
    """No parameters at all."""


class LogQuery(RequestBody):
    """Which records of the log: those after a record, and how many."""

    after: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100


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
    at most 1,000, got '0': send a larger one
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
