"""Changes: the moments at which the signals of an action changed."""

from __future__ import annotations

from foretell import protocol
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.timestamps import format_timestamp
from foretell.service.reports.signals import signal_rates
from foretell.stats.change_points import change_points


def signal_changes(active: ActiveCampaign) -> protocol.SignalChanges:
    """Return the moments at which the signals of an action changed."""
    config, counters = active.config, active.campaign.counters
    found = []
    for index, action in enumerate(config.actions):
        counts = counters.signalled[:, index]
        stretches = change_points(counts, len(config.actions))
        edges = [0, *stretches, len(counts)]
        for number, stretch in enumerate(stretches):
            found.append(
                protocol.SignalChange(
                    action,
                    format_timestamp(int(counters.clock[0] + stretch * counters.clock[1])),
                    signal_rates(config, counts[edges[number] : stretch].sum(axis=0)),
                    signal_rates(config, counts[stretch : edges[number + 2]].sum(axis=0)),
                )
            )
    return protocol.SignalChanges(config.name, format_timestamp(active.campaign.as_of), found)
