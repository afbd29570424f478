"""Who changed what: two configurations of a campaign, one after the other, compared."""

from __future__ import annotations

from typing import Any

from foretell.protocol import CampaignPatch
from foretell.service.model.events import Author, CampaignConfig
from foretell.service.model.stage_fields import field_of
from foretell.service.reports.words import all_of

ACTION = "action "
"""What stands before the name of an action among the settings."""


def settings_of(config: CampaignConfig) -> dict[str, Any]:
    """Return what can be changed of a campaign, under the names that requests have."""
    found: dict[str, Any] = {"status": config.status}
    for name in CampaignPatch.__struct_fields__:
        value = field_of(config, name)
        found[name] = list(value) if name == "signals" else value
    for action, status in zip(config.actions, config.action_status, strict=True):
        found[ACTION + action] = status
    return found


def config_changes(before: CampaignConfig, after: CampaignConfig) -> dict[str, dict[str, Any]]:
    """Return every setting that is not what it was, with both values; null: it was not there."""
    old, new = settings_of(before), settings_of(after)
    return {
        name: {"before": old.get(name), "after": new.get(name)}
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    }


def change_sentence(changes: dict[str, dict[str, Any]], why: str, by: Author | None) -> str:
    """Return who changed what, in words.

    >>> change_sentence({"explore": {"before": 0.0, "after": 0.01}}, "", Author("1", "ops"))
    'Key ops changed explore from 0.0 to 0.01.'
    >>> change_sentence({"action c": {"before": None, "after": "active"}}, "", None)
    'The server added the action c.'
    """
    who = "The server" if by is None else f"Key {by.name}"
    added = [
        name.removeprefix(ACTION)
        for name, one in changes.items()
        if name.startswith(ACTION) and one["before"] is None
    ]
    changed = {name: one for name, one in changes.items() if name.removeprefix(ACTION) not in added}
    parts = [
        f"{name} to {one['after']}"
        if one["before"] is None
        else f"{name} from {one['before']} to {one['after']}"
        for name, one in changed.items()
    ]
    if not changes:
        return f"{who} changed no setting ({why})."
    said = [f"changed {', '.join(parts)}"] if parts else []
    if added:
        said.insert(0, f"added the action{'s' * (len(added) > 1)} {all_of(added)}")
    return f"{who} {' and '.join(said)}."
