"""Faults planted in the service on purpose: the simulation must find each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from unittest import mock

from foretell.protocol import DecisionAnswer, DecisionRequest
from foretell.service.engine.decisions import Decisions
from foretell.service.log.protocol import Claim, SavedState
from foretell.service.log.sqlite import side_tables
from foretell.service.log.sqlite.appender import Appender
from foretell.service.log.sqlite.log import SqliteLog
from foretell.service.log.sqlite.writer import Writer
from foretell.service.model.campaign import Campaign
from foretell.service.model.events import SLOTS, DecisionRecords, Record
from foretell.service.model.overlay import Overlay


@contextmanager
def answer_before_fsync() -> Iterator[None]:
    """Answer when the operating system has the write, before the disk has it."""

    def careless(self: Writer, strict: bool) -> None:
        self._connection.pragma("synchronous", "normal")

    with mock.patch.object(Writer, "_wait_for_disk", careless):
        yield


@contextmanager
def dedup_lost_at_a_restart() -> Iterator[None]:
    """Know only the claims that this process has seen made."""
    read, by_key = Appender._read_claims, SqliteLog.by_key
    insert_rows = Appender._insert_rows

    def forgetful(self: Appender, claims: Sequence[Claim]) -> None:
        read(self, claims)
        first = vars(self).setdefault("first", self.stream.head)
        self._claimed = {key: one for key, one in self._claimed.items() if one.seq >= first}

    async def forget(self: SqliteLog, campaign: int, keys: Sequence[bytes]) -> dict[bytes, Record]:
        first = vars(self).setdefault("first", self.head())
        found = await by_key(self, campaign, keys)
        return {key: one for key, one in found.items() if one.seq >= first}

    def replace_silently(self: Appender) -> None:
        for row in self._keys:
            self.connection.execute("INSERT OR REPLACE INTO keys VALUES (?, ?, ?)", row)
        self._keys = []
        insert_rows(self)

    with (
        mock.patch.object(Appender, "_read_claims", forgetful),
        mock.patch.object(SqliteLog, "by_key", forget),
        mock.patch.object(Appender, "_insert_rows", replace_silently),
    ):
        yield


@contextmanager
def window_closed_after_its_microsecond() -> Iterator[None]:
    """Close a window after the records of the microsecond at which it is due."""
    close = Campaign.close_windows

    def late(self: Campaign, until: int, known: Iterable[DecisionRecords] = ()) -> bool:
        done = close(self, until - SLOTS, known)
        if done:
            self.position = max(self.position, until)
        return done

    with mock.patch.object(Campaign, "close_windows", late):
        yield


@contextmanager
def state_saved_above_the_head() -> Iterator[None]:
    """Save a state without moving the head to its position."""

    async def careless(self: SqliteLog, campaign: int, state: SavedState) -> None:
        def work(appender: Appender) -> None:
            side_tables.save_state(campaign, state, appender)

        await self._database.submit(work=work)

    with mock.patch.object(SqliteLog, "save_state", careless):
        yield


@contextmanager
def pending_play_kept() -> Iterator[None]:
    """Keep a decision under way whose record could not be written."""

    def keep(self: Overlay, nonce: int) -> None:
        """Do nothing."""

    with mock.patch.object(Overlay, "drop", keep):
        yield


@contextmanager
def repeat_answered_as_new() -> Iterator[None]:
    """Answer 201 to a request whose decision was made before."""
    decide = Decisions.decide

    async def careless(
        self: Decisions, name: str, ask: DecisionRequest
    ) -> tuple[DecisionAnswer, bool]:
        answer, _ = await decide(self, name, ask)
        return answer, True

    with mock.patch.object(Decisions, "decide", careless):
        yield


PLANTS: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "answer before fsync": answer_before_fsync,
    "dedup lost at a restart": dedup_lost_at_a_restart,
    "a window closed after a record of its own microsecond": window_closed_after_its_microsecond,
    "a state saved above the head": state_saved_above_the_head,
    "a pending play kept after a failed commit": pending_play_kept,
    "a repeat answered as new": repeat_answered_as_new,
}
