"""Can the signal be trusted? The verdict on a campaign with its numbers."""

from __future__ import annotations

import numpy as np

from foretell import protocol
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.events import CampaignConfig
from foretell.service.model.timestamps import format_timestamp
from foretell.service.reports.campaign_copy import CampaignCopy
from foretell.service.reports.signals import natural_reward
from foretell.service.reports.verdict_sentence import verdict_sentence
from foretell.stats.estimate import Estimate, estimate_mean
from foretell.stats.verdict import ENOUGH
from foretell.types import GRAIN, Ints


def validity_report(active: ActiveCampaign | CampaignCopy) -> protocol.ValidityReport:
    """Return the verdict on the signal of a campaign."""
    copy = CampaignCopy.of(active)
    config, counters, found = copy.config, copy.counters, copy.judgement
    unit = config.reward_range[1] - config.reward_range[0]
    early = found.verdict == "too early"
    seen = found.detectable < 1.0 and not early
    cells = [
        protocol.ValidityCell(*natural_ends(config, one), int(cell[1]), signal, action)
        for (row, action) in enumerate(config.actions)
        for (column, signal) in enumerate(config.signals)
        if (one := estimate_cell(cell := counters.total[row, column])) is not None
    ]
    return protocol.ValidityReport(
        config.name,
        format_timestamp(copy.as_of),
        found.verdict,
        float(found.e_value),
        None if early else unit * cost_of_trusting(copy),
        unit * float(found.detectable) if seen else None,
        verdict_sentence(copy),
        cells,
    )


def estimate_cell(cell: Ints) -> Estimate | None:
    """Return the mean reward of counts of the kind `CELL`."""
    return estimate_mean(int(cell[1]), float(cell[2]) / GRAIN, float(cell[3]) / GRAIN)


def cost_of_trusting(copy: CampaignCopy) -> float:
    """Return what the best action earned over the one that leads by signals, in unit rewards.

    Only actions with enough settled rewards count.
    """
    total = copy.counters.total
    judged = total[total[..., 1].sum(axis=1) >= ENOUGH]
    theta = total[..., 2].sum(axis=0) / GRAIN / np.maximum(1, total[..., 1].sum(axis=0))
    promised = judged[..., 0] @ theta / np.maximum(1, judged[..., 0].sum(axis=1))
    earned = judged[..., 2].sum(axis=1) / GRAIN / judged[..., 1].sum(axis=1)
    return float(earned.max() - earned[promised.argmax()])


def natural_ends(config: CampaignConfig, one: Estimate) -> tuple[float, float, float]:
    """Return an estimate and its interval in the unit of the campaign's rewards."""
    mean, low, high = (natural_reward(config, end) for end in one)
    return mean, low, high
