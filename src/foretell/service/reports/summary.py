"""The report of a campaign: its status in words, its counts, actions, modes and signals."""

from __future__ import annotations

import numpy as np

from foretell import protocol
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.counters import COUNTS
from foretell.service.model.events import MODES, CampaignConfig
from foretell.service.model.stretches import DECISIONS
from foretell.service.model.timestamps import format_timestamp
from foretell.service.reports.campaign_copy import CampaignCopy
from foretell.service.reports.disagreement import disagreement
from foretell.service.reports.freshness import Freshness, freshness
from foretell.service.reports.signals import signal_rows
from foretell.service.reports.status import campaign_status
from foretell.service.reports.uplift import uplift_over_holdout
from foretell.service.reports.validity import estimate_cell, natural_ends
from foretell.stats.value_now import ValuesNow
from foretell.types import Ints

RECENT = 86_400_000_000
"""Microseconds of traffic that is recent, at least."""
CHOSEN = (MODES.index("policy"), MODES.index("explore"))
"""Modes of which shares are: those that the policy may decide in."""


def campaign_report(
    active: ActiveCampaign | CampaignCopy, values: ValuesNow | None
) -> protocol.CampaignReport:
    """Return the report of a campaign, given what its actions would earn now."""
    copy = CampaignCopy.of(active)
    config, traffic = copy.config, copy.counters.stretches.traffic
    modes, gain = _modes(copy), uplift_over_holdout(config, traffic.sum(axis=(0, 2)))
    fresh, found = freshness(copy), copy.judgement
    status, sentence = campaign_status(copy, fresh, values, modes, gain)
    return protocol.CampaignReport(
        campaign=config.name,
        status=status,
        sentence=sentence,
        policy=config.policy,
        counts=_counts(copy),
        actions=_actions(copy, values, fresh),
        modes=modes,
        uplift=gain,
        signals=signal_rows(config, copy.counters, found.verdict, untested=found.untested),
        freshness=fresh.shown,
        log=protocol.LogReport(str(copy.position), format_timestamp(copy.as_of), copy.digest()),
        history=copy.history,
    )


def _counts(copy: CampaignCopy) -> protocol.ReportCounts:
    counters = copy.counters
    counts = protocol.ReportCounts(
        **{name: int(counters.counts[index]) for index, name in enumerate(COUNTS)}
    )
    counts.duplicates = copy.counts.get("duplicates", 0)
    counts.rejected = copy.counts.get("rejected", 0)
    shown = copy.progress.decided - counts.voided
    counts.open_signals = shown - int(counters.seen.sum())
    counts.open_rewards = shown - int(counters.paid.sum())
    return counts


def _actions(
    copy: CampaignCopy, values: ValuesNow | None, fresh: Freshness
) -> list[protocol.ActionReport]:
    config, counters = copy.config, copy.counters
    decided = counters.stretches.traffic[..., DECISIONS].sum(axis=0)
    shares, recent = _shares(decided), _shares(_recent(copy))
    found = []
    for index, action in enumerate(config.actions):
        observed = _observed(config, counters.total[index].sum(axis=0))
        value = None
        if values is not None:
            value = protocol.RewardInterval(*natural_ends(config, values.values[index]))
        found.append(
            protocol.ActionReport(
                action,
                config.action_status[index],
                int(decided[:, index].sum()),
                shares[index] or 0.0,
                recent[index],
                observed,
                value,
                None if values is None else float(values.best[index]),
                disagreement(copy, index, observed, value, rewards_stopped=fresh.stopped),
            )
        )
    return found


def _recent(copy: CampaignCopy) -> Ints:
    """Return (modes, actions): decisions since the last change, at least of the last 24 hours."""
    stretches = copy.counters.stretches
    since = stretches.last - RECENT
    first = max(0, since // stretches.length - stretches.first // stretches.length)
    changed = int(copy.changed.max())
    first = min(first, changed) if changed else first
    return stretches.traffic[first : len(stretches), ..., DECISIONS].sum(axis=0)


def _shares(decided: Ints) -> list[float | None]:
    """Return the share of each action among the decisions that the policy may make."""
    chosen = decided[list(CHOSEN)].sum(axis=0)
    total = int(chosen.sum())
    return [one / total if total else None for one in chosen.tolist()]


def _modes(copy: CampaignCopy) -> list[protocol.ModeReport]:
    found = []
    for mode in MODES:
        traffic = copy.counters.stretches.traffic[:, MODES.index(mode)]
        observed = _observed(copy.config, np.asarray(traffic[..., 2:].sum(axis=(0, 1))))
        if observed is not None:
            parts = (observed.mean, observed.low, observed.high, observed.n)
            found.append(protocol.ModeReport(*parts, mode))
    return found


def _observed(config: CampaignConfig, cell: Ints) -> protocol.Observed | None:
    found = estimate_cell(cell)
    return None if found is None else protocol.Observed(*natural_ends(config, found), int(cell[1]))
