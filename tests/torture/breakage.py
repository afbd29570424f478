"""Servers that are broken on purpose: the torture must find each of them out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import msgspec

from foretell.service.engine import engine, recovery
from foretell.service.engine.fold import Fold
from foretell.service.log.protocol import Draft, SavedState, Written
from foretell.service.log.sqlite.log import SqliteLog
from foretell.service.log.sqlite.writer import Job, Writer
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.campaign import Campaign
from foretell.service.model.events import Feedback, Record
from foretell.service.model.snapshot import Snapshot, pack, state_version

SLOW_DISK_SECONDS = 0.003


def break_it(broken: str) -> None:
    """Break this process on purpose."""
    match broken:
        case "answer-early":
            _answer_early()
        case "no-dedup":
            _claim_nothing()
        case "replay-twice":
            _count_twice_at_start()
        case "skip-records":
            _save_old_states()
        case "":
            return
        case _:
            raise ValueError(broken)


def _answer_early() -> None:
    """Answer before the commit."""
    write = Writer._write

    def early(self: Writer, jobs: list[Job]) -> None:
        finish, done = self._appender.finish, self._on_done

        def answer() -> None:
            finish()
            self._call_loop(done, jobs)
            time.sleep(SLOW_DISK_SECONDS)

        self._appender.finish = answer  # type: ignore[method-assign]
        self._on_done = lambda _: None
        try:
            write(self, jobs)
        finally:
            self._appender.finish = finish  # type: ignore[method-assign]
            self._on_done = done

    Writer._write = early  # type: ignore[method-assign]


def _claim_nothing() -> None:
    """Forget what a draft claims, so that the same may be written again."""
    append = SqliteLog.append

    async def forgetful(self: SqliteLog, drafts: Sequence[Draft]) -> list[Written]:
        return await append(self, [draft._replace(claims=()) for draft in drafts])

    SqliteLog.append = forgetful  # type: ignore[method-assign]


def _count_twice_at_start() -> None:
    """Count rewards twice that are folded at a start."""
    load, apply = recovery.load_campaigns, Campaign.apply

    def twice(self: Campaign, record: Record) -> None:
        apply(self, record)
        if isinstance(record.event, Feedback) and record.event.stage:
            self.counters.count("rewards")

    async def loading(*args: Any) -> None:
        Campaign.apply = twice  # type: ignore[method-assign]
        try:
            await load(*args)
        finally:
            Campaign.apply = apply  # type: ignore[method-assign]

    setattr(engine, "load_campaigns", loading)  # noqa: B010  (it is not exported)


def _save_old_states() -> None:
    """Save each state under the position of the next one, so that a start skips records.

    The first state that a server saves is empty.
    """
    old: dict[int, Snapshot] = {}

    async def late(self: Fold, active: ActiveCampaign) -> None:
        campaign = active.campaign
        now = _snapshot(campaign)
        before = old.get(active.number) or _snapshot(Campaign(active.config))
        old[active.number] = now
        before.position = campaign.position
        body = msgspec.msgpack.encode(before)
        state = SavedState(campaign.position, state_version(active.config), body)
        active.save_due, active.saved, active.unsaved = False, campaign.position, 0
        await self.runtime.log.save_state(active.number, state)

    Fold.save_now = late  # type: ignore[method-assign]


def _snapshot(campaign: Campaign) -> Snapshot:
    return msgspec.msgpack.decode(pack(campaign), type=Snapshot)
