"""What a campaign must declare so that its policy can correct for the silence of rewards."""

from __future__ import annotations

from collections.abc import Iterator

from foretell.protocol import FieldError
from foretell.service.model.events import CampaignConfig
from foretell.service.model.live_policies import correcting_policies, live_policies

FAR_BEYOND = 10
"""Reward windows that no mean delay has: one of the two is in another unit."""


def correction_errors(config: CampaignConfig) -> Iterator[FieldError]:
    """Return what is wrong with a campaign that wants to correct for silence; nothing for others.

    A typical delay that nobody uses is kept: silence may be corrected for later.
    """
    if config.reward_stage.silence != "corrected":
        return
    name = config.policy.partition("(")[0].strip()
    if name in live_policies() and name not in correcting_policies():
        yield FieldError(
            "reward_silence",
            f"{name} cannot correct for the silence of rewards: set reward_silence to "
            f"'default', or take one of {', '.join(correcting_policies())}",
        )
    low, default = config.reward_range[0], config.reward_stage.default
    if default != low:
        yield FieldError(
            "default_reward",
            f"default_reward must be the lowest reward where reward_silence is 'corrected', as "
            f"only more than that is reported, got {default:g} in the reward_range from {low:g}: "
            f"change one of them",
        )
    yield from _delay_errors(config)


def _delay_errors(config: CampaignConfig) -> Iterator[FieldError]:
    typical = config.typical_delay
    if typical is None:
        yield FieldError(
            "typical_delay",
            "reward_silence 'corrected' needs a typical_delay, the mean delay of a reward in "
            "seconds, got none: give one number, or one for each signal by its name",
        )
    elif isinstance(typical, dict) and set(typical) != set(config.signals):
        yield FieldError(
            "typical_delay",
            f"typical_delay must be one number, or one for each of the signals "
            f"{list(config.signals)}, got {list(typical)}: give all of them and no other",
        )
    else:
        window = config.reward_stage.window
        longest = max(typical.values()) if isinstance(typical, dict) else typical
        if longest > FAR_BEYOND * window:
            yield FieldError(
                "typical_delay",
                f"typical_delay must be less than {FAR_BEYOND} times the reward_window of "
                f"{window:g} seconds, got {longest:g}: both are in seconds, and rewards that take "
                f"so long would all be late",
            )
