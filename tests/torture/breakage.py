"""Servers that are broken on purpose: the torture must find each of them out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from foretell.service.engine import engine, recovery
from foretell.service.engine.fold import Fold
from foretell.service.log.postgres import own_stream
from foretell.service.log.postgres.append import Appending
from foretell.service.log.postgres.group import Group
from foretell.service.log.postgres.own_stream import OwnStream
from foretell.service.log.postgres.watch import StreamWatch
from foretell.service.log.protocol import Accepted, Draft, SavedState, Written
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
        case _ if broken in deciders_broken:
            deciders_broken[broken]()
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
        return await append(self, [msgspec.structs.replace(draft, claims=()) for draft in drafts])

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


def _decide_early() -> None:
    """Answer when records are stamped, before they are committed."""
    write, send = Appending._write, OwnStream.send

    async def early(self: Appending, indices: list[int]) -> None:
        async def answering(own: OwnStream, group: Group) -> None:
            whole = len(group.records) == len(self._drafts)
            records = iter(group.records)
            for job in self._jobs if whole else ():
                if not job.done.done():
                    job.done.set_result([Accepted(next(records)) for _ in job.drafts])
            await asyncio.sleep(SLOW_DISK_SECONDS)
            await send(own, group)

        OwnStream.send = answering  # type: ignore[method-assign, assignment]
        await write(self, indices)

    Appending._write = early  # type: ignore[method-assign]


def _go_on_sealed() -> None:
    """Write a stream that others have sealed."""
    schema = Path(own_stream.__file__).with_name("schema.sql").read_text("utf-8")
    body = schema.partition("CREATE FUNCTION foretell.move_head")[2].partition("END $$;")[0]
    broken = body.replace("AND NOT sealed", "")
    start = OwnStream.start

    async def breaking(self: OwnStream, connection: Any) -> None:
        await connection.execute(f"CREATE OR REPLACE FUNCTION foretell.move_head{broken}END $$")
        await start(self, connection)

    OwnStream.start = breaking  # type: ignore[method-assign]


def _read_without_watermark() -> None:
    """Fold what is there, whatever may still come before it."""
    look = StreamWatch._look

    async def blind(self: StreamWatch) -> None:
        await look(self)
        self.watermark = max(self.watermark, *(one.stream.head for one in self.streams))

    StreamWatch._look = blind  # type: ignore[method-assign]


def _leave_one_out() -> None:
    """Wait for all streams but the one that is the furthest behind."""
    compare = StreamWatch._compare_with_marks

    async def without_last(self: StreamWatch) -> None:
        await compare(self)
        if len(self.streams) > 1:
            self.streams.remove(min(self.streams, key=lambda one: one.stream.head))

    StreamWatch._compare_with_marks = without_last  # type: ignore[method-assign]


deciders_broken = {
    "decider-answers-early": _decide_early,
    "decider-goes-on": _go_on_sealed,
    "decider-no-watermark": _read_without_watermark,
    "decider-one-left-out": _leave_one_out,
}
"""Deciders on PostgreSQL, by how they are broken."""
