"""The capabilities of a policy, found out by trying it: what it ignores and what it can undo."""

from __future__ import annotations

from typing import NamedTuple

from foretell.policies.registry import entry, start
from foretell.policies.spec import Spec
from foretell.policies.state import fingerprint
from foretell.policies.verbs import has, observe, play, uncredit, unobserve
from foretell.service.model.events import CampaignConfig
from foretell.types import Problem


class Capabilities(NamedTuple):
    """What a policy can do with feedback."""

    blind: bool
    """Whether it ignores signals."""
    undoes_rewards: bool
    """Whether it can take back a reward."""
    undoes: bool
    """Whether it can take back everything, and reads in any order."""


def capabilities_of(spec: Spec, problem: Problem) -> Capabilities:
    """Find out by trying the policy on a state without any feedback."""
    state = start(spec, problem)
    undoes_rewards = has(uncredit, state)
    undoes = undoes_rewards and has(unobserve, state) and not entry(spec).stream
    play(state, 0, 0)
    before = fingerprint(state)
    observe(state, 0, 0, 1)
    return Capabilities(fingerprint(state) == before, undoes_rewards, undoes)


def campaign_problem(config: CampaignConfig) -> Problem:
    """Return the problem that a campaign's policy solves."""
    return Problem(len(config.actions), len(config.signals))
