"""Imported histories, read from the log: part by part, and to the policy of a refit."""

from __future__ import annotations

import asyncio

from foretell.service.engine.turns import Progress, Turns
from foretell.service.log.errors import Damaged
from foretell.service.log.protocol import LogReader
from foretell.service.model.campaign import Campaign
from foretell.service.model.events import Imported
from foretell.service.model.imported_rows import ImportedRows, in_order, joined, unpack_rows

PARTS_PER_READ = 16
"""Parts that are read in one go."""
ROWS_PER_STEP = 4
"""Rows that a policy is told before others may get their turn."""


def part_key(history: str, part: int) -> bytes:
    """Return the key that a part of a history claims: each is written once."""
    return b"h:%s:%d" % (history.encode(), part)


async def history_rows(log: LogReader, number: int, history: str, parts: int) -> ImportedRows:
    """Return the rows of a history of a campaign, in the order in which they were sent."""
    found: list[ImportedRows] = []
    for first in range(1, parts + 1, PARTS_PER_READ):
        keys = [
            part_key(history, part) for part in range(first, min(first + PARTS_PER_READ, parts + 1))
        ]
        records = await log.by_key(number, keys)
        for key in keys:
            event = records[key].event if key in records else None
            if not isinstance(event, Imported):
                raise Damaged(f"campaign {number}: a part of the history {history!r}")
            found.append(unpack_rows(event.rows))
        await asyncio.sleep(0)
    return joined(found)


async def read_histories(
    log: LogReader, number: int, campaign: Campaign, progress: Progress, turns: Turns
) -> None:
    """Let the policy of a campaign read the histories that its configuration lists."""
    histories = [
        (one, await history_rows(log, number, one.id, one.parts)) for one in campaign.config.history
    ]
    if not histories:
        return
    rows = await asyncio.to_thread(in_order, histories)
    for first in range(0, campaign.imported, ROWS_PER_STEP):
        some = rows.chosen(slice(first, first + ROWS_PER_STEP))
        campaign.read_history(some, first)
        progress(len(some.action))
        await turns.pause()
