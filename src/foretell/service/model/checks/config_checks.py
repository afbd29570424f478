"""What a campaign's configuration must be: everything that is wrong with one, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise

import msgspec

from foretell.errors import InvalidInput, UnknownName
from foretell.policies.registry import start
from foretell.policies.spec import Spec
from foretell.protocol import FieldError
from foretell.protocol.fields import MAX_ACTIONS, MAX_SIGNALS
from foretell.service.model.checks.silence_checks import correction_errors
from foretell.service.model.checks.validation import refuse
from foretell.service.model.delivered import campaign_problem
from foretell.service.model.events import CampaignConfig
from foretell.service.model.live_policies import campaign_spec, learns_theta, live_spec
from foretell.types import RewardScale

SILENT = "none"
"""The signal that silence becomes."""
MAX_REWARD = 1e100
"""The largest reward: so many of them that a sum has no number never come."""


def checked(config: CampaignConfig, wrong: Iterable[FieldError] = ()) -> CampaignConfig:
    """Refuse a configuration that cannot run, with everything that is wrong with it.

    Returns it with the policy written in full.
    """
    numbers = [*_number_errors(config), *_value_errors(config), *correction_errors(config)]
    spec, unusable = _policy_errors(config, declared=not numbers)
    errors = [*wrong, *_name_errors(config), *unusable, *numbers]
    if errors or spec is None:
        refuse(errors)
    return msgspec.structs.replace(config, policy=str(spec))


def _policy_errors(
    config: CampaignConfig, *, declared: bool
) -> tuple[Spec | None, list[FieldError]]:
    """Try the policy, and where they are sound also what the campaign declares to it."""
    try:
        spec = live_spec(config)
        if declared:
            start(campaign_spec(config), campaign_problem(config))
    except (InvalidInput, UnknownName) as error:
        return None, [FieldError("policy", f"policy {config.policy[:60]!r} cannot run: {error}")]
    return spec, []


def _name_errors(config: CampaignConfig) -> Iterator[FieldError]:
    for kind, names, limit in (
        ("action", config.actions, MAX_ACTIONS),
        ("signal", config.signals, MAX_SIGNALS),
    ):
        field = f"{kind}s"
        if len(names) > limit:
            yield FieldError(
                field, f"a campaign may have {limit} {field} at most, got {len(names)}: use fewer"
            )
        twice = [name for name, times in Counter(names).items() if times > 1]
        if kind == "signal":
            twice = [name for name in twice if name != SILENT]  # which is said below
        if twice:
            yield FieldError(
                field,
                f"each of the {field} needs a name of its own, got {twice[0]!r} twice: rename one",
            )
    if not config.reward_name.isprintable():
        yield FieldError(
            "reward_name",
            f"reward_name must be printable, as it stands in sentences, got "
            f"{config.reward_name!r}: leave out line ends and other control characters",
        )
    if SILENT in config.signals[1:]:
        before = config.signals[config.signals.index(SILENT, 1) - 1]
        yield FieldError(
            "signals",
            f"signals are listed weakest first, and {SILENT!r} is the weakest, got it after "
            f"{before!r}: put it first",
        )
    if config.signal_stage.silence == "default" and config.signals[0] != SILENT:
        yield FieldError(
            "signals",
            f"silence can become a signal only where {SILENT!r} is the first of the signals, "
            f"got {list(config.signals)}: make another campaign",
        )


def _value_errors(config: CampaignConfig) -> Iterator[FieldError]:
    """Yield what is wrong with the values that are declared of signals."""
    low, high = config.reward_range
    for signal, value in config.signal_values.items():
        if signal not in config.signals:
            unknown = UnknownName.of("signal", signal, config.signals)
            yield FieldError("signal_values", f"signal_values cannot be used: {unknown}")
        elif not low <= value <= high:
            yield FieldError(
                "signal_values",
                f"signal_values must lie in the reward_range [{low:g}, {high:g}], got {value:g} "
                f"for {signal!r}: change one of them",
            )
    known = [name for name in config.signals if name in config.signal_values]
    for weak, strong in pairwise(known if config.signals_ordered else []):
        if config.signal_values[weak] > config.signal_values[strong]:
            yield FieldError(
                "signal_values",
                f"signal_values must not fall where signals are ordered, weakest first, got "
                f"{config.signal_values[weak]:g} for {weak!r} and "
                f"{config.signal_values[strong]:g} for {strong!r}: change them, or set "
                f"signals_ordered to false",
            )
    if config.signal_values and not learns_theta(config):
        yield FieldError(
            "signal_values",
            f"signal_values mean nothing to {config.policy[:60]!r}, which does not learn what "
            f"follows on a signal: leave them out, or choose another policy",
        )


def _number_errors(config: CampaignConfig) -> Iterator[FieldError]:
    low, high = config.reward_range
    default = config.reward_stage.default
    try:
        RewardScale("bounded", low, high)
    except InvalidInput as error:
        yield FieldError("reward_range", f"reward_range cannot be used: {error}")
    else:
        if max(-low, high) > MAX_REWARD:
            yield FieldError(
                "reward_range",
                f"reward_range must lie within {-MAX_REWARD:g} and {MAX_REWARD:g}, got "
                f"[{low:g}, {high:g}]: give what rewards really are",
            )
        if not low <= default <= high:
            yield FieldError(
                "default_reward",
                f"default_reward must lie in the reward_range [{low}, {high}], got {default}: "
                f"change one of them",
            )
    signal, reward = config.signal_stage.window, config.reward_stage.window
    if reward < signal:
        yield FieldError(
            "reward_window",
            f"reward_window must be at least the signal_window, as a reward waits for its signal, "
            f"got {reward:.15g} s and {signal:.15g} s: change one of them",
        )
    if config.explore + config.holdout > 1:
        yield FieldError(
            "explore",
            f"explore and holdout must be at most 1 together, got {config.explore:g} and "
            f"{config.holdout:g}: lower one of them",
        )
