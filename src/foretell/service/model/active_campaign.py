"""An active campaign: its state, its decider, and what the server knows about it besides."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from foretell.errors import ForetellError, UnknownName
from foretell.protocol import ActionView, CampaignView, RefitStatus, RefitView
from foretell.service.model.campaign import Campaign
from foretell.service.model.decider import Decider
from foretell.service.model.errors import Conflict, Unusable
from foretell.service.model.events import (
    AnyEvent,
    CampaignConfig,
    Configured,
    Decided,
    Imported,
)
from foretell.service.model.imports import Imports
from foretell.service.model.overlay import Overlay
from foretell.service.model.parking import Parking
from foretell.service.model.timestamps import format_timestamp
from foretell.service.model.value_table import Eligible


@dataclass
class ActiveCampaign:
    """One campaign of a server."""

    number: int
    campaign: Campaign
    """What is folded of it."""
    created_at: int
    decider: Decider = field(init=False)
    overlay: Overlay = field(init=False)
    counts: dict[str, int] = field(default_factory=dict)
    """Duplicates and rejections, which leave no record."""
    uncounted: dict[str, int] = field(default_factory=dict)
    """Those of them that the log does not know yet."""
    verdicts: Counter[str] = field(default_factory=Counter)
    """What this process has answered about its feedback, by verdict."""
    parking: Parking = field(default_factory=Parking)
    """Room for feedback that waits for something."""
    saved: int = 0
    """The position of the newest state that was saved."""
    unsaved: int = 0
    """Records that were folded since then."""
    save_due: bool = False
    """Whether its state is saved at the next moment at which states are."""
    folding: bool = True
    """Whether every record of the tail is folded here; else its state is taken over from others."""
    wanted: int = 0
    """Up to where its state is wanted here, although another process folds it."""
    awaited: int | None = None
    """The record of a refit that another process has made, and whose state is awaited."""
    awaited_since: float = 0.0
    publish_due: bool = False
    """Whether its state is published at the next moment at which states are saved."""
    publish_after: float = 0.0
    """Not before this moment."""
    published: tuple[int, ...] = ()
    """What `progress` was at the last time."""
    folded_records: int = 0
    """Records that were folded here."""
    damage: ForetellError | None = None
    """Why its state cannot be brought up to date: something that it needs is damaged."""
    rebuilt: Campaign | None = None
    """What was built again from the log since then, and the fold goes on with."""
    state_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by the fold, which changes the state, and by whoever copies it in another thread."""
    refitting: bool = False
    imports: Imports = field(default_factory=Imports)
    """The histories that were sent, whole or not."""
    refit_share: float = 0.0
    """How much of the log the refit that runs has read."""
    refit_why: str = ""
    """What the last refit that was asked for is for."""
    refit_failure: str = ""
    """Why it has failed, if it has."""
    choosable: Eligible = field(init=False)
    action_index: dict[str, int] = field(init=False)
    signals: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        """Prepare what every decision needs."""
        self.decider = Decider(self.config.seed)
        self.overlay = Overlay(self.campaign)
        self.config_changed()

    @property
    def config(self) -> CampaignConfig:
        """Its configuration."""
        return self.campaign.config

    @property
    def version(self) -> int:
        """The version of its configuration."""
        return self.campaign.version

    def replace(self, campaign: Campaign) -> None:
        """Go on with another state, after a refit."""
        self.campaign = campaign
        self.config_changed()

    def take_over(self, campaign: Campaign) -> None:
        """Go on with a state that another process has folded."""
        same, self.campaign = campaign.version == self.version, campaign
        if same:
            self.overlay.replace(campaign)
        else:
            self.config_changed()

    def has_reached(self, seq: int) -> bool:
        """Return whether all below a seq is folded, or never will be because of damage."""
        return self.damage is not None or self.campaign.position >= seq

    def progress(self) -> tuple[int, ...]:
        """Return what changes with every record that is folded, and every window that closes."""
        return self.folded_records, *self.campaign.cursors

    def count_folded(self, records: int) -> None:
        """Count records that were folded."""
        self.folded_records += records
        self.unsaved += records * self.folding

    def folded(self, event: AnyEvent) -> None:
        """Take note of an event that the state has taken in."""
        if isinstance(event, Decided):
            self.overlay.folded(event.nonce)
        elif isinstance(event, Configured):
            self.config_changed()
        else:
            self.overlay.changed()
            if isinstance(event, Imported):
                self.imports.note(event)

    def config_changed(self) -> None:
        """Prepare what every decision needs: the actions that can be chosen, names by index."""
        config = self.config
        self.choosable = Eligible.of(
            np.array([status == "active" for status in config.action_status], np.bool_)
        )
        self.decider.forget(self.choosable.mask)
        self.overlay.replace(self.campaign)
        self.action_index = {name: index for index, name in enumerate(config.actions)}
        self.signals = {name: index for index, name in enumerate(config.signals)}

    def count(self, name: str) -> None:
        """Count what leaves no record; the log is told now and then."""
        self.counts[name] = self.counts.get(name, 0) + 1
        self.uncounted[name] = self.uncounted.get(name, 0) + 1

    def eligible(self, names: list[str] | None) -> Eligible:
        """Return which actions can be chosen: of those named, if any are."""
        found = self.choosable
        if names is not None:
            asked = np.zeros(found.mask.size, np.bool_)
            for name in names:
                if name not in self.action_index:
                    unknown = UnknownName.of("action", name, self.action_index)
                    raise Unusable(f"eligible cannot be used: {unknown}", field="eligible")
                asked[self.action_index[name]] = True
            found = Eligible.of(found.mask & asked)
        if not found.actions:
            raise Conflict(
                "no action can be chosen, because those eligible are paused or retired: "
                "make one active, name others, or add one"
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
            signal_window=config.signal_stage.window,
            reward_window=config.reward_stage.window,
            default_reward=config.reward_stage.default,
            reward_range=config.reward_range,
            signal_silence=config.signal_silence,
            reward_silence=config.reward_stage.silence,
            typical_delay=config.typical_delay,
            explore=config.explore,
            holdout=config.holdout,
            sticky=config.sticky,
            signals_ordered=config.signals_ordered,
            signal_values=config.signal_values,
            signal_values_weight=config.signal_values_weight,
            reward_name=config.reward_name,
            created_at=format_timestamp(self.created_at),
            version=self.version,
            history=self.imports.views(config),
            refit=self._refit_view(),
        )

    def _refit_view(self) -> RefitView | None:
        """Return how far a refit is, or why the last one has failed."""
        if not self.refitting and not self.refit_failure:
            return None
        status: RefitStatus = "running" if self.refitting else "failed"
        return RefitView(status, self.refit_why, self.refit_share, self.refit_failure)
