"""A refit: the policy reads the whole log again, and the result replaces the campaign's state."""

from __future__ import annotations

import asyncio
import logging
import math

import msgspec

from foretell.service.engine.maintenance import Maintenance
from foretell.service.engine.replay import catch_up, refit_from_log, run_to_end
from foretell.service.engine.runtime import Runtime
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.campaign import Campaign
from foretell.service.model.config import with_closed_windows
from foretell.service.model.events import CampaignConfig, Refitted
from foretell.service.model.snapshot import policy_version

logger = logging.getLogger("foretell.service")


async def refit_while_serving(
    runtime: Runtime,
    maintenance: Maintenance,
    active: ActiveCampaign,
    config: CampaignConfig,
    why: str,
) -> None:
    """Read the log in small steps while requests are served, then replace the campaign's state."""
    active.refitting = True
    try:
        number, log = active.number, runtime.log
        upto, as_of = log.head, runtime.clock.now()
        config = with_closed_windows(active.config, config, as_of)
        await runtime.durable()
        campaign = Campaign(config)
        for step in refit_from_log(log, number, config, upto, as_of):
            campaign = step
            await asyncio.sleep(0)
            runtime.check_same_log(log)
        last, left = upto, math.inf
        while 0 < log.committer.committed - last < left:  # records may come faster than this
            newest = log.committer.committed
            left = newest - last
            for _ in catch_up(campaign, log, number, last, newest):
                await asyncio.sleep(0)
                runtime.check_same_log(log)
            last = newest
        run_to_end(catch_up(campaign, log, number, last))
        event = Refitted(as_of, config, why, upto, as_of, policy_version())
        _replace_state(runtime, maintenance, active, campaign, event)
        await runtime.durable()
    finally:
        active.refitting = False


def refit_at_start(
    runtime: Runtime, maintenance: Maintenance, active: ActiveCampaign, why: str
) -> None:
    """Read the whole log at once, before the first request."""
    upto, as_of, config = runtime.log.head, runtime.clock.now(), active.config
    campaign = run_to_end(refit_from_log(runtime.log, active.number, config, upto, as_of))
    event = Refitted(as_of, config, why, upto, as_of, policy_version())
    _replace_state(runtime, maintenance, active, campaign, event)


def _replace_state(
    runtime: Runtime,
    maintenance: Maintenance,
    active: ActiveCampaign,
    campaign: Campaign,
    event: Refitted,
) -> None:
    now = runtime.clock.now()
    campaign.advance(now, active.load)
    event = msgspec.structs.replace(event, recorded_at=now)
    active.version = campaign.seq = runtime.log.append(active.number, event)
    active.campaign = campaign
    active.config_changed()
    active.dirty = True
    maintenance.keep_snapshots()
    logger.info("%s was refit at record %d: %s", active.config.name, active.version, event.why)
