"""Pages of the log: records after a record, all of them or those of one type."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from foretell import protocol
from foretell.service.engine.runtime import Runtime
from foretell.service.log.protocol import LogReader
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.events import Configured, Imported, Record
from foretell.service.reports.history import record_type, record_view

RECORDS_PER_TURN = 24
"""Records that are made readable before other work gets its turn."""
RECORDS_PER_READ = 64
MOST_READ = 5_000
"""Records that are read for one page at most: what is rare is found on a later page."""


async def record_page(
    runtime: Runtime,
    active: ActiveCampaign,
    after: int,
    limit: int,
    kind: protocol.RecordType | None,
) -> protocol.RecordPage:
    """Return the next records of a campaign, and where to go on."""
    log, head = runtime.log, runtime.log.head()
    if kind in (None, "decision", "signal", "reward", "void"):
        found, end = await _scan(log, active, after, head, limit, kind)
    else:  # few, and under an index of their own
        records = [one for one in await log.configurations(active.number) if after < one.seq < head]
        found = [one for one in records if is_of_type(active, one, kind)][:limit]
        end = found[-1].seq if len(found) == limit else max(after, head - 1)
    return protocol.RecordPage(await record_views(runtime, active, found), str(end))


async def latest_decisions(
    runtime: Runtime, active: ActiveCampaign, count: int
) -> list[protocol.RecordView]:
    """Return the last decisions of a campaign that were folded, the newest first."""
    earlier, after = active.campaign.decided - count, 0
    if earlier > 0:
        after = await runtime.log.number_at(active.number, earlier - 1)
    found = await runtime.log.decisions_after(active.number, after, count)
    records = [Record(one.number, active.number, one.number, one.decided) for one in found]
    return (await record_views(runtime, active, records))[::-1]


async def latest_changes(
    runtime: Runtime, active: ActiveCampaign, count: int
) -> list[protocol.RecordView]:
    """Return the last records about a campaign and no decision of it, the newest first.

    Parts of a history that is sent are left out: they change nothing until it is whole, and then
    the configuration names it.
    """
    head = runtime.log.head()
    records = [
        one
        for one in await runtime.log.configurations(active.number)
        if one.seq < head and not isinstance(one.event, Imported)
    ]
    return (await record_views(runtime, active, records[-count:]))[::-1]


async def _scan(
    log: LogReader,
    active: ActiveCampaign,
    after: int,
    head: int,
    limit: int,
    kind: protocol.RecordType | None,
) -> tuple[list[Record], int]:
    """Return the records of a type, and the seq up to which all were read."""
    found: list[Record] = []
    read = 0
    while read < MOST_READ or kind is None:
        size = min(RECORDS_PER_READ, limit - len(found)) if kind is None else RECORDS_PER_READ
        some = await log.records(after, head, size, active.number)
        for record in some:
            after = record.seq
            if is_of_type(active, record, kind):
                found.append(record)
                if len(found) == limit:
                    return found, after
        if len(some) < size:
            return found, max(after, head - 1)
        read += len(some)
        await asyncio.sleep(0)
    return found, after


def is_of_type(active: ActiveCampaign, record: Record, kind: protocol.RecordType | None) -> bool:
    """Return whether a record is of a type; `configuration` is any that is about no decision."""
    if kind == "configuration":
        return record.decision == 0
    return kind is None or record_type(active.config, record) == kind


async def record_views(
    runtime: Runtime, active: ActiveCampaign, records: Sequence[Record]
) -> list[protocol.RecordView]:
    """Return records with names in place of numbers, each with the id of its decision."""
    before = {}
    if any(isinstance(record.event, Configured) for record in records):
        for record in await runtime.log.configurations(active.number):
            if isinstance(record.event, Configured):
                before[record.event.version + 1] = record.event.config
    views: list[protocol.RecordView] = []
    for index in range(0, len(records), RECORDS_PER_TURN):
        await asyncio.sleep(0)
        some = records[index : index + RECORDS_PER_TURN]
        numbers = sorted({record.decision for record in some if record.decision})
        decided = await runtime.log.decided(active.number, numbers)
        for record in some:
            event, known, previous = decided.get(record.decision), None, None
            if event is not None:
                known = runtime.decision_id(active.number, record.decision, event)
            elif isinstance(record.event, Configured):
                previous = before.get(record.event.version)
            views.append(record_view(active.config, record, known, previous))
    return views
