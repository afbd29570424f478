"""Words, types and limits that requests and answers share."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple, get_args

from msgspec import Meta

PATTERN_END = r"(?!\n)"
"""The end of a pattern: in Python `$` matches before a last line break too, in JSON Schema it does
not, and engines that cannot look ahead read the pattern without it."""
Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$" + PATTERN_END)]
"""Names of campaigns, actions and signals: they stand in addresses, files and labels."""
NAME = "a name of at most 100 letters, digits, '.', '_' and '-', the first a letter or digit"
"""What a name must be, in words."""
Id = Annotated[str, Meta(min_length=1, max_length=200)]
"""What a client calls its own events, decisions and units."""
Seq = str
"""A place in the log: a whole number that many JSON parsers cannot hold, so it is text."""
Seconds = Annotated[float, Meta(gt=0, le=10 * 366 * 86400, extra={"unit": "seconds"})]
Share = Annotated[float, Meta(ge=0, le=1)]
RewardCount = Annotated[float, Meta(ge=0, le=1e6, extra={"unit": "rewards"})]
Moment = Annotated[str, Meta(max_length=40)]
"""A time of the client, RFC 3339, kept as it was sent."""

MAX_ACTIONS, MAX_SIGNALS = 10_000, 100
"""Of one campaign."""
MAX_BATCH_EVENTS = 2000
"""Events that one batch may hold."""
SILENT = "none"
"""The signal that silence becomes, where silence is an outcome."""


class CopyKind(NamedTuple):
    """What a copy of a log is: that depends on where the log is."""

    place: str
    """Where such a log is."""
    media_type: str
    ending: str
    """How the name of its file ends."""
    before: int
    """How many bytes come before the mark."""
    mark: bytes
    """What every such copy has at its beginning."""

    def may_begin(self, content: bytes) -> bool:
        """Return whether what is known of its first bytes fits."""
        return self.mark.startswith(content[self.before : self.before + len(self.mark)])

    def begins(self, content: bytes) -> bool:
        """Return whether a copy begins so."""
        return content[self.before :].startswith(self.mark)


SQLITE_COPY = CopyKind("a file", "application/vnd.sqlite3", ".db", 0, b"SQLite format 3\0")
POSTGRES_COPY = CopyKind(
    "PostgreSQL", "application/vnd.foretell.copy", ".copy", 4, b"\x92\xafforetell copy 1"
)
COPY_KINDS = (SQLITE_COPY, POSTGRES_COPY)
COPY_BEGINNING = 64
"""Bytes that say of which kind a copy is."""

Silence = Literal["default", "unknown"]
RewardSilence = Literal["default", "unknown", "corrected"]
TypicalDelay = Seconds | dict[Name, Seconds]
"""The mean delay of a reward, for all signals or for each by its name."""
CampaignStatus = Literal["draft", "running", "paused", "stopped", "hidden"]
"""A hidden campaign is stopped, and in no list unless it is asked for."""
ActionStatus = Literal["active", "paused", "retired"]
Scope = Literal["decide", "feedback", "read", "admin"]
Mode = Literal["policy", "explore", "holdout", "sticky"]
AnyMode = Annotated[str, Meta(extra_json_schema={"enum": sorted(get_args(Mode))})]
"""A mode in an answer: one of ours, or a newer service's, which a client takes as it is."""
FeedbackKind = Literal["reward", "adjust", "retract"]
ItemKind = Literal["reward", "adjust", "retract", "void"]
ReceiptStatus = Literal["accepted", "duplicate", "late", "parked", "rejected"]
