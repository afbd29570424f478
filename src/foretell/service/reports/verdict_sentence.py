"""The verdict on a signal in words: what was seen, what the policy does, what one can do."""

from __future__ import annotations

import numpy as np

from foretell.service.reports.campaign_copy import CampaignCopy
from foretell.service.reports.enough_rewards import enough_by
from foretell.service.reports.signals import natural_reward
from foretell.service.reports.values import counts_since_change
from foretell.service.reports.words import RELATIVE, day, day_and_time, percent
from foretell.stats.verdict import ENOUGH, least_compared, main_signal
from foretell.types import GRAIN


def verdict_sentence(copy: CampaignCopy) -> str:
    """Return the verdict on the signal of a campaign in words."""
    found = copy.judgement
    if found.verdict == "too early":
        return _too_early(copy)
    if found.verdict == "misleading":
        return _misleading(copy)
    if found.moves:
        return _moves(copy)
    if found.verdict == "doubtful":
        return f"{_compared(copy)}. It may be chance; the policy goes on and watches."
    return _valid(copy)


def _too_early(copy: CampaignCopy) -> str:
    settled = np.sort(copy.counters.paid.sum(axis=1))[-2:][::-1].tolist()
    have = f"the two with most have {settled[0]} and {settled[1]}"
    missing = (
        f"It is too early to say: a verdict needs {ENOUGH} settled {copy.reward_word} on two "
        f"actions, and {have if any(settled) else 'none is settled yet'}."
    )
    known = enough_by(copy)
    if known is None:
        return missing
    at, sure = known
    pace = "" if sure else ", if decisions go on as they do"
    soon = at - copy.as_of < RELATIVE
    when = (day_and_time if soon else day)(at, copy.as_of)
    return f"{missing} They will be there on {when}{pace}."


def _valid(copy: CampaignCopy) -> str:
    config, test, found = copy.config, copy.ledger.test, copy.judgement
    signal = main_signal(test)
    mean = natural_reward(config, test.total[signal, 1] / max(1.0, test.total[signal, 0]))
    told = f"{config.signals[signal]!r} was followed by "
    told += (
        f"{copy.reward_word} about {percent(mean)} of the time"
        if _all_or_nothing(copy)
        else f"{mean:.3f} {copy.reward_word} on average"
    )
    if found.untested:
        return f"{_untested(copy, signal)} Over all actions, {told}."
    seen = f"A difference of {_difference(copy, found.detectable)} would usually have been seen"
    return f"Whichever action was shown, {told}. {seen} by now.{_matters(copy, signal)}"


def _untested(copy: CampaignCopy, signal: int) -> str:
    """Return that no difference was seen because none needed to be, and what to do."""
    action, known = least_compared(copy.ledger.test, copy.counters.paid.sum(axis=1))
    name = copy.config.signals[signal]
    return (
        f"No difference between actions was found, but even the largest might not have been seen "
        f"yet: of {copy.config.actions[action]!r} only about {known:.0f} {name!r} could be "
        f"compared with those of others. That is no reason to trust the signal: go by what was "
        f"observed of each action, and raise holdout or explore to find out."
    )


def _matters(copy: CampaignCopy, signal: int) -> str:
    """Return that a difference too small to be seen would make another action the best, if so."""
    total, now = copy.counters.total.astype(np.float64), counts_since_change(copy)[..., 0]
    theta = total[..., 2].sum(axis=0) / np.maximum(1.0, total[..., 1].sum(axis=0)) / GRAIN
    law = now / np.maximum(1.0, now.sum(axis=1, keepdims=True))
    judged = (total[..., 1].sum(axis=1) >= ENOUGH) & (now.sum(axis=1) >= ENOUGH) & copy.choosable
    if judged.sum() < 2:
        return ""
    first, second = np.where(judged, law @ theta, -1.0).argsort()[::-1][:2].tolist()
    lead, share = float((law[first] - law[second]) @ theta), float(law[first, signal])
    if lead >= share * min(copy.judgement.detectable, float(theta[signal])):
        return ""
    names, after = copy.config.actions, copy.config.signals[signal]
    return (
        f" A smaller one may be there: {_difference(copy, lead / share)} less after {after!r} of "
        f"{names[first]!r} would make {names[second]!r} the better one."
    )


def _difference(copy: CampaignCopy, unit: float) -> str:
    """Return a difference of unit rewards in words."""
    low, high = copy.config.reward_range
    difference = unit * (high - low)
    return f"{_points(difference)} points" if _all_or_nothing(copy) else f"{difference:.3f}"


def _moves(copy: CampaignCopy) -> str:
    moved = day_and_time(copy.ledger.moves_at, copy.as_of)
    said = (
        f"What a signal means moves over time, seen since {moved}: the same signal is followed "
        f"by other {copy.reward_word} in one period than in another, whatever the action. Compare "
        f"actions within a period, and go by recent numbers."
    )
    if copy.ledger.doubtful_at < 0:
        return said
    return f"{said} Within periods, {_compared(copy)}; that may be chance."


def _misleading(copy: CampaignCopy) -> str:
    found = day_and_time(copy.ledger.misleading_at, copy.as_of)
    return (
        f"{_most_and_least(copy)}{_compared(copy)}, seen since {found}. {policy_reaction(copy)} "
        f"Go by what was observed of each action, and look for a signal that comes nearer to "
        f"{copy.reward_word}."
    )


def _most_and_least(copy: CampaignCopy) -> str:
    """Return that an action has most of a signal and the fewest rewards; nothing if it has not."""
    total, found = copy.counters.total.astype(np.float64), copy.judgement
    judged = total[..., 1].sum(axis=1) >= ENOUGH
    rate = total[:, found.signal, 0] / np.maximum(1.0, total[..., 0].sum(axis=1))
    earned = total[..., 2].sum(axis=1) / np.maximum(1.0, total[..., 1].sum(axis=1))
    most = int(np.where(judged, rate, -1.0).argmax())
    least = int(np.where(judged, earned, np.inf).argmin())
    if found.action != most or found.action != least:
        return ""
    action, signal = copy.config.actions[found.action], copy.config.signals[found.signal]
    return f"{action!r} has {signal!r} most often and the fewest {copy.reward_word}: "


def _compared(copy: CampaignCopy) -> str:
    """Return how the action that the evidence is most about differs from others."""
    config, found = copy.config, copy.judgement
    own, others = rates(copy, found.action, found.signal)
    fewer = "fewer" if own < others else "more"
    return (
        f"{config.signals[found.signal]!r} of {config.actions[found.action]!r} is followed by "
        f"{fewer} {copy.reward_word} than that of others ({_rate(copy, own)}, others "
        f"{_rate(copy, others)})"
    )


def policy_reaction(copy: CampaignCopy) -> str:
    """Return what the policy of a campaign does about a misleading signal."""
    if copy.blind:
        return "The policy goes by rewards alone, so it is not misled."
    if hasattr(copy.state, "residual"):
        return "The policy corrects the values of actions by their own rewards."
    return "The policy goes on trusting the signal: change it to nsd-adaptive."


def rates(copy: CampaignCopy, action: int, signal: int) -> tuple[float, float]:
    """Return the mean reward after a signal, of an action and of all others."""
    cells = copy.counters.total[:, signal].astype(np.float64)
    own, others = cells[action], cells.sum(axis=0) - cells[action]
    mean, other = (
        natural_reward(copy.config, one[2] / GRAIN / max(1.0, one[1])) for one in (own, others)
    )
    return float(mean), float(other)


def _all_or_nothing(copy: CampaignCopy) -> bool:
    """Return whether every reward so far is 0 or 1, so that their mean is how often one came."""
    same = copy.counters.grains.sum() == copy.counters.squares.sum()
    return copy.config.reward_range == (0.0, 1.0) and bool(same)


def _rate(copy: CampaignCopy, mean: float) -> str:
    return percent(mean) if _all_or_nothing(copy) else f"{mean:.3f}"


def _points(difference: float) -> str:
    """Return a difference of shares in points: whole ones, below 10 with one decimal."""
    points = 100.0 * difference
    return f"{points:.1f}" if points < 10.0 else f"{points:.0f}"
