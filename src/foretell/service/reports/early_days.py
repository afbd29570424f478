"""The sentence of a campaign whose first reward is not settled: how far it is, what guides it."""

from __future__ import annotations

from foretell.policies.theta_spec import ThetaSpec
from foretell.service.model.live_policies import campaign_spec
from foretell.service.reports.campaign_copy import CampaignCopy
from foretell.service.reports.words import day, day_and_time, many, span

DAY = 86_400_000_000


def learning_sentence(copy: CampaignCopy) -> str:
    """Return what is known before any reward is settled."""
    word, stretches, now = copy.reward_word, copy.counters.stretches, copy.as_of
    early = f"no {word} count yet, so it is too early to say which action wins"
    if not len(stretches):
        return f"No decision has been asked for yet: {early}."
    if not copy.rules.stages[-1].waits:
        return f"No {word} have come yet: {early}."
    window = copy.rules.stages[-1].window.length
    closes = copy.rules.due(-1, stretches.first)
    if now >= closes:
        return f"The first {span(window / 1e6)} are over, but {early}."
    if window >= 2 * DAY:
        begun = f"Day {(now - stretches.first) // DAY + 1} of the first {span(window / 1e6)}"
        until = day(closes, now)
    else:
        passed = span(max(0, now - stretches.first) / 1e6)
        begun = f"The first {span(window / 1e6)} are not over ({passed} so far)"
        until = day_and_time(closes, now)
    return f"{begun}: {early}. {_guided_by(copy, until)}"


def _guided_by(copy: CampaignCopy, until: str) -> str:
    """Return what a policy goes by before it has rewards."""
    if copy.rules.stages[-1].waits and copy.config.reward_stage.silence == "corrected":
        return f"Until {until} the policy learns from the {copy.reward_word} that come early."
    imported = sum(one.decisions for one in copy.config.history)
    if imported:
        return f"Until {until} the policy goes by {many(imported, 'decision')} of earlier logs."
    spec = campaign_spec(copy.config)
    if isinstance(spec, ThetaSpec):
        if any(value is not None for value in spec.signal_values or ()):
            return f"Until {until} the policy goes by the values that you gave your signals."
        if spec.ordered:
            return f"Until {until} the policy goes by the order of your signals."
    return f"Until {until} nothing tells the policy which action is better."
