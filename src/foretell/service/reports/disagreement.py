"""Where the record of an action and the belief about it disagree: which to go by, and why."""

from __future__ import annotations

from foretell import protocol
from foretell.service.reports.campaign_copy import CampaignCopy
from foretell.service.reports.values import trusts_signal
from foretell.service.reports.words import day


def disagreement(
    copy: CampaignCopy,
    action: int,
    observed: protocol.Observed | None,
    value: protocol.RewardInterval | None,
    *,
    rewards_stopped: bool,
) -> str | None:
    """Return a sentence where the two intervals do not overlap; None where they do."""
    if observed is None or value is None:
        return None
    overlap = observed.low <= value.high and value.low <= observed.high
    return None if overlap else _which(copy, action, rewards_stopped=rewards_stopped)


def _which(copy: CampaignCopy, action: int, *, rewards_stopped: bool) -> str:
    """Return which of the two to go by, and why."""
    name, word = copy.config.actions[action], copy.reward_word
    if rewards_stopped:
        return (
            f"Go by neither while no {word} come: decisions of {name} close without one meanwhile, "
            f"and that lowers both."
        )
    changed = int(copy.changed[action])
    misleading = copy.judgement.verdict == "misleading"
    if misleading and trusts_signal(copy):
        return (
            f"Go by observed: the signal misleads here, and value trusts it. What {name} has "
            f"earned is counted, not predicted."
        )
    if changed:
        at = day(copy.counters.stretches.begin(changed), copy.as_of)
        return (
            f"Go by value: the signals of {name} changed about {at}, and observed still holds "
            f"what it earned before."
        )
    if misleading:
        return (
            f"Go by observed: the signal misleads here, and value has not caught up with the "
            f"{word} of {name} yet."
        )
    if copy.judgement.untested:
        return (
            f"Go by observed: value goes by the signal, and if that meant something else after "
            f"{name} than after others, it might not have been seen yet."
        )
    return (
        f"Go by observed for the past, and by neither for now: the two disagree, and neither a "
        f"change of {name} nor a misleading signal explains it yet."
    )
