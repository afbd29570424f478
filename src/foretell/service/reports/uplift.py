"""What decisions of the policy earn over those of the holdout, as a number and in words."""

from __future__ import annotations

import numpy as np

from foretell import protocol
from foretell.service.model.events import MODES, CampaignConfig
from foretell.service.model.stretches import DECISIONS
from foretell.service.reports.campaign_copy import CampaignCopy
from foretell.service.reports.words import MINUS, day, percent
from foretell.stats.uplift import RewardSums, uplift
from foretell.types import GRAIN, Ints

POLICY, HOLDOUT = MODES.index("policy"), MODES.index("holdout")


def uplift_over_holdout(config: CampaignConfig, traffic: Ints) -> protocol.RewardInterval | None:
    """Return the uplift in the unit of rewards; `traffic` is (modes, `TRAFFIC`)."""
    sums = [
        RewardSums(int(cell[3]), float(cell[4]) / GRAIN, float(cell[5]) / GRAIN)
        for cell in (traffic[POLICY], traffic[HOLDOUT])
    ]
    found = uplift(*sums)
    if found is None:
        return None
    low, high = config.reward_range
    return protocol.RewardInterval(*((high - low) * end for end in found))


def uplift_sentence(
    copy: CampaignCopy, modes: list[protocol.ModeReport], found: protocol.RewardInterval | None
) -> str:
    """Return what the policy earns over the holdout, in words."""
    if found is None:
        return _unknown(copy)
    more, low, high = _relative(modes, found)
    word = "less" if found.mean < 0.0 else "more"
    more = more.removeprefix(MINUS)
    earned = f"The policy earns {more} {word} than the holdout (between {low} and {high})"
    if found.low <= 0.0 <= found.high:
        return f"{earned}, which may still be chance."
    return f"{earned}."


def _relative(
    modes: list[protocol.ModeReport], found: protocol.RewardInterval
) -> tuple[str, str, str]:
    """Return the uplift by the mean of the holdout; where that is not above 0, as it is."""
    base = next((one.mean for one in modes if one.mode == "holdout"), 0.0)
    ends = (found.mean, found.low, found.high)
    if base > 0.0:
        mean, low, high = (percent(end / base) for end in ends)
    else:
        mean, low, high = (f"{end:.3f}".replace("-", MINUS) for end in ends)
    return mean, low, high


def _unknown(copy: CampaignCopy) -> str:
    """Return why the uplift is not known."""
    held_out = copy.counters.stretches.traffic[:, HOLDOUT, :, DECISIONS].sum(axis=1)
    if not held_out.any() and not copy.config.holdout:
        return "What the policy earns over a holdout is unknown: this campaign has no holdout."
    word = copy.reward_word
    early = f"What the policy earns over the holdout is not known yet: no {word} of the holdout"
    if not held_out.any():
        return f"{early} can be settled, because none of its decisions is made yet."
    if not copy.rules.stages[-1].waits:
        return f"{early} have come."
    stretches = copy.counters.stretches
    first = max(stretches.first, stretches.begin(int(np.flatnonzero(held_out)[0])))
    due = copy.rules.due(-1, first)
    when = f", first on {day(due, copy.as_of)}" if due > copy.as_of else ""
    return f"{early} are settled{when}."
