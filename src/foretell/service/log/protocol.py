"""The log: the only way to a database. All its engines pass one conformance suite.

Whatever keeps it, a log promises:

- **Durable.** `append` returns when its records survive a crash, and in their order.
- **Once.** What a draft claims (an `event_id`, a `decision_key`, a version of a configuration, an
  action of a sticky unit) is decided by the log itself, together with the writing: of two drafts
  that claim the same, in one call or in two tasks at once, one is written.
- **Complete.** The tail brings every record in the order of `seq`, and says up to where nothing can
  be added any more.
- **Checked.** What is read matches its checksum, or `Damaged` is raised.

A draft that fails with `LogClosed` was not taken in, as far as anybody knows: if it was written in
spite of that, the tail brings it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from tempfile import TemporaryDirectory
from typing import NamedTuple, Protocol, TypeAlias

from msgspec import Struct

from foretell.errors import DamagedFile
from foretell.protocol.fields import CopyKind
from foretell.service.log.archives import ArchivedRange
from foretell.service.log.sharing import FoldSharing
from foretell.service.model.events import (
    AnyEvent,
    Decided,
    DecisionRecords,
    KeyMade,
    KeyRevoked,
    Record,
)
from foretell.service.model.keys import is_lasting_admin

Claim: TypeAlias = tuple[int, bytes]
"""A campaign's number, and a key that only one record of the log may claim there."""


class UnitAction(NamedTuple):
    """The n-th action that a sticky unit was given, and the decision that gave it first."""

    n: int
    action: int
    decision: int


class Draft(Struct, frozen=True, gc=False):
    """A record to be written; its `seq` is the log's to give."""

    campaign: int
    event: AnyEvent
    decision: int = 0
    """The number of the decision that feedback is about."""
    claims: tuple[Claim, ...] = ()
    unit: bytes | None = None
    """The keyed hash of the unit that a decision is for; it can be erased."""
    unit_action: int | None = None
    """The n of a sticky unit's action, where the decision claims a new one."""
    context: bytes = b""
    """The context of a decision; it can be erased."""


class Accepted(Struct, frozen=True, gc=False):
    """The draft was written."""

    record: Record


class Duplicate(NamedTuple):
    """Nothing was written: an earlier record has claimed the same."""

    earlier: Record


class ClaimedInArchive(NamedTuple):
    """Nothing was written: a record that is archived has claimed the same."""

    seq: int


class Taken(NamedTuple):
    """Nothing was written: the unit was given its n-th action by another decision."""

    earlier: UnitAction


Written: TypeAlias = Accepted | Duplicate | ClaimedInArchive | Taken


class Tail(NamedTuple):
    """The next records of the log, in the order of seq."""

    records: list[Record]
    upto: int
    """No record below this seq will come any more."""


class SavedState(NamedTuple):
    """A campaign's state as bytes, as of a position in the log."""

    position: int
    version: str
    body: bytes


class LogGauges(NamedTuple):
    """Numbers about a log that operators watch."""

    queued: int
    """Drafts that wait to be written."""
    commits: int
    commit_seconds: float
    clock_ahead_seconds: float
    """How far the wall clock is ahead of log time, while log time does not follow its step."""
    tail_lag_seconds: float = 0.0
    """How far the complete part of the log is behind its head: others may still write below it."""


class LogCondition(NamedTuple):
    """Who writes a log, and what it survives."""

    writers: int = 1
    """How many processes write it, this one included."""
    durability: str = ""
    """What an acknowledged record survives, in a sentence, where that is not this disk alone."""


class LogCheck(NamedTuple):
    """What a check of a whole log has counted and found."""

    records: int
    states: int
    damage: list[str]
    """A sentence for each thing that is damaged."""


class LogReader(Protocol):
    """What can be read of a log, also while somebody else writes it."""

    async def decisions(self, campaign: int, numbers: Sequence[int]) -> list[DecisionRecords]:
        """Return the decisions with these numbers, each with all its records; others are absent."""

    async def decided(self, campaign: int, numbers: Sequence[int]) -> dict[int, Decided]:
        """Return the decisions with these numbers, without what came after; others are absent."""

    async def decisions_after(self, campaign: int, after: int, count: int) -> list[DecisionRecords]:
        """Return the next decisions of a campaign after a number, in order."""

    async def number_at(self, campaign: int, rank: int) -> int:
        """Return the number of the decision of a round, 0 where there is none."""

    async def records(
        self, after: int, before: int, count: int, campaign: int | None = None
    ) -> list[Record]:
        """Return the next records between two seqs, both excluded, of one campaign or of all."""

    async def configurations(self, campaign: int, after: int = 0) -> list[Record]:
        """Return the records of a campaign after a seq that are about no decision, in order."""

    async def archives(self) -> list[ArchivedRange]:
        """Return what was archived, in order."""

    async def campaigns(self) -> list[int]:
        """Return the numbers of all campaigns, in order."""

    async def by_key(self, campaign: int, keys: Sequence[bytes]) -> dict[bytes, Record]:
        """Return the records that have claimed these keys."""

    async def unit_actions(self, campaign: int, unit: bytes) -> list[UnitAction]:
        """Return the actions that a sticky unit was given, in the order of n."""

    async def context(self, decision: int) -> bytes:
        """Return the context of a decision, empty where there is none or it was erased."""

    async def count_feedback(self, campaign: int, before: int) -> int:
        """Return how many records of feedback a campaign has below a seq."""

    async def count_about(self, decision: int, before: int, most: int) -> int:
        """Return how many records of feedback are about a decision below a seq, at most `most`.

        The log need not hold the decision itself.
        """

    async def load_state(self, campaign: int) -> SavedState | None:
        """Return the newest state that was saved, None without one; raise `Damaged`."""

    async def count_records(self) -> int:
        """Return how many records there are."""

    async def counts(self, campaign: int) -> dict[str, int]:
        """Return what was counted with `add_counts`."""

    async def uses(self) -> dict[str, int]:
        """Return what was kept with `save_uses`."""

    def head(self) -> int:
        """Return the first seq that may still be used: all records below it are durable.

        Where several processes write, it is above an own record soon after that was appended.
        """

    def check(self, pause: Callable[[int], None] = lambda _: None) -> LogCheck:
        """Check everything that is stored, in any thread.

        `pause` is called now and then with how many records were checked since, to go slowly.
        """


class Log(LogReader, Protocol):
    """A log that can be written."""

    @property
    def closed(self) -> str | None:
        """Why the log cannot be written now; None while it can. It mends itself where it can."""

    @property
    def outdated(self) -> str | None:
        """Why what was read may be out of date: other processes wait for this one no more."""

    @property
    def busy(self) -> bool:
        """Whether records are being written now; it may be asked in any thread."""

    @property
    def time_scale(self) -> float:
        """How many times as fast as the machine's clock log time runs: 1, but in a test."""

    @property
    def sharing(self) -> FoldSharing | None:
        """How the fold is shared with others that write the log; None where nobody else can."""

    @property
    def restores(self) -> int:
        """How often a copy was put in place of the log, which must then be read again."""

    async def append(self, drafts: Sequence[Draft]) -> list[Written]:
        """Write records, durable and in order; raise `LogClosed` if none of them was taken in."""

    def tail(self, after: int) -> AsyncIterator[Tail]:
        """Follow the log after a seq: an item for every commit, and while nothing comes, often."""

    def reader(self) -> AbstractContextManager[LogReader]:
        """Open a reader for another thread, which sees what is durable by then."""

    def time(self) -> int:
        """Return the moment that it is by the clock of the log, also while it is closed."""

    def now(self) -> int:
        """Return a seq for this moment, which no later record will be below.

        The tail reaches it at once. Where other processes write too, a later record of theirs may
        be below it until the tail has reached it, which is soon.
        """

    def note_seen(self, position: int) -> None:
        """Let other processes know that this one has folded all records below a seq."""

    async def propagation_seconds(self) -> float:
        """Return how long others may take to fold a record: 0 where nobody else writes now."""

    async def seen_by_all(self, position: int) -> None:
        """Wait until every process that writes the log has folded all records below a seq.

        Raises `LogClosed` where one of them takes too long.
        """

    async def save_state(self, campaign: int, state: SavedState) -> None:
        """Keep a state; the head moves to its position at least, and is made durable with it.

        Raises `StatesDiffer` where another process has kept a different one for its position.
        """

    async def erase(self, campaign: int, unit: bytes) -> int:
        """Forget which decisions belong to a unit, and their contexts; return their number."""

    async def add_counts(self, campaign: int, name: str, by: int) -> None:
        """Count what leaves no record, such as duplicates."""

    def scratch_folder(self) -> TemporaryDirectory[str]:
        """Make a private folder for copies that are soon removed, by the next start at the latest.

        Raises `OSError` where it cannot be made.
        """

    async def save_uses(self, uses: Mapping[str, int]) -> None:
        """Keep for some keys, by their ids, the moment at which each was last used."""

    @property
    def copy_kind(self) -> CopyKind:
        """What a copy is that `backup` writes."""

    async def backup(self, target: str) -> None:
        """Write a consistent copy of the log to a file, while it is used."""

    async def restore(self, copy: str) -> None:
        """Replace all that the log holds by a copy, once that is checked and written."""

    def gauges(self) -> LogGauges:
        """Return the numbers that operators watch."""

    async def stored_bytes(self) -> int:
        """Return how much room the log takes where it is stored, side tables and journal too."""

    def condition(self) -> LogCondition:
        """Return who writes the log, and what it survives, as far as it was last known."""

    async def close(self, state_head: int = 0) -> None:
        """Write what is queued, and stop; the head is at least `state_head` then."""


def refuse_unusable(found: LogCheck, about_server: Iterable[Record]) -> None:
    """Refuse a copy that is damaged, or with which nobody could use the service."""
    if found.damage:
        raise DamagedFile(f"the copy cannot be used: {found.damage[0]}")
    admins: set[str] = set()
    for record in about_server:
        if isinstance(record.event, KeyMade) and is_lasting_admin(record.event):
            admins.add(record.event.id)
        elif isinstance(record.event, KeyRevoked):
            admins.discard(record.event.id)
    if not admins:
        raise DamagedFile(
            f"the copy cannot be used: its {found.records:,} records hold no admin key, "
            f"and nobody could use the service: take another"
        )
