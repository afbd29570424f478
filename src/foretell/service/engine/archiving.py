"""Archiving: old partitions leave the log once nothing in them can matter to a model any more.

That is so when all their campaigns are stopped, and every window of a decision in them is closed.
Their states are saved as of now, because nobody can build them again afterwards.
"""

from __future__ import annotations

from foretell.service.engine.replay import catch_up, configurations_of
from foretell.service.log.archives import Archiver, Partition
from foretell.service.log.protocol import LogReader, SavedState
from foretell.service.model.events import moment
from foretell.service.model.snapshot import GRID, pack, state_version, unpack
from foretell.service.model.timestamps import format_timestamp


async def why_kept(log: LogReader, archiver: Archiver, partition: Partition) -> str | None:
    """Return why a partition cannot be archived, in words; None where it can."""
    for number in await archiver.campaigns_in(partition):
        _, last = (await configurations_of(log, number))[-1]
        config = last.config
        if config.status != "stopped":
            return f"the campaign {config.name!r} is not stopped"
        saved = await log.load_state(number)
        campaign = None if saved is None else unpack(saved.version, saved.body)
        if campaign is None:
            return f"no state of {config.name!r} is saved yet, as a server does within a minute"
        due = max(campaign.rules.dues(moment(partition.end)))
        if moment(log.head()) <= due:
            return f"windows of the campaign {config.name!r} are open until {format_timestamp(due)}"
    return None


async def detach(log: LogReader, archiver: Archiver, partition: Partition) -> None:
    """Take a partition out of the log; `why_kept` found no reason against it."""
    campaigns = await archiver.campaigns_in(partition)
    for number in campaigns:
        await _save_newest_state(log, archiver, number)
    await archiver.detach(partition, campaigns)


async def _save_newest_state(log: LogReader, archiver: Archiver, number: int) -> None:
    saved = await log.load_state(number)
    campaign = None if saved is None else unpack(saved.version, saved.body)
    until = log.head() // GRID * GRID
    if campaign is None or campaign.position >= until:
        return
    await catch_up(campaign, number, until, log)
    state = SavedState(campaign.position, state_version(campaign.config), pack(campaign))
    await archiver.save_state(number, state)
