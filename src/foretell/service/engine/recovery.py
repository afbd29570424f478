"""Recovery: at every start, all campaigns are brought to where the log is.

A campaign begins at its newest saved state, and the fold goes on from there as if it had never
stopped. After a crash that is all: what was acknowledged is in the log.
"""

from __future__ import annotations

from foretell.service.engine.fold import Fold
from foretell.service.engine.maintenance import Maintenance
from foretell.service.engine.refit import refit
from foretell.service.engine.replay import configurations_among, configurations_of, rebuild
from foretell.service.engine.runtime import Runtime
from foretell.service.log.errors import Damaged
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.campaign import Campaign
from foretell.service.model.events import SERVER, Configured, Imported
from foretell.service.model.snapshot import state_version, unpack


async def load_campaigns(runtime: Runtime, fold: Fold, maintenance: Maintenance) -> None:
    """Read keys, secrets and campaigns from the log, and fold all that is in it."""
    log = runtime.log
    runtime.clear()
    for record in await log.configurations(SERVER):
        runtime.apply_server_event(record)
    runtime.keyring.last_used.update(await log.uses())
    head, complete, archives = log.now(), log.head(), await log.archives()
    for number in await log.campaigns():
        records = await log.configurations(number)
        created, _ = configurations_among(number, records)[0]
        if created.seq >= complete:
            continue  # another process has just made it: the fold comes to it
        campaign = await _saved_state(runtime, maintenance, number)
        saved = 0 if campaign is None else campaign.position
        if campaign is None and any(number in one.campaigns for one in archives):
            campaign = _without_records(configurations_among(number, records)[-1][1], complete)
        elif campaign is None:
            campaign = await rebuild(log, number, complete)
        active = ActiveCampaign(number, campaign, created.recorded_at)
        active.folding, active.wanted = log.sharing is None, head
        active.unsaved = int(not saved)  # else it is built again at every start, until it is used
        active.saved, active.counts = saved, await _counts(runtime, maintenance, number)
        for record in records:
            if isinstance(record.event, Imported):
                active.imports.note(record.event)
        runtime.register(active)
    fold.position = min(
        [active.campaign.position for active in runtime.by_number.values()], default=complete
    )
    runtime.folded = fold.position
    await fold.follow(head)


async def refit_outdated(runtime: Runtime, fold: Fold) -> None:
    """Refit the campaigns whose states another version of foretell would have made."""
    archived = {number for one in await runtime.log.archives() for number in one.campaigns}
    for active in list(runtime.by_number.values()):
        if active.number in archived:
            continue
        versions = [
            event.state_version
            for _, event in await configurations_of(runtime.log, active.number)
            if event.version == 1 or event.refit_from is not None
        ]
        if versions[-1] != state_version(active.config):
            await refit(runtime, fold, active, active.config, "foretell has changed")


def _without_records(last: Configured, position: int) -> Campaign:
    """Return a stopped campaign of which only its configuration is left: the rest is archived.

    That happens when its state is of another version of foretell, which cannot be read.
    """
    campaign = Campaign(last.config)
    campaign.version, campaign.position = last.version, position
    return campaign


async def _counts(runtime: Runtime, maintenance: Maintenance, number: int) -> dict[str, int]:
    """Return what a campaign has counted that leaves no record; nothing where that is damaged."""
    try:
        return await runtime.log.counts(number)
    except Damaged as error:
        maintenance.note_damage(f"{error}; it is counted from 0 again")
        return {}


async def _saved_state(runtime: Runtime, maintenance: Maintenance, number: int) -> Campaign | None:
    """Return a campaign from its newest saved state; None without a sound one of this version."""
    try:
        saved = await runtime.log.load_state(number)
    except Damaged as error:
        maintenance.note_damage(f"{error}; its campaign is built from the log instead")
        return None
    return None if saved is None else unpack(saved.version, saved.body)
