"""An active campaign: its state, its decider, and what the server knows about it besides."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from foretell.errors import UnknownName
from foretell.protocol import ActionView, CampaignView
from foretell.service.model.campaign import Campaign
from foretell.service.model.decider import Decider, Eligible
from foretell.service.model.errors import Conflict, Unusable
from foretell.service.model.events import CampaignConfig
from foretell.service.model.prefetch import Load
from foretell.service.model.timestamps import format_timestamp


@dataclass
class ActiveCampaign:
    """One campaign of a server."""

    number: int
    campaign: Campaign
    decider: Decider
    created_at: int
    version: int
    """The record of its present configuration."""
    counts: dict[str, int] = field(default_factory=dict)
    """Duplicates and rejections, which leave no record."""
    load: Load = field(init=False)
    """Loads its decisions as they are now."""
    dirty: bool = True
    """Whether there are records since its last snapshot."""
    refitting: bool = False
    choosable: Eligible = field(init=False)
    action_index: dict[str, int] = field(init=False)
    signals: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        """Prepare what every decision needs."""
        self.config_changed()

    @property
    def config(self) -> CampaignConfig:
        """Its configuration."""
        return self.campaign.config

    def config_changed(self) -> None:
        """Prepare what every decision needs: the actions that can be chosen, names by index."""
        config = self.config
        self.decider.forget()
        self.choosable = Eligible.of(
            np.array([status == "active" for status in config.action_status], np.bool_)
        )
        self.action_index = {name: index for index, name in enumerate(config.actions)}
        self.signals = {name: index for index, name in enumerate(config.signals)}

    def eligible(self, names: list[str] | None) -> Eligible:
        """Return which actions can be chosen: of those named, if any are."""
        found = self.choosable
        if names is not None:
            asked = np.zeros(found.mask.size, np.bool_)
            for name in names:
                if name not in self.action_index:
                    raise Unusable(str(UnknownName.of("action", name, self.action_index)))
                asked[self.action_index[name]] = True
            found = Eligible.of(found.mask & asked)
        if not found.actions:
            raise Conflict(
                "no action can be chosen, because those eligible are paused or retired: "
                "name others, or add one"
            )
        return found

    def view(self) -> CampaignView:
        """Return the campaign as the service shows it."""
        config = self.config
        return CampaignView(
            name=config.name,
            status=config.status,
            actions=[
                ActionView(action, status)
                for action, status in zip(config.actions, config.action_status, strict=True)
            ],
            signals=list(config.signals),
            policy=config.policy,
            signal_window=config.signal_window,
            reward_window=config.reward_window,
            default_reward=config.default_reward,
            reward_range=config.reward_range,
            signal_silence=config.signal_silence,
            reward_silence=config.reward_silence,
            explore=config.explore,
            holdout=config.holdout,
            sticky=config.sticky,
            created_at=format_timestamp(self.created_at),
            version=self.version,
        )
