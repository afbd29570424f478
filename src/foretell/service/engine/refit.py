"""A refit: the policy reads the whole log again, and the result replaces the campaign's state.

It is read beside the traffic, as of a position. Its record says that position, and when the fold
comes to the record, the refit takes the place of the state: wherever the log is read, the old state
holds before the record and the new one after it. A change that is made meanwhile ends the refit.
"""

from __future__ import annotations

import asyncio

from foretell.service.engine.fold import Fold
from foretell.service.engine.replay import catch_up, configurations_of, refit_from_log
from foretell.service.engine.runtime import Runtime
from foretell.service.engine.turns import (
    Progress,
    TurnsBetweenRequests,
    TurnsOfThread,
    in_thread,
    no_progress,
)
from foretell.service.log.protocol import Accepted, Draft, Log
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.campaign import Campaign
from foretell.service.model.events import Author, CampaignConfig, Configured, moment
from foretell.service.model.snapshot import state_version
from foretell.service.model.stage_fields import with_closed_windows
from foretell.service.model.validity_ledger import evidence_over_refit

MAX_ROUNDS = 8
"""How often the refit reads what came meanwhile, before it takes the state's place."""
THREAD_DECISIONS = 5000
"""Decisions from which on the log is read in a thread, in large steps."""
FEW = 2048 * 10_000
"""A refit that is so close to the end of the log takes its place: 10 ms."""


async def refit(
    runtime: Runtime,
    fold: Fold,
    active: ActiveCampaign,
    config: CampaignConfig,
    why: str,
    by: Author | None = None,
    progress: Progress = no_progress,
) -> bool:
    """Refit a campaign; return False if another change came first, and nothing was done."""
    log, number, version = runtime.log, active.number, active.version
    active.refitting, active.refit_share, active.refit_why = True, 0.0, why
    active.refit_failure = ""
    try:
        position = log.now()
        await fold.reached(position, active=active)
        if active.version != version:
            return False
        config = with_closed_windows(active.config, config, moment(position))
        reading = _Reading(active, config, progress)
        campaign = await _read_log(runtime, number, config, position, reading)
        behind = log.now() - position
        for _ in range(MAX_ROUNDS):
            now = log.head()  # what is above it may be under way, and cannot be read yet
            if (await configurations_of(log, number))[-1][1].version != version:
                return False
            await catch_up(campaign, number, now, log)
            await asyncio.sleep(0)  # what follows gets a turn of its own
            left = log.now() - now
            if left < FEW or left > behind / 2:
                break  # records come as fast as they are read: the fold reads the rest
            behind = left
        runtime.refits[number] = campaign
        evidence = evidence_over_refit(active.campaign.ledger, active.config, config)
        event = Configured(version + 1, config, why, state_version(config), position, by, evidence)
        draft = Draft(number, event, claims=((number, version_key(version + 1)),))
        (written,) = await log.append([draft])
        if isinstance(written, Accepted):
            await fold.reached(written.record.seq + 1)
            await log.seen_by_all(written.record.seq + 1)
        return isinstance(written, Accepted)
    except _Overtaken:
        return False
    finally:
        runtime.refits.pop(number, None)
        active.refitting = False


async def _read_log(
    runtime: Runtime, number: int, config: CampaignConfig, position: int, reading: _Reading
) -> Campaign:
    """Refit from the log between requests, or in a thread beside them where that takes long."""
    log = runtime.log
    if reading.decisions < THREAD_DECISIONS:
        turns = TurnsBetweenRequests()
        return await refit_from_log(log, number, config, position, reading.advance, turns)
    async with runtime.long_refit:
        try:
            return await in_thread(_refit_in_thread, log, number, config, position, reading)
        finally:
            reading.over = True  # a thread cannot be cancelled: it ends when it has come farther


def _refit_in_thread(
    log: Log, number: int, config: CampaignConfig, position: int, reading: _Reading
) -> Campaign:
    turns = TurnsOfThread(lambda: log.busy)
    with log.reader() as reader:
        return asyncio.run(refit_from_log(reader, number, config, position, reading.advance, turns))


class _Overtaken(Exception):
    """The campaign was changed since the refit began, or nobody waits for it any more."""


class _Reading:
    """Says how much of the log a refit has read, and ends it once the campaign was changed."""

    def __init__(self, active: ActiveCampaign, config: CampaignConfig, progress: Progress) -> None:
        """Begin with nothing read."""
        self._active, self._read, self._progress = active, 0, progress
        self._version = active.version
        imported = sum(one.decisions for one in config.history)
        self.decisions = active.campaign.decided + imported
        """How many there are to read."""
        self.over = False
        """Whether nobody waits for it any more."""

    def advance(self, decisions: int) -> None:
        """Take note of decisions that were read."""
        if self.over or self._active.version != self._version:
            raise _Overtaken
        self._read += decisions
        self._active.refit_share = min(1.0, self._read / max(1, self.decisions))
        self._progress(decisions)


def version_key(version: int) -> bytes:
    """Return the key that a version of a configuration claims: each is set once."""
    return b"v:%d" % version
