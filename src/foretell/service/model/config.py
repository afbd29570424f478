"""The rules of a campaign's configuration: how it is created and changed.

The struct itself is in `events`: it is a part of the records that set it.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from foretell.protocol import CampaignPatch, FieldError, NewCampaign
from foretell.protocol.fields import MAX_ACTIONS, MAX_SIGNALS
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

LONGEST = 100
"""Characters of a name that is compared with others though it may not be so."""


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


_COMPARED_WITH = {
    "signals": {"signal_silence"},
    "policy": {"actions", "signals", "reward_range"},  # with settings: a name stands for itself
    "reward_window": {"signal_window"},
    "explore": {"holdout"},
    "default_reward": {"reward_range", "reward_silence"},
    "reward_silence": {"policy"},
    "typical_delay": {"signals", "reward_window", "reward_silence"},
    "signal_values": {"signals", "signals_ordered", "reward_range", "policy"},
}
"""The other fields that decide whether one can be used."""


@rules_of(NewCampaign)
def _errors_of_new(sound: dict[str, Any], wrong: dict[str, Any]) -> list[FieldError]:
    """Return what else is wrong with a new campaign, some fields of which have a wrong type.

    Names that may not be so are still compared with each other.
    """
    named = {field: value for field, value in wrong.items() if _are_texts(field, value)}
    others = {"name": "new", "actions": ["a", "b"], "signals": [SILENT, "signal"]}
    new = msgspec.convert(others | sound, NewCampaign)
    for field, value in named.items():
        setattr(new, field, value)
    try:
        new_config(new, 0)
    except Unusable as error:
        known, unknown = {*sound, *named}, wrong.keys() - named.keys()
        alone = {"policy"} if "(" not in new.policy else set()
        return [
            one
            for one in error.errors
            if one.field in known
            and (one.field in alone or unknown.isdisjoint(_COMPARED_WITH.get(one.field, ())))
        ]
    return []


def _are_texts(field: str, value: Any) -> bool:
    """Return whether a value is a list of names, some of which may not be so."""
    least, most = {"actions": (2, MAX_ACTIONS), "signals": (1, MAX_SIGNALS)}.get(field, (1, 0))
    if not isinstance(value, list) or not least <= len(value) <= most:
        return False
    return all(isinstance(one, str) and 0 < len(one) <= LONGEST for one in value)


def _with_silence(signals: list[str], silence: str) -> tuple[str, ...]:
    """Put the silent signal first, where silence is an outcome."""
    if silence == "default" and signals[0] != SILENT:
        return (SILENT, *signals)
    return tuple(signals)
