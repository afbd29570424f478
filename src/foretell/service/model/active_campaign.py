"""A campaign that runs: its state, its chooser, and what is known about it besides."""

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
from foretell.service.model.timestamps import text


@dataclass
class ActiveCampaign:
    """One campaign of a server."""

    number: int
    campaign: Campaign
    decider: Decider
    created_at: int
    version: int
    """The record that set it as it is."""
    counts: dict[str, int] = field(default_factory=dict)
    """What leaves no record: duplicates and rejections."""
    load: Load = field(init=False)
    """Return its decisions as they are now."""
    dirty: bool = True
    """Whether there are records since its last snapshot."""
    refitting: bool = False
    choosable: Eligible = field(init=False)
    action_index: dict[str, int] = field(init=False)
    signals: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        """Look up what every decision needs."""
        self.look_up()

    @property
    def config(self) -> CampaignConfig:
        """How it is set."""
        return self.campaign.config

    def look_up(self) -> None:
        """Find out which actions can be chosen, and where each name stands."""
        config = self.config
        self.choosable = Eligible.of(
            np.array(
                [action_status == "active" for action_status in config.action_status], np.bool_
            )
        )
        self.action_index = {name: index for index, name in enumerate(config.actions)}
        self.signals = {name: index for index, name in enumerate(config.signals)}

    def eligible(self, names: list[str] | None) -> Eligible:
        """Return which actions can be chosen, of those named if some are."""
        among = self.choosable
        if names is not None:
            asked = np.zeros(among.mask.size, np.bool_)
            for name in names:
                if name not in self.action_index:
                    raise Unusable(str(UnknownName.of("action", name, self.action_index)))
                asked[self.action_index[name]] = True
            among = Eligible.of(among.mask & asked)
        if not among.actions:
            raise Conflict(
                "no action can be chosen, because those eligible are paused or retired: "
                "name others, or add one"
            )
        return among

    def view(self) -> CampaignView:
        """Return the campaign as it is set."""
        config = self.config
        return CampaignView(
            name=config.name,
            status=config.status,
            actions=[
                ActionView(action, action_status)
                for action, action_status in zip(config.actions, config.action_status, strict=True)
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
            created_at=text(self.created_at),
            version=self.version,
        )
