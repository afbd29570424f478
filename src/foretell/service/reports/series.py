"""A campaign over time: decisions, signals and rewards by stretches of equal length."""

from __future__ import annotations

import numpy as np

from foretell import protocol
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.timestamps import format_timestamp
from foretell.service.reports.signals import natural_reward
from foretell.types import GRAIN


def timeseries(active: ActiveCampaign) -> protocol.Timeseries:
    """Return the campaign over time."""
    config, counters = active.config, active.campaign.counters
    first, width = int(counters.clock[0]), int(counters.clock[1])
    points = []
    filled = np.flatnonzero(counters.decided.sum(axis=1))
    for stretch in range(int(filled[-1]) + 1 if filled.size else 0):
        paid, grains, voided = (int(one) for one in counters.rewarded[stretch])
        decisions = counters.decided[stretch]
        points.append(
            protocol.SeriesPoint(
                at=format_timestamp(first + stretch * width),
                decisions={
                    config.actions[index]: int(decisions[index])
                    for index in np.flatnonzero(decisions)
                },
                signals={
                    name: int(count)
                    for name, count in zip(
                        config.signals, counters.signalled[stretch].sum(axis=0), strict=True
                    )
                },
                rewards=paid,
                reward=natural_reward(config, grains / GRAIN / paid) if paid else None,
                mature=paid + voided == int(decisions.sum()),
            )
        )
    as_of = format_timestamp(active.campaign.as_of)
    return protocol.Timeseries(config.name, as_of, width / 1e6, points)
