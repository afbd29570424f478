"""The policies that a campaign can have."""

from __future__ import annotations

import dataclasses
import re

import msgspec

from foretell.errors import InvalidInput, UnknownName
from foretell.policies.censored_spec import CensoredSpec
from foretell.policies.registry import policy, registered_policies, start
from foretell.policies.spec import Spec
from foretell.policies.theta_spec import ThetaSpec, declare
from foretell.service.model.events import CampaignConfig
from foretell.types import Problem, RewardScale

TICKS = 1000.0
"""Ticks of a second, in which policies count time."""
MAX_WINDOW_ROUNDS = 10_000_000
"""Rounds that a policy's window may have in the service: each takes memory."""


def live_policies() -> list[str]:
    """Return the policies that a campaign can have: all but those that only a simulation can feed.

    >>> "nsd-adaptive" in live_policies(), "oracle-ucb" in live_policies()
    (True, False)
    """
    return [name for name, known in registered_policies().items() if not known.lab_only]


def correcting_policies() -> list[str]:
    """Return the live policies that can correct for the silence of rewards.

    >>> correcting_policies()
    ['nsd-adaptive', 'nsd-psrl', 'nsd-psrl-cp']
    """
    return [
        name
        for name in live_policies()
        if issubclass(registered_policies()[name].spec, CensoredSpec)
    ]


def live_spec(config: CampaignConfig) -> Spec:
    """Read a policy, and try whether it can begin."""
    name = config.policy.partition("(")[0].strip()
    if re.fullmatch("[A-Za-z0-9_-]+", name) and name not in live_policies():
        raise UnknownName.of("policy", name, live_policies(), "that runs live")
    spec = policy(config.policy)
    window = getattr(spec, "window", None)
    if window is not None and window > MAX_WINDOW_ROUNDS:
        raise InvalidInput(
            f"a window may have {MAX_WINDOW_ROUNDS} rounds at most here, got {window}: "
            f"take a smaller one, or none"
        )
    if isinstance(spec, CensoredSpec) and spec.censored:
        raise InvalidInput(
            "a campaign says itself whether rewards are censored, got censored=True: "
            "leave it out, and set reward_silence to 'corrected' and a typical_delay"
        )
    start(spec, Problem(len(config.actions), len(config.signals)))
    return spec


def learns_theta(config: CampaignConfig) -> bool:
    """Return whether a policy learns theta; one that cannot be read is not said to be wrong here.

    Only what learns the mean reward of a signal can be given one beforehand.
    """
    known = registered_policies().get(config.policy.partition("(")[0].strip())
    return known is None or issubclass(known.spec, ThetaSpec)


def campaign_spec(config: CampaignConfig) -> Spec:
    """Return the policy of a campaign, with what the campaign declares about signals and rewards.

    What the text of the policy declares itself stays.
    """
    scale = RewardScale("bounded", *config.reward_range)
    values = config.signal_values
    spec = declare(
        policy(config.policy),
        ordered=config.signals_ordered,
        values=tuple(
            scale.unit(values[signal]) if signal in values else None for signal in config.signals
        ),
        weight=config.signal_values_weight,
    )
    if config.reward_stage.silence != "corrected" or not isinstance(spec, CensoredSpec):
        return spec
    return dataclasses.replace(spec, censored=True, typical_delay=_typical_ticks(config))


def _typical_ticks(config: CampaignConfig) -> float | tuple[float, ...] | None:
    declared = config.typical_delay
    if isinstance(declared, dict):
        return tuple(declared[signal] * TICKS for signal in config.signals)
    return None if declared is None else declared * TICKS


def spec_in_place(config: CampaignConfig, other: str) -> Spec:
    """Return another policy as the campaign would have it, in place of its own."""
    replaced = msgspec.structs.replace(config, policy=other)
    live_spec(replaced)
    return campaign_spec(replaced)
