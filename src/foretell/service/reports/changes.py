"""Changes: when the signals of an action changed, how sure that is, and what the policy did."""

from __future__ import annotations

from typing import NamedTuple

from foretell import protocol
from foretell.protocol.fields import SILENT
from foretell.service.model.events import CampaignConfig
from foretell.service.model.stretches import DECISIONS, Stretches
from foretell.service.model.timestamps import format_timestamp
from foretell.service.reports.campaign_copy import CampaignCopy
from foretell.service.reports.reactions import Memory, Reaction, memory_of, reaction
from foretell.service.reports.signals import signal_rates
from foretell.service.reports.words import chance, day_and_time, percent
from foretell.stats.change_points import Change
from foretell.types import Ints

_UNKNOWN = protocol.PolicyReaction(followed=None, since=None, sure=None)


class _Found(NamedTuple):
    """A change of one action's signals, between two parts of its counts."""

    action: int
    change: Change
    before: Ints
    after: Ints


def signal_changes(copy: CampaignCopy) -> protocol.SignalChanges:
    """Return the moments at which the signals of an action changed, in the order of time."""
    config, stretches, now = copy.config, copy.counters.stretches, copy.as_of
    memory = memory_of(copy)
    found = []
    for action, changes in enumerate(copy.changes):
        counts = stretches.cells[: len(stretches), action, :, 0]
        edges = [0, *(change.stretch for change in changes), len(counts)]
        for number, change in enumerate(changes):
            before = counts[edges[number] : change.stretch].sum(axis=0)
            after = counts[change.stretch : edges[number + 2]].sum(axis=0)
            found.append(_Found(action, change, before, after))
    found.sort(key=lambda one: (one.change.stretch, one.action))
    views = [_view(config, stretches, memory, one, now) for one in found]
    return protocol.SignalChanges(
        config.name, format_timestamp(now), _summary(views, stretches), views
    )


def _view(
    config: CampaignConfig, stretches: Stretches, memory: Memory | None, found: _Found, now: int
) -> protocol.SignalChange:
    change, action = found.change, config.actions[found.action]
    before, after = signal_rates(config, found.before), signal_rates(config, found.after)
    probability = change.probability(len(config.actions))
    policy, did = _policy(config, stretches, memory, found, now)
    spoken = [name for name in before if name != SILENT] or list(before)
    moved = max(spoken, key=lambda name: abs(after[name] - before[name]))
    about = day_and_time(stretches.begin(change.stretch), now)
    sentence = (
        f"The signals of {action} changed about {about} "
        f"({chance(probability)} sure): {moved} went from {percent(before[moved])} to "
        f"{percent(after[moved])}. {did}"
    )
    return protocol.SignalChange(
        action=action,
        at=format_timestamp(stretches.begin(change.stretch)),
        earliest=format_timestamp(stretches.begin(change.earliest)),
        latest=format_timestamp(stretches.begin(change.latest)),
        probability=probability,
        log_evidence=change.log_evidence,
        before=before,
        after=after,
        policy=policy,
        sentence=sentence,
    )


def _policy(
    config: CampaignConfig, stretches: Stretches, memory: Memory | None, found: _Found, now: int
) -> tuple[protocol.PolicyReaction, str]:
    """Return what the policy did about a change, and that in words."""
    name = config.policy.partition("(")[0]
    if memory is None:
        return protocol.PolicyReaction(
            None, None, None
        ), f"{name} does not tell what it made of it."
    rounds = stretches.traffic[..., DECISIONS].sum(axis=(1, 2)).cumsum()
    earliest = found.change.earliest
    seen: Reaction = reaction(memory, found.action, int(rounds[earliest - 1]) if earliest else 0)
    sure = seen.weight if memory.gradual else None
    if not seen.followed:
        return (
            protocol.PolicyReaction(followed=False, since=None, sure=sure),
            f"{name} has not followed: it still counts signals from before.",
        )
    since = _time_of_round(stretches, rounds, seen.round)
    return (
        protocol.PolicyReaction(followed=True, since=format_timestamp(since), sure=sure),
        f"{name} has followed: it counts them from about {day_and_time(since, now)} on.",
    )


def _time_of_round(stretches: Stretches, rounds: Ints, number: int) -> int:
    """Return about when a decision was made; `rounds` are the decisions by the end of stretches."""
    stretch = min(int((rounds <= number).sum()), len(stretches) - 1)
    before = int(rounds[stretch - 1]) if stretch else 0
    share = (number - before) / max(1, int(rounds[stretch]) - before)
    at = stretches.begin(stretch) + int(min(1.0, share) * stretches.length)
    return min(max(at, stretches.first), stretches.last)


def _summary(views: list[protocol.SignalChange], stretches: Stretches) -> str:
    if not len(stretches):
        return "Nothing has been decided yet."
    if not stretches.cells[..., 0].any():
        return "It is too early to say: no signal is settled yet."
    if not views:
        return "No change was found: as far as can be seen, every action has the signals it had."
    latest = views[-1].sentence
    if len(views) == 1:
        return f"One change was found. {latest}"
    return f"{len(views)} changes were found. The latest: {latest[:1].lower()}{latest[1:]}"
