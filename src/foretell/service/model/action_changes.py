"""How the actions of a campaign change: they are added, paused, resumed and retired."""

from __future__ import annotations

import msgspec

from foretell.errors import UnknownName
from foretell.protocol import ActionPatch
from foretell.service.model.checks.config_checks import checked
from foretell.service.model.config import refuse_stopped
from foretell.service.model.errors import Conflict, NotFound
from foretell.service.model.events import CampaignConfig


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
