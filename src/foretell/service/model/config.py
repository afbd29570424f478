"""The rules of a campaign's configuration: how it is created and changed.

The struct itself is in `events`: it is a part of the records that set it.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from foretell.protocol import CampaignPatch, FieldError, NewCampaign
from foretell.service.model.checks.config_checks import SILENT, checked
from foretell.service.model.checks.validation import rules_of
from foretell.service.model.errors import Conflict, Unusable
from foretell.service.model.events import CampaignConfig, Stage
from foretell.service.model.stage_fields import STAGE_FIELDS, field_of, with_fields

REFIT_FIELDS = (
    "policy",
    "reward_range",
    "typical_delay",
    "signals_ordered",
    "signal_values",
    "signal_values_weight",
    *STAGE_FIELDS,
)
"""A change of one of these needs a refit."""


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
            signals_ordered=new.signals_ordered,
            signal_values=new.signal_values,
            signal_values_weight=new.signal_values_weight,
            reward_name=new.reward_name,
            typical_delay=new.typical_delay,
        )
    )


def refuse_stopped(config: CampaignConfig) -> None:
    """Refuse to change a campaign that is stopped."""
    if config.ended:
        raise Conflict(
            f"the campaign {config.name!r} is stopped, for good, and is not changed any more: "
            f"make another"
        )


def why_not_deciding(config: CampaignConfig) -> str:
    """Return why a campaign that does not run decides nothing, and what to do."""
    if config.ended:
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
            asked.pop("signals"), asked.get("signal_silence", config.signal_silence)
        )
        if wanted[: len(config.signals)] == config.signals:
            asked["signals"] = wanted
        else:
            said = (
                f"signals are only added, after those there are {list(config.signals)}, "
                f"got {list(wanted)}: keep them and add at the end"
            )
            wrong.append(FieldError("signals", said))
    changed = checked(with_fields(config, asked), wrong)
    refit = [name for name in REFIT_FIELDS if field_of(changed, name) != field_of(config, name)]
    return changed, refit


@rules_of(NewCampaign)
def _errors_of_new(sound: dict[str, Any]) -> list[FieldError]:
    """Return what is wrong with those fields of a new campaign that are of the right types."""
    others = {"name": "new", "actions": ["a", "b"], "signals": [SILENT]}
    try:
        new_config(msgspec.convert(others | sound, NewCampaign), 0)
    except Unusable as error:
        return error.errors
    return []


def _with_silence(signals: list[str], silence: str) -> tuple[str, ...]:
    """Put the silent signal first, where silence is an outcome."""
    if silence == "default" and signals[0] != SILENT:
        return (SILENT, *signals)
    return tuple(signals)
