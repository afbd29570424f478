"""What a campaign has come to, read off its counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from foretell import protocol
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.counters import COUNTS
from foretell.service.model.events import CampaignConfig
from foretell.service.model.timestamps import text
from foretell.stats.change_points import change_points
from foretell.stats.estimate import Estimate, estimate_action, estimate_signal
from foretell.types import GRAIN


def report(active: ActiveCampaign, head: int) -> protocol.CampaignReport:
    """Return the report of a campaign."""
    campaign, config, counters = active.campaign, active.config, active.campaign.counters
    counts = protocol.ReportCounts(
        **{name: int(counters.counts[index]) for index, name in enumerate(COUNTS)}
    )
    counts.duplicates = active.counts.get("duplicates", 0)
    counts.rejected = active.counts.get("rejected", 0)
    counts.open_signals = campaign.decided - int(counters.seen.sum())
    counts.open_rewards = campaign.decided - int(counters.paid.sum())
    return protocol.CampaignReport(
        campaign=config.name,
        status=config.status,
        policy=config.policy,
        counts=counts,
        actions=_actions(active),
        signals=signal_rows(active),
        log=protocol.LogReport(head, text(campaign.as_of), campaign.digest()),
    )


def _actions(active: ActiveCampaign) -> list[protocol.ActionReport]:
    """Return each action's traffic and value: its signals' shares times what each is worth."""
    config, counters = active.config, active.campaign.counters
    decided = counters.decided.sum(axis=0)
    signals = _worths(active)
    return [
        protocol.ActionReport(
            action,
            config.action_status[index],
            int(decided[index]),
            float(decided[index] / max(1, decided.sum())),
            *_told(config, estimate_action(counters.seen[index], signals)),
        )
        for index, action in enumerate(config.actions)
    ]


def signal_rows(active: ActiveCampaign) -> list[protocol.SignalReportRow]:
    """Return what each signal is worth."""
    config, counters = active.config, active.campaign.counters
    return [
        protocol.SignalReportRow(
            signal,
            *_told(config, worth),
            int(counters.paid[:, index].sum()),
            int(counters.seen[:, index].sum()),
        )
        for index, (signal, worth) in enumerate(zip(config.signals, _worths(active), strict=True))
    ]


def _worths(active: ActiveCampaign) -> list[Estimate | None]:
    counters = active.campaign.counters
    every = zip(counters.paid.sum(axis=0), counters.grains.sum(axis=0), strict=True)
    return [estimate_signal(int(paid), int(grains)) for paid, grains in every]


def _told(
    config: CampaignConfig, worth: Estimate | None
) -> tuple[float | None, float | None, float | None]:
    """Return a worth in the unit of the campaign's rewards."""
    if worth is None:
        return None, None, None
    mean, low, high = (_natural(config, one) for one in worth)
    return mean, low, high


def signals(active: ActiveCampaign) -> protocol.SignalTable:
    """Return the settled signals by action."""
    config, counters = active.config, active.campaign.counters
    rows = [
        protocol.SignalTableRow(
            action,
            int(counters.seen[index].sum()),
            _rates(config, counters.seen[index]),
        )
        for index, action in enumerate(config.actions)
    ]
    return protocol.SignalTable(config.name, rows, signal_rows(active))


def timeseries(active: ActiveCampaign) -> protocol.Timeseries:
    """Return the campaign over time."""
    config, counters = active.config, active.campaign.counters
    first, width = int(counters.clock[0]), int(counters.clock[1])
    points = []
    filled = np.flatnonzero(counters.decided.sum(axis=1))
    for stretch in range(int(filled[-1]) + 1 if filled.size else 0):
        paid, grains = (int(one) for one in counters.rewarded[stretch])
        decisions = counters.decided[stretch]
        points.append(
            protocol.SeriesPoint(
                at=text(first + stretch * width),
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
                reward=_natural(config, grains / GRAIN / paid) if paid else None,
                mature=paid == int(decisions.sum()),
            )
        )
    return protocol.Timeseries(config.name, width / 1e6, points)


def changes(active: ActiveCampaign) -> protocol.SignalChanges:
    """Return the moments at which the signals of an action changed."""
    config, counters = active.config, active.campaign.counters
    found = []
    for index, action in enumerate(config.actions):
        counts = counters.signalled[:, index]
        indices = change_points(counts, len(config.actions))
        edges = [0, *indices, len(counts)]
        for number, stretch in enumerate(indices):
            found.append(
                protocol.SignalChange(
                    action,
                    text(int(counters.clock[0] + stretch * counters.clock[1])),
                    _rates(config, counts[edges[number] : stretch].sum(axis=0)),
                    _rates(config, counts[stretch : edges[number + 2]].sum(axis=0)),
                )
            )
    return protocol.SignalChanges(config.name, found)


def _rates(config: CampaignConfig, counts: Any) -> dict[str, float]:
    total = max(1, int(counts.sum()))
    return {name: float(one / total) for name, one in zip(config.signals, counts, strict=True)}


def _natural(config: CampaignConfig, unit: float) -> float:
    low, high = config.reward_range
    return low + unit * (high - low)
