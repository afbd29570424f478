"""The signals of a campaign: how often each action has them, and the reward that each predicts."""

from __future__ import annotations

from typing import Any

from foretell import protocol
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.events import CampaignConfig
from foretell.service.model.timestamps import format_timestamp
from foretell.stats.estimate import Estimate, estimate_signal


def signal_table(active: ActiveCampaign) -> protocol.SignalTable:
    """Return the settled signals by action."""
    config, counters = active.config, active.campaign.counters
    rows = [
        protocol.SignalTableRow(
            action,
            int(counters.seen[index].sum()),
            signal_rates(config, counters.seen[index]),
        )
        for index, action in enumerate(config.actions)
    ]
    as_of = format_timestamp(active.campaign.as_of)
    return protocol.SignalTable(config.name, as_of, rows, signal_rows(active))


def signal_rows(active: ActiveCampaign) -> list[protocol.SignalReportRow]:
    """Return the estimated reward of each signal."""
    config, counters = active.config, active.campaign.counters
    return [
        protocol.SignalReportRow(
            signal,
            *natural_estimate(config, estimate),
            int(counters.paid[:, index].sum()),
            int(counters.seen[:, index].sum()),
        )
        for index, (signal, estimate) in enumerate(
            zip(config.signals, signal_estimates(active), strict=True)
        )
    ]


def signal_estimates(active: ActiveCampaign) -> list[Estimate | None]:
    """Return the estimated unit reward of each signal; None where none is settled."""
    counters = active.campaign.counters
    settled = zip(counters.paid.sum(axis=0), counters.grains.sum(axis=0), strict=True)
    return [estimate_signal(int(paid), int(grains)) for paid, grains in settled]


def natural_estimate(
    config: CampaignConfig, estimate: Estimate | None
) -> tuple[float | None, float | None, float | None]:
    """Return an estimate and its interval in the unit of the campaign's rewards."""
    if estimate is None:
        return None, None, None
    mean, low, high = (natural_reward(config, one) for one in estimate)
    return mean, low, high


def signal_rates(config: CampaignConfig, counts: Any) -> dict[str, float]:
    """Return the share of each signal."""
    total = max(1, int(counts.sum()))
    return {name: float(one / total) for name, one in zip(config.signals, counts, strict=True)}


def natural_reward(config: CampaignConfig, unit: float) -> float:
    """Return a unit reward in the unit of the campaign's rewards."""
    low, high = config.reward_range
    return low + unit * (high - low)
