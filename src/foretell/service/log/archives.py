"""Archives: months of a log that are in files now, and how they are taken out of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from foretell.service.log.protocol import SavedState
    from foretell.service.model.events import Record


class ArchivedRange(NamedTuple):
    """Seqs whose decisions and feedback are in a file now, and not in the log any more."""

    first: int
    end: int
    """The first seq after them."""
    campaigns: frozenset[int]
    """The campaigns whose records are archived; all of them are stopped."""

    def holds(self, seq: int) -> bool:
        """Return whether a record with this seq is archived."""
        return self.first <= seq < self.end


class Partition(NamedTuple):
    """Records that are stored together: those with a seq from the first up to the end."""

    name: str
    first: int
    end: int


class Archiver(Protocol):
    """Takes old partitions out of a log."""

    async def partitions(self, before: int) -> list[Partition]:
        """Return the partitions that end before a seq, in order."""

    async def campaigns_in(self, partition: Partition) -> list[int]:
        """Return the campaigns that have decisions or feedback in a partition."""

    async def records_in(self, partition: Partition, after: int, count: int) -> list[Record]:
        """Return the next records of campaigns in a partition after a seq, each checked."""

    async def save_state(self, campaign: int, state: SavedState) -> None:
        """Keep a state that stands below the head."""

    async def detach(self, partition: Partition, campaigns: Sequence[int]) -> None:
        """Take a partition out of the log, but for what is about no decision."""
