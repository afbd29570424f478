"""From the log to the state of one campaign: while serving, at a start, for a refit, to verify.

These are one path: windows close up to a record, what the record needs is fetched, and it is
applied. A state is built from where its policy was last refit, and from there record by record.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from foretell.service.engine.history_reader import read_histories
from foretell.service.engine.refit_reading import RefitReading
from foretell.service.engine.turns import Progress, Turns, in_thread_if_large, no_progress
from foretell.service.log.errors import Damaged
from foretell.service.log.protocol import LogReader
from foretell.service.model.campaign import NOTHING, Campaign, Needs
from foretell.service.model.decision_cache import DECISIONS_PER_READ
from foretell.service.model.events import (
    CampaignConfig,
    Configured,
    DecisionRecords,
    Feedback,
    Record,
)
from foretell.sim.replayer import loaded_reader

RECORDS_PER_STEP = 256
"""Records that are read at a time."""


async def close_windows(campaign: Campaign, number: int, until: int, log: LogReader) -> None:
    """Close every window of a campaign that is due by a seq."""
    while not campaign.close_windows(until):
        needs = campaign.needs()
        campaign.learn(await _fetch(log, number, needs))
        if campaign.needs() == needs:
            rank = min(campaign.cursors[stage] for stage in campaign.tracked)
            raise Damaged(f"the decision of round {rank} after", min(needs.after), "is missing")


def fold_at_hand(campaign: Campaign, record: Record) -> bool:
    """Take one record into a campaign's state, if all that it needs is at hand."""
    if not campaign.close_windows(record.seq):
        return False
    if campaign.lacks(record):
        return False
    campaign.apply(record)
    return True


async def fold(campaign: Campaign, record: Record, log: LogReader) -> None:
    """Take one record into a campaign's state, and fetch what it needs."""
    if fold_at_hand(campaign, record):
        return
    if not campaign.close_windows(record.seq):
        await close_windows(campaign, record.campaign, record.seq, log)
    if isinstance(record.event, Feedback):
        needs = campaign.needs(record)
        if needs is not NOTHING:
            campaign.learn(await _fetch(log, record.campaign, needs))
    campaign.apply(record)


async def _fetch(log: LogReader, number: int, needs: Needs) -> list[DecisionRecords]:
    found = await log.decisions(number, needs.numbers) if needs.numbers else []
    for after in dict.fromkeys(needs.after):
        found += await log.decisions_after(number, after, DECISIONS_PER_READ)
    return found


async def prefetch(campaign: Campaign, records: Sequence[Record], log: LogReader) -> None:
    """Read in one go the decisions that some records of a campaign are about.

    They are folded compiled, if what the policy learns with is loaded already.
    """
    campaign.tell()
    if not campaign.reads_compiled and not campaign.weighs:
        reader = loaded_reader(campaign.state)
        if reader is not None:
            campaign.read_compiled(reader)
    missing = {record.decision for record in records if campaign.lacks(record)}
    if len(missing) > 1:
        campaign.learn(await log.decisions(records[0].campaign, sorted(missing)))


async def catch_up(
    campaign: Campaign, number: int, until: int, log: LogReader, progress: Progress = no_progress
) -> None:
    """Bring a campaign up to a seq; no configuration up to there is of another policy."""
    turns = Turns()
    while True:
        records = await log.records(campaign.position - 1, until, RECORDS_PER_STEP, number)
        await prefetch(campaign, records, log)
        for record in records:
            await fold(campaign, record, log)
            await turns.pause()
        progress(len(records))
        if len(records) < RECORDS_PER_STEP:
            break
    await asyncio.sleep(0)  # what follows gets a turn of its own
    await close_windows(campaign, number, until, log)
    campaign.tell()


async def refit_from_log(
    log: LogReader,
    number: int,
    config: CampaignConfig,
    position: int,
    progress: Progress = no_progress,
    turns: Turns | None = None,
) -> Campaign:
    """Read what was imported, then every decision in order, with its outcome at a position."""
    turns, campaign = turns or Turns(), Campaign(config)
    await turns.pause()
    await read_histories(log, number, campaign, progress, turns)
    refit = RefitReading(campaign, position, turns)
    after, read = 0, 0
    while found := await log.decisions_after(number, after, refit.step):
        await turns.pause()
        found = [records for records in found if records.number < position]
        if not found:
            break
        read += refit.read(found)
        progress(len(found))
        after = found[-1].number
        await refit.compile_if_long()
        await turns.pause()
    refit.end()
    parked = await log.count_feedback(number, position) - read
    await in_thread_if_large(campaign.decided, campaign.end_refit, position, parked)
    return campaign


async def configurations_of(log: LogReader, number: int) -> list[tuple[Record, Configured]]:
    """Return every configuration of a campaign; raise `Damaged` where one is missing."""
    return configurations_among(number, await log.configurations(number))


def configurations_among(number: int, records: Sequence[Record]) -> list[tuple[Record, Configured]]:
    """Return the configurations among the records of a campaign that are about no decision."""
    found = [(record, record.event) for record in records if isinstance(record.event, Configured)]
    for expected, (record, event) in enumerate(found, 1):
        if event.version != expected:
            raise Damaged(f"campaign {number}: a configuration before record", record.seq)
    if not found:
        raise Damaged("the first configuration of campaign", number)
    return found


async def rebuild(
    log: LogReader, number: int, until: int, progress: Progress = no_progress
) -> Campaign:
    """Build the state of a campaign at a seq from the log alone."""
    record, event = next(
        (record, event)
        for record, event in reversed(await configurations_of(log, number))
        if event.version == 1 or (event.refit_from is not None and record.seq < until)
    )
    if event.refit_from is None:
        campaign = Campaign(event.config)
        campaign.position = record.seq
    else:
        campaign = await refit_from_log(log, number, event.config, event.refit_from, progress)
        await catch_up(campaign, number, record.seq, log, progress)
    campaign.apply(record)
    await catch_up(campaign, number, until, log, progress)
    return campaign
