"""The report of a campaign: its counts, its actions and its signals."""

from __future__ import annotations

from foretell import protocol
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.counters import COUNTS
from foretell.service.model.timestamps import format_timestamp
from foretell.service.reports.signals import natural_estimate, signal_estimates, signal_rows
from foretell.stats.estimate import estimate_action


def campaign_report(active: ActiveCampaign) -> protocol.CampaignReport:
    """Return the report of a campaign."""
    campaign, config, counters = active.campaign, active.config, active.campaign.counters
    counts = protocol.ReportCounts(
        **{name: int(counters.counts[index]) for index, name in enumerate(COUNTS)}
    )
    counts.duplicates = active.counts.get("duplicates", 0)
    counts.rejected = active.counts.get("rejected", 0)
    shown = campaign.decided - counts.voided
    counts.open_signals = shown - int(counters.seen.sum())
    counts.open_rewards = shown - int(counters.paid.sum())
    return protocol.CampaignReport(
        campaign=config.name,
        status=config.status,
        policy=config.policy,
        counts=counts,
        actions=_actions(active),
        signals=signal_rows(active),
        log=protocol.LogReport(
            str(campaign.position), format_timestamp(campaign.as_of), campaign.digest()
        ),
    )


def _actions(active: ActiveCampaign) -> list[protocol.ActionReport]:
    """Return the traffic and value of each action: its signals' shares times their estimates."""
    config, counters = active.config, active.campaign.counters
    decided = counters.decided.sum(axis=0)
    estimates = signal_estimates(active)
    return [
        protocol.ActionReport(
            action,
            config.action_status[index],
            int(decided[index]),
            float(decided[index] / max(1, decided.sum())),
            *natural_estimate(config, estimate_action(counters.seen[index], estimates)),
        )
        for index, action in enumerate(config.actions)
    ]
