"""What was delivered of a decision to a policy that cannot undo: each thing once.

It reads signals in the order of decisions. Where silence is an outcome, the strongest signal is
delivered when the window closes, else the first signal that comes; and the outcome at the last
refit stays delivered. Of a decision that was voided in time nothing is delivered; what was
delivered before stays, until the next refit.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from foretell.policies.capabilities import learns_from_signals
from foretell.policies.registry import entry, start
from foretell.policies.spec import Spec
from foretell.policies.verbs import has, uncredit, unobserve
from foretell.service.model.counters import Counted
from foretell.service.model.events import CampaignConfig, moment
from foretell.service.model.open_reward import OpenReward
from foretell.service.model.outcome import Outcome
from foretell.service.model.running import LastRefit, Running
from foretell.types import Problem


class Capabilities(NamedTuple):
    """What a policy can do with feedback."""

    blind: bool
    """Whether it ignores signals."""
    undoes_rewards: bool
    """Whether it can take back a reward."""
    undoes: bool
    """Whether it can take back everything, and reads in any order."""


class View(NamedTuple):
    """One decision as it is now."""

    outcome: Outcome
    delivered: Outcome
    """What the policy knows of it."""
    unread: int
    """1 if that is not the outcome, and only a refit will change it."""
    counted: Counted
    open_reward: OpenReward | None
    """What the policy knows of a reward that may still come, where it corrects for silence."""


def capabilities_of(spec: Spec, problem: Problem) -> Capabilities:
    """Find out by trying the policy on a state without any feedback; two actions are enough."""
    problem = dataclasses.replace(problem, actions=min(problem.actions, 2))
    state = start(spec, problem)
    undoes_rewards = has(uncredit, state)
    undoes = undoes_rewards and has(unobserve, state) and not entry(spec).stream
    return Capabilities(not learns_from_signals(spec, problem), undoes_rewards, undoes)


def campaign_problem(config: CampaignConfig) -> Problem:
    """Return the problem that a campaign's policy solves."""
    return Problem(len(config.actions), len(config.signals))


def delivered_once(
    running: Running,
    refit: LastRefit,
    undoes_rewards: bool,  # noqa: FBT001  (what the policy can do, not how it is asked)
    *,
    read: bool,
    closed: bool,
) -> Outcome:
    """Return the outcome that was delivered.

    `read` is whether the turn of the signal has come, `closed` whether that of the reward has.
    """
    rules = running.rules
    nothing: Outcome = (None,) * len(rules.stages)
    known = nothing
    if running.void_at is not None and running.void_at < moment(refit.position):
        return nothing
    if running.rank < refit.rounds:
        known = running.outcome_at_refit(refit)
    elif read and not running.void_in_time:
        known = _signal_in_turn(running), None
    signal, reward = known[0], known[-1]
    if signal is None:
        return nothing
    if rules.stages[-1].waits and not closed:
        return signal, None
    if undoes_rewards:
        return signal, None if running.void else _reward_now(running)
    return signal, _reward_in_turn(running, refit) if reward is None else reward


def _signal_in_turn(running: Running) -> float | None:
    seen, rule = running.signals[0], running.rules.stages[0]
    if not rule.waits:
        return seen.first
    return int(rule.default) if seen.timely is None else seen.timely


def _reward_now(running: Running) -> float | None:
    rule, total = running.rules.stages[-1], running.reward.total
    return rule.default if total is None and rule.waits else total


def _reward_in_turn(running: Running, refit: LastRefit) -> float | None:
    """Return the reward of a decision when it first had one, since the refit that read it."""
    rule = running.rules.stages[-1]
    if not rule.waits:
        return running.first_total if running.was_refit or running.rank >= refit.rounds else None
    if running.void_at is not None and running.void_at < running.dues[-1]:
        return None
    total = running.reward.total if running.timely_total is None else running.timely_total[0]
    return rule.default if total is None else total


def unread(delivered: Outcome, outcome: Outcome, *, passed: bool) -> int:
    """Return 1 if the policy knows another outcome of a decision than the present one, else 0."""
    missed = passed and delivered[0] is None and outcome[0] is not None
    revised = delivered[0] is not None and delivered[0] != outcome[0]
    repaid = delivered[-1] is not None and delivered[-1] != outcome[-1]
    return int(missed or revised or repaid)


def was_read(running: Running, delivered: Outcome) -> bool:
    """Return whether a stream has read the signal of a decision that is void now, or will."""
    return not running.void_in_time or delivered[0] is not None
