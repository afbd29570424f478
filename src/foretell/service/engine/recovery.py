"""Recovery: at every start, all campaigns are brought to where the log is.

A campaign begins at its newest snapshot, and the records after it are folded as when they came.
After a crash that is all: what was acknowledged is in the log.
"""

from __future__ import annotations

from foretell.service.engine.maintenance import Maintenance
from foretell.service.engine.refit import refit_at_start
from foretell.service.engine.replay import fold, rebuild, run_to_end
from foretell.service.engine.runtime import SERVER, Runtime
from foretell.service.log.record import NO_ROUND, Record
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.campaign import Campaign
from foretell.service.model.decider import Decider
from foretell.service.model.errors import Damaged
from foretell.service.model.events import Created, Refitted
from foretell.service.model.snapshot import unpack


def load_campaigns(runtime: Runtime, maintenance: Maintenance) -> None:
    """Read keys, secrets and campaigns from the log."""
    log = runtime.log
    runtime.clear()
    for record in log.records_about(SERVER, NO_ROUND):
        runtime.apply_server_event(record.event)
    maintenance.load_snapshot_list()
    number = 1
    outdated = []
    while records := log.records_about(number, NO_ROUND):
        created = records[0].event
        assert isinstance(created, Created)  # noqa: S101  (the first record of every campaign)
        campaign = _from_snapshot(runtime, maintenance, number)
        if campaign is None:
            outdated.append(number)
            campaign = run_to_end(rebuild(log, number))
        runtime.register(
            ActiveCampaign(
                number,
                campaign,
                Decider(created.config.seed),
                created.recorded_at,
                records[-1].seq,
                log.counts(number),
            )
        )
        number += 1
    for record in log.scan(maintenance.snapshot_head):
        replay(runtime, record)
    for active in runtime.by_number.values():
        active.config_changed()
    for number in outdated:
        refit_at_start(runtime, maintenance, runtime.by_number[number], "foretell has changed")


def replay(runtime: Runtime, record: Record) -> None:
    """Fold a record into its campaign, unless the campaign's snapshot knows it already."""
    active = runtime.by_number.get(record.campaign)
    if active is None or record.seq <= active.campaign.seq:
        return
    if isinstance(record.event, Refitted):
        active.campaign = run_to_end(rebuild(runtime.log, active.number))
    else:
        fold(active.campaign, record, runtime.log)
    active.dirty = True


def _from_snapshot(runtime: Runtime, maintenance: Maintenance, number: int) -> Campaign | None:
    """Return a campaign from its snapshot or, without a sound one, from the log alone.

    None means that its policy has changed since the snapshot.
    """
    log, snapshots = runtime.log, maintenance.snapshots
    if number not in snapshots:
        return run_to_end(rebuild(log, number))
    try:
        return unpack(log.snapshot_at(number, snapshots[number]))
    except Damaged as error:
        maintenance.note_damage(f"{error}; its campaign is built from the log instead")
        return run_to_end(rebuild(log, number))
