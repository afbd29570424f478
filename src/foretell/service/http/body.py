"""Reading a body: its size and depth are bounded before it is parsed."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from starlette.types import Receive

from foretell.service.http.call import Disconnected, Found, piece
from foretell.service.http.limits import DEEPEST
from foretell.service.http.sentences import in_words
from foretell.service.model.errors import Malformed, TooLarge, Unusable, WrongMedia

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
"""A string, to the end of the body where it has none, or a bracket: no byte is read twice."""


async def read(receive: Receive, headers: Found, limit: int) -> bytes:
    """Read a whole body of at most `limit` bytes."""
    length = headers.get(b"content-length", b"0")
    if not length.isdigit():
        raise Malformed("the header Content-Length must be a whole number")
    if len(length) > 18 or int(length) > limit:
        raise _too_large(limit)
    message = await receive()
    if message["type"] != "http.request":
        raise Disconnected
    body: bytes = message.get("body", b"")
    if message.get("more_body", False):
        body = await _rest(receive, body, limit)
    if len(body) > limit:
        raise _too_large(limit)
    return body


async def _rest(receive: Receive, body: bytes, limit: int) -> bytes:
    pieces, size, more = [body], len(body), True
    while more and size <= limit:
        message = await piece(receive)
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        more = message.get("more_body", False)
    return b"".join(pieces)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body must have at most {limit} bytes: send less at once")


def check_media(headers: Found, known: tuple[bytes, ...]) -> bytes:
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


def parse(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    """Parse a JSON body: 400 if it is no JSON, 422 if it says what it may not."""
    if not body:
        raise Malformed("the body is empty: send JSON")
    try:
        if body.count(b"[") + body.count(b"{") > DEEPEST:
            _check_depth(body)
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise Unusable(in_words(error, decoder.type)) from None
    except msgspec.DecodeError as error:
        raise Malformed(str(error)) from None
    except UnicodeDecodeError:
        raise Malformed("the body must be UTF-8") from None
    except RecursionError:
        raise Malformed(_TOO_DEEP) from None


_TOO_DEEP = f"the body must have at most {DEEPEST} arrays and objects inside each other"


def _check_depth(body: bytes) -> None:
    depth = 0
    for token in _TOKEN.finditer(body):
        first = body[token.start()]
        if first in b"[{":
            depth += 1
            if depth > DEEPEST:
                raise Malformed(_TOO_DEEP)
        elif first in b"]}":
            depth -= 1
