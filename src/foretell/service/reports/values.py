"""What is believed of each action now: by its policy, or from the counts since its last change."""

from __future__ import annotations

import numpy as np

from foretell.policies.belief import belief_of
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.reports.campaign_copy import CampaignCopy
from foretell.stats.value_now import Belief, residual_deviation
from foretell.types import GRAIN, Floats

FEW = 8
"""Rewards that an action needs for a residual of its own."""


def current_belief(active: ActiveCampaign | CampaignCopy) -> Belief | None:
    """Return the belief from which values are drawn.

    None before any reward is settled or imported, and where the meaning of the signal moves: then
    what was learned of it says little about now. Rewards that were corrected, and that the policy
    reads at its next refit only, count here as they are.
    """
    copy = CampaignCopy.of(active)
    counters = copy.counters
    if not counters.paid.any():
        imported = any(one.rewards for one in copy.config.history)
        return belief_of(copy.state) if imported else None
    if copy.judgement.moves:
        return None
    known = belief_of(copy.state)
    if known is None:
        return _counted_belief(copy)
    if not counters.revisions:
        return known
    rewards, sums = counters.paid.sum(axis=0), counters.grains.sum(axis=0) / GRAIN
    return known._replace(rewards=rewards.astype(np.float64), sums=sums)


def trusts_signal(copy: CampaignCopy) -> bool:
    """Return whether values are what the signals say, whatever an action's own rewards say."""
    return belief_of(copy.state) is not None and not hasattr(copy.state, "residual")


def _counted_belief(copy: CampaignCopy) -> Belief:
    """Return the law since the last change that was found, theta, and a residual if need be."""
    cells, counters = counts_since_change(copy), copy.counters
    rewards, sums = counters.paid.sum(axis=0), counters.grains.sum(axis=0) / GRAIN
    residual, deviation, own = np.zeros((3, len(cells)))
    if copy.judgement.verdict == "misleading":
        theta = sums / np.maximum(1, rewards)
        paid = cells[..., 1].sum(axis=1)
        excess = (cells[..., 2] / GRAIN - cells[..., 1] * theta).sum(axis=1)
        residual = np.where(paid >= FEW, excess / np.maximum(1, paid), 0.0)
        spread = residual[paid >= FEW].std() if (paid >= FEW).any() else 0.0
        own = (paid >= FEW).astype(np.float64)
        earned = cells[..., 2].sum(axis=1) / GRAIN
        deviation = residual_deviation(np.full(len(cells), spread**2), own, paid, earned)
    return Belief(
        np.ones((len(cells), 1)),
        cells[:, None, :, 0],
        rewards.astype(np.float64),
        sums,
        residual,
        deviation,
        own,
    )


def counts_since_change(copy: CampaignCopy) -> Floats:
    """Return (actions, signals, `CELL`): counts of each action since its last change."""
    stretches = copy.counters.stretches
    counts = stretches.cells[: len(stretches)]
    since = enumerate(copy.changed.tolist())
    return np.array([counts[begin:, action].sum(axis=0) for action, begin in since], np.float64)
