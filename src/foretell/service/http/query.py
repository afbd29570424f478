"""Parameters of a query: each operation has a struct of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta

from foretell.protocol import RequestBody
from foretell.service.http.sentences import in_words
from foretell.service.model.errors import BadParameter


class NoQuery(RequestBody):
    """No parameters at all."""


class LogQuery(RequestBody):
    """Which lines of the log: those after a line, and how many."""

    after: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100


class ExportQuery(RequestBody):
    """How a log is written out."""

    format: Literal["ndjson", "parquet"] = "ndjson"


def parse_query(kind: type[RequestBody], text: bytes) -> Any:
    """Read the parameters of a query: one that is unknown, doubled or unusable is named.

    >>> parse_query(LogQuery, b"after=7")
    LogQuery(after=7, limit=100)
    >>> parse_query(LogQuery, b"limit=0")
    Traceback (most recent call last):
        ...
    foretell.service.model.errors.BadParameter: limit: Expected `int` >= 1
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
            raise BadParameter(f"there is no such parameter: {_choice(known)}")
        if name in values:
            raise BadParameter(f"{name}: it must be given once")
        values[name] = value
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        what, _, where = in_words(error, kind).rpartition(" - at `$.")
        raise BadParameter(f"{where.rstrip('`')}: {what}") from None


def _choice(known: tuple[str, ...]) -> str:
    return f"choose among {', '.join(known)}" if known else "this address takes none"
