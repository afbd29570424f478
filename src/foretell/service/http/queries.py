"""The queries of addresses: which parameters there are, and what is wrong with those that came."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta

from foretell.errors import UnknownName
from foretell.protocol import RecordType, RequestBody
from foretell.protocol.fields import Moment
from foretell.service.model.checks.validation import query_errors
from foretell.service.model.errors import BadParameter


class NoQuery(RequestBody):
    """No parameters at all."""


class CampaignsQuery(RequestBody):
    """Which campaigns: hidden ones too, or not."""

    hidden: bool = False


class LogQuery(RequestBody):
    """Which records of the log: those after a record, and how many."""

    after: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    """Records after the one with this seq; 0: from the beginning."""
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100
    """How many records at most."""


class EventsQuery(LogQuery):
    """Which records of a campaign's log: those after a record, of one type, and how many."""

    type: RecordType | None = None
    """Records of this type alone."""


class SeriesQuery(RequestBody, rename={"begin": "from", "end": "to"}):
    """Which part of a campaign's time, and in periods of how many seconds."""

    begin: Moment | None = None
    """From when on, RFC 3339; left out: from the first decision on."""
    end: Moment | None = None
    """Up to when, RFC 3339; left out: up to now."""
    width: Annotated[int, Meta(ge=1, le=10 * 366 * 86400, extra={"unit": "seconds"})] | None = None
    """Seconds of one period; left out: the shortest that is kept."""


class RetireQuery(RequestBody):
    """How a secret is retired."""

    with_ids: bool = False
    """Whether the decision ids that it has signed are no longer valid."""


class ExportQuery(RequestBody):
    """How a log is written out."""

    format: Literal["ndjson", "parquet"] = "ndjson"
    """What kind of file."""


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
    try:
        pairs = parse_qsl(text.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError:
        raise BadParameter("the query must be percent-encoded UTF-8") from None
    known = kind.__struct_encode_fields__
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
