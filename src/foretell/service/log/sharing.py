"""The seam between processes that write one log: who folds what, and where others take it over."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from foretell.service.log.protocol import SavedState, Tail
    from foretell.service.model.events import Record


class FoldSharing(Protocol):
    """How the processes that write one log share the work of the fold.

    One of them folds a campaign and publishes its state, and the others take that over. If nothing
    is published for long while there are records, others fold the campaign too.
    """

    @property
    def lag_seconds(self) -> float:
        """After how many seconds without a state that is wanted a process makes it itself."""

    def folds(self, campaign: int) -> bool:
        """Return whether this process folds a campaign, and publishes its state."""

    def seat(self) -> tuple[int, int]:
        """Return which of the processes that write this one is, from 0, and how many there are."""

    def alone(self) -> bool:
        """Return whether nobody else writes the log now."""

    def tail(self, after: int, folded: Callable[[], Collection[int]]) -> AsyncIterator[Tail]:
        """Follow the log after a seq: the records of some campaigns, and all about no decision.

        Which campaigns they are is asked before each item.
        """

    async def head(self) -> int:
        """Return a seq above all that has been written up to now, by any process."""

    async def records_of(self, campaign: int, after: int, before: int, count: int) -> list[Record]:
        """Return the next records of a campaign, between two seqs that the tail has reached."""

    async def publish(self, campaign: int, state: SavedState) -> float:
        """Let others take over a state; return after how many seconds the next one may follow.

        Raises `StatesDiffer` where another has published a different one for its position.
        """

    async def newer_states(self, positions: Mapping[int, int]) -> dict[int, SavedState]:
        """Return the published states of campaigns that are after a position, now and then."""
