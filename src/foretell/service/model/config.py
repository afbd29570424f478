"""The rules of a campaign's configuration: how it is created, changed and refused.

The struct itself is in `events`: it is a part of the records that set it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
from msgspec import UNSET

from foretell.errors import InvalidInput, UnknownName
from foretell.policies.registry import entry, policy, start
from foretell.protocol import ActionPatch, CampaignPatch, NewCampaign
from foretell.protocol.fields import MAX_ACTIONS, MAX_SIGNALS
from foretell.service.model.errors import Conflict, NotFound
from foretell.service.model.events import CampaignConfig, KeptWindows, Stage
from foretell.service.model.outcome import WINDOW_GRID
from foretell.types import Problem, RewardScale

SILENT = "none"
"""The signal that silence becomes."""
MAX_WINDOW_ROUNDS = 10_000_000
"""Rounds that a policy's window may have in the service: each takes memory."""

STAGE_FIELDS = {
    "signal_window": (0, "window"),
    "signal_silence": (0, "silence"),
    "reward_window": (-1, "window"),
    "reward_silence": (-1, "silence"),
    "default_reward": (-1, "default"),
}
"""The fields of requests and answers that describe a stage: which stage, and what of it."""
REFIT_FIELDS = ("policy", "reward_range", *STAGE_FIELDS)
"""A change of one of these needs a refit."""


def field_of(config: CampaignConfig, name: str) -> Any:
    """Return a field of a configuration under the name that requests and answers have for it."""
    if name in STAGE_FIELDS:
        stage, field = STAGE_FIELDS[name]
        return getattr(config.stages[stage], field)
    return getattr(config, name)


def _with_fields(config: CampaignConfig, fields: dict[str, Any]) -> CampaignConfig:
    """Return a configuration with other values of fields, under the same names."""
    stages = list(config.stages)
    own = {}
    for name, value in fields.items():
        if name in STAGE_FIELDS:
            stage, field = STAGE_FIELDS[name]
            stages[stage] = msgspec.structs.replace(stages[stage], **{field: value})
        else:
            own[name] = value
    return msgspec.structs.replace(config, stages=tuple(stages), **own)


def new_config(new: NewCampaign, seed: int) -> CampaignConfig:
    """Return the configuration of a new campaign, or refuse it."""
    return checked(
        CampaignConfig(
            name=new.name,
            status=new.status,
            actions=tuple(new.actions),
            action_status=tuple("active" for _ in new.actions),
            signals=_with_silence(new.signals, new.signal_silence),
            policy=new.policy,
            stages=(
                Stage("signal", new.signal_window, new.signal_silence, 0.0),
                Stage("reward", new.reward_window, new.reward_silence, new.default_reward),
            ),
            reward_range=new.reward_range,
            explore=new.explore,
            holdout=new.holdout,
            sticky=new.sticky,
            seed=seed,
        )
    )


def patched(config: CampaignConfig, patch: CampaignPatch) -> tuple[CampaignConfig, list[str]]:
    """Return a changed configuration, and the changed fields that need a refit."""
    asked = {
        name: value
        for name in patch.__struct_fields__
        if (value := getattr(patch, name)) is not UNSET
    }
    if "signals" in asked:
        wanted = _with_silence(
            asked["signals"], asked.get("signal_silence", config.signal_stage.silence)
        )
        if wanted[: len(config.signals)] != config.signals:
            raise InvalidInput(
                f"signals are only added, after those there are {list(config.signals)}, "
                f"got {list(wanted)}: keep them and add at the end"
            )
        asked["signals"] = wanted
    changed = checked(_with_fields(config, asked))
    refit = [name for name in REFIT_FIELDS if field_of(changed, name) != field_of(config, name)]
    return changed, refit


def with_closed_windows(old: CampaignConfig, new: CampaignConfig, now: int) -> CampaignConfig:
    """Return the configuration; when windows grow, those already closed stay closed."""
    stages = (
        msgspec.structs.replace(after, kept_windows=_kept_windows(before, after, now))
        for before, after in zip(old.stages, new.stages, strict=True)
    )
    return msgspec.structs.replace(new, stages=tuple(stages))


def _kept_windows(old: Stage, new: Stage, now: int) -> KeptWindows:
    if {old.silence, new.silence} != {"default"}:
        return ()  # silence was not an outcome, or is not any more
    last = now // WINDOW_GRID * WINDOW_GRID - round(old.window * 1e6)
    kept = (*old.kept_windows, (last, old.window))
    return tuple((upto, window) for upto, window in kept if window < new.window)


def with_action(config: CampaignConfig, action: str) -> CampaignConfig:
    """Return the configuration with another action; a name is never used twice."""
    if action in config.actions:
        raise Conflict(
            f"there is an action {action!r} already, and names are never reused: choose another"
        )
    return checked(
        msgspec.structs.replace(
            config,
            actions=(*config.actions, action),
            action_status=(*config.action_status, "active"),
        )
    )


def with_action_status(config: CampaignConfig, action: str, patch: ActionPatch) -> CampaignConfig:
    """Return the configuration with an action paused, resumed or retired."""
    if action not in config.actions:
        raise NotFound(str(UnknownName.of("action", action, config.actions)))
    index = config.actions.index(action)
    if config.action_status[index] == "retired" and patch.status != "retired":
        raise Conflict(f"the action {action!r} is retired, for good: add another")
    action_status = list(config.action_status)
    action_status[index] = patch.status
    return msgspec.structs.replace(config, action_status=tuple(action_status))


def checked(config: CampaignConfig) -> CampaignConfig:
    """Refuse a configuration that cannot run; return it with the policy written in full."""
    for kind, names, limit in (
        ("action", config.actions, MAX_ACTIONS),
        ("signal", config.signals, MAX_SIGNALS),
    ):
        if len(names) > limit:
            raise InvalidInput(f"a campaign may have {limit} {kind}s at most, got {len(names)}")
        twice = [name for name, times in Counter(names).items() if times > 1]
        if twice:
            raise InvalidInput(f"each {kind} needs a name of its own, got {twice[0]!r} twice")
    if config.signal_stage.silence == "default" and config.signals[0] != SILENT:
        raise InvalidInput(
            f"silence can become a signal only where {SILENT!r} is the first of them, "
            f"got {list(config.signals)}: make another campaign"
        )
    spec = policy(config.policy)
    if entry(spec).lab_only:
        raise InvalidInput(
            f"{spec.name} needs what nobody knows outside a simulation: choose another policy"
        )
    window = getattr(spec, "window", None)
    if window is not None and window > MAX_WINDOW_ROUNDS:
        raise InvalidInput(
            f"a window may have {MAX_WINDOW_ROUNDS} rounds at most here, got {window}: "
            f"take a smaller one, or none"
        )
    low, high = config.reward_range
    RewardScale("bounded", low, high)
    default_reward = config.reward_stage.default
    if not low <= default_reward <= high:
        raise InvalidInput(
            f"default_reward must lie in the reward_range [{low}, {high}], "
            f"got {default_reward}: change one of them"
        )
    start(spec, Problem(len(config.actions), len(config.signals)))
    return msgspec.structs.replace(config, policy=str(spec))


def _with_silence(signals: list[str], silence: str) -> tuple[str, ...]:
    """Put the silent signal first, where silence is an outcome."""
    if SILENT in signals[1:]:
        raise InvalidInput(
            f"signals are listed weakest first, and {SILENT!r} is the weakest: put it first"
        )
    if silence == "default" and signals[0] != SILENT:
        return (SILENT, *signals)
    return tuple(signals)
