"""A campaign that runs: its state, its chooser, and what is known about it besides."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from foretell.errors import UnknownName
from foretell.protocol import ActionView, CampaignView
from foretell.service.model.campaign import Campaign
from foretell.service.model.decider import Chooser, Eligible
from foretell.service.model.errors import Conflict, Unusable
from foretell.service.model.events import Setup
from foretell.service.model.prefetch import Load
from foretell.service.model.timestamps import text


@dataclass
class Running:
    """One campaign of a server."""

    number: int
    campaign: Campaign
    chooser: Chooser
    created_at: int
    version: int
    """The line that set it as it is."""
    counts: dict[str, int] = field(default_factory=dict)
    """What leaves no line: duplicates and rejections."""
    load: Load = field(init=False)
    """Gives its decisions as they are now."""
    dirty: bool = True
    """Whether there are lines since its last snapshot."""
    refolding: bool = False
    active: Eligible = field(init=False)
    places: dict[str, int] = field(init=False)
    signals: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        """Look up what every decision needs."""
        self.look_up()

    @property
    def setup(self) -> Setup:
        """How it is set."""
        return self.campaign.setup

    def look_up(self) -> None:
        """Find out which actions can be chosen, and where each name stands."""
        setup = self.setup
        self.active = Eligible.of(
            np.array([standing == "active" for standing in setup.standing], np.bool_)
        )
        self.places = {name: place for place, name in enumerate(setup.actions)}
        self.signals = {name: place for place, name in enumerate(setup.signals)}

    def eligible(self, names: list[str] | None) -> Eligible:
        """Give which actions can be chosen, of those named if some are."""
        among = self.active
        if names is not None:
            asked = np.zeros(among.mask.size, np.bool_)
            for name in names:
                if name not in self.places:
                    raise Unusable(str(UnknownName.of("action", name, self.places)))
                asked[self.places[name]] = True
            among = Eligible.of(among.mask & asked)
        if not among.places:
            raise Conflict(
                "no action can be chosen, because those eligible are paused or retired: "
                "name others, or add one"
            )
        return among

    def view(self) -> CampaignView:
        """Give the campaign as it is set."""
        setup = self.setup
        return CampaignView(
            name=setup.name,
            status=setup.status,
            actions=[
                ActionView(action, standing)
                for action, standing in zip(setup.actions, setup.standing, strict=True)
            ],
            signals=list(setup.signals),
            policy=setup.policy,
            signal_window=setup.signal_window,
            reward_window=setup.reward_window,
            default_reward=setup.default_reward,
            reward_range=setup.reward_range,
            signal_silence=setup.signal_silence,
            reward_silence=setup.reward_silence,
            explore=setup.explore,
            holdout=setup.holdout,
            sticky=setup.sticky,
            created_at=text(self.created_at),
            version=self.version,
        )
