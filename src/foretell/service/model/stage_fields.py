"""The stages of a campaign's configuration, under the names that requests and answers have."""

from __future__ import annotations

from typing import Any

import msgspec

from foretell.service.model.events import CampaignConfig, KeptWindows, Stage
from foretell.service.model.outcome import WINDOW_GRID

STAGE_FIELDS = {
    "signal_window": (0, "window"),
    "signal_silence": (0, "silence"),
    "reward_window": (-1, "window"),
    "reward_silence": (-1, "silence"),
    "default_reward": (-1, "default"),
}
"""The fields of requests and answers that describe a stage: which stage, and what of it."""


def field_of(config: CampaignConfig, name: str) -> Any:
    """Return a field of a configuration under the name that requests and answers have for it."""
    if name in STAGE_FIELDS:
        stage, field = STAGE_FIELDS[name]
        return getattr(config.stages[stage], field)
    return getattr(config, name)


def with_fields(config: CampaignConfig, fields: dict[str, Any]) -> CampaignConfig:
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


def with_closed_windows(old: CampaignConfig, new: CampaignConfig, now: int) -> CampaignConfig:
    """Return the configuration; when windows grow, those already closed stay closed."""
    stages = (
        msgspec.structs.replace(after, kept_windows=_kept_windows(before, after, now))
        for before, after in zip(old.stages, new.stages, strict=True)
    )
    return msgspec.structs.replace(new, stages=tuple(stages))


def _kept_windows(old: Stage, new: Stage, now: int) -> KeptWindows:
    if "unknown" in (old.silence, new.silence):
        return ()  # silence was not an outcome, or is not any more
    last = now // WINDOW_GRID * WINDOW_GRID - round(old.window * 1e6)
    kept = (*old.kept_windows, (last, old.window))
    return tuple((upto, window) for upto, window in kept if window < new.window)
