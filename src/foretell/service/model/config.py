"""The rules of a campaign's configuration: how it is created, changed and refused.

The struct itself is in `events`: it is a part of the records that set it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from foretell.errors import InvalidInput, UnknownName
from foretell.policies.registry import policy, registered_policies, start
from foretell.policies.spec import Spec
from foretell.protocol import ActionPatch, CampaignPatch, FieldError, NewCampaign
from foretell.protocol.fields import MAX_ACTIONS, MAX_SIGNALS
from foretell.service.model.errors import Conflict, NotFound, Unusable
from foretell.service.model.events import CampaignConfig, KeptWindows, Stage
from foretell.service.model.outcome import WINDOW_GRID
from foretell.service.model.validation import refuse, rules_of
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
MAX_REWARD = 1e100
"""The largest reward: so many of them that a sum has no number never come."""
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


def refuse_stopped(config: CampaignConfig) -> None:
    """Refuse to change a campaign that is stopped."""
    if config.status == "stopped":
        raise Conflict(
            f"the campaign {config.name!r} is stopped, for good, and is not changed any more: "
            f"make another"
        )


def why_not_deciding(config: CampaignConfig) -> str:
    """Return why a campaign that does not run decides nothing, and what to do."""
    if config.status == "stopped":
        return f"the campaign {config.name!r} is stopped, for good: make another to decide"
    status = "a draft" if config.status == "draft" else config.status
    return f"the campaign {config.name!r} is {status}: start it to decide"


def patched(config: CampaignConfig, patch: CampaignPatch) -> tuple[CampaignConfig, list[str]]:
    """Return a changed configuration, and the changed fields that need a refit."""
    refuse_stopped(config)
    asked = {
        name: value
        for name in patch.__struct_fields__
        if (value := getattr(patch, name)) is not UNSET
    }
    wrong = []
    if "signals" in asked:
        wanted = _with_silence(
            asked.pop("signals"), asked.get("signal_silence", config.signal_stage.silence)
        )
        if wanted[: len(config.signals)] == config.signals:
            asked["signals"] = wanted
        else:
            said = (
                f"signals are only added, after those there are {list(config.signals)}, "
                f"got {list(wanted)}: keep them and add at the end"
            )
            wrong.append(FieldError("signals", said))
    changed = checked(_with_fields(config, asked), wrong)
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
    refuse_stopped(config)
    if action in config.actions:
        raise Conflict(
            f"there is an action {action!r} already, and names are never reused: choose another",
            field="action",
        )
    return checked(
        msgspec.structs.replace(
            config,
            actions=(*config.actions, action),
            action_status=(*config.action_status, "active"),
        )
    )


def with_action_status(config: CampaignConfig, action: str, patch: ActionPatch) -> CampaignConfig:
    """Return the configuration with an action paused, resumed or retired.

    A campaign keeps at least one action that is not retired.
    """
    refuse_stopped(config)
    if action not in config.actions:
        raise NotFound(str(UnknownName.of("action", action, config.actions)))
    index = config.actions.index(action)
    if config.action_status[index] == "retired" and patch.status != "retired":
        raise Conflict(
            f"the action {action!r} is retired, for good, and cannot be {patch.status}: "
            f"add another",
            field="status",
        )
    action_status = list(config.action_status)
    action_status[index] = patch.status
    if set(action_status) == {"retired"}:
        raise Conflict(
            f"the action {action!r} is the last one that is not retired: add another one first, "
            f"or stop the campaign",
            field="status",
        )
    return msgspec.structs.replace(config, action_status=tuple(action_status))


def checked(config: CampaignConfig, wrong: Iterable[FieldError] = ()) -> CampaignConfig:
    """Refuse a configuration that cannot run, with everything that is wrong with it.

    Returns it with the policy written in full.
    """
    spec, unusable = _policy_errors(config)
    errors = [*wrong, *_name_errors(config), *unusable, *_number_errors(config)]
    if errors or spec is None:
        refuse(errors)
    return msgspec.structs.replace(config, policy=str(spec))


@rules_of(NewCampaign)
def _errors_of_new(sound: dict[str, Any]) -> list[FieldError]:
    """Return what is wrong with those fields of a new campaign that are of the right types."""
    others = {"name": "new", "actions": ["a", "b"], "signals": [SILENT]}
    try:
        new_config(msgspec.convert(others | sound, NewCampaign), 0)
    except Unusable as error:
        return error.errors
    return []


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
        if twice and (kind, twice[0]) != ("signal", SILENT):
            yield FieldError(
                field,
                f"each of the {field} needs a name of its own, got {twice[0]!r} twice: rename one",
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


def live_policies() -> list[str]:
    """Return the policies that a campaign can have: all but those that only a simulation can feed.

    >>> "nsd-adaptive" in live_policies(), "oracle-ucb" in live_policies()
    (True, False)
    """
    return [name for name, known in registered_policies().items() if not known.lab_only]


def _policy_errors(config: CampaignConfig) -> tuple[Spec | None, list[FieldError]]:
    try:
        return _live_spec(config), []
    except (InvalidInput, UnknownName) as error:
        return None, [FieldError("policy", f"policy {config.policy[:60]!r} cannot run: {error}")]


def _live_spec(config: CampaignConfig) -> Spec:
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
    start(spec, Problem(len(config.actions), len(config.signals)))
    return spec


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


def _with_silence(signals: list[str], silence: str) -> tuple[str, ...]:
    """Put the silent signal first, where silence is an outcome."""
    if silence == "default" and signals[0] != SILENT:
        return (SILENT, *signals)
    return tuple(signals)
