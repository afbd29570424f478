"""A campaign as it stood at one moment: what a report is made of in a thread.

The fold goes on in the event loop meanwhile, so all that it changes is copied first. The copy is
the only part of a report that the event loop waits for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from foretell import protocol
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.counters import Counters
from foretell.service.model.digest import LogProgress, digest_of
from foretell.service.model.events import Author, CampaignConfig
from foretell.service.model.outcome import Rules
from foretell.service.model.overlay import copied
from foretell.service.model.validity_ledger import ValidityLedger
from foretell.stats.change_points import Change, find_changes
from foretell.stats.verdict import Judgement, judge
from foretell.types import Bools, Ints


@dataclass
class StatusChange:
    """When the status of a campaign became what it is, and who made it so."""

    at: int
    """In microseconds."""
    by: Author | None


@dataclass
class CampaignCopy:
    """All that the reports on a campaign are made of."""

    config: CampaignConfig
    rules: Rules
    counters: Counters
    ledger: ValidityLedger
    state: Any
    as_of: int
    """The moment up to which the log is counted, in microseconds."""
    position: int
    progress: LogProgress
    blind: bool
    """Whether its policy goes by rewards alone."""
    choosable: Bools
    counts: dict[str, int]
    """Duplicates and rejections, which leave no record."""
    refit_share: float | None
    """How much of the log a refit has read; None where none runs."""
    history: list[protocol.ImportView]
    """The histories that were sent, whole or not."""
    status_change: StatusChange | None = None
    """None where it is not known, or was never changed."""

    @classmethod
    def of(cls, active: ActiveCampaign | CampaignCopy) -> CampaignCopy:
        """Return a copy of a campaign; a copy is its own."""
        if isinstance(active, CampaignCopy):
            return active
        campaign = active.campaign
        return cls(
            active.config,
            campaign.rules,
            campaign.counters.copy(),
            campaign.ledger.copy(),
            copied(campaign.state),
            campaign.as_of,
            campaign.position,
            campaign.progress(),
            campaign.blind,
            active.choosable.mask.copy(),
            dict(active.counts),
            active.refit_share if active.refitting else None,
            active.imports.views(active.config),
        )

    @property
    def reward_word(self) -> str:
        """What rewards are called in sentences."""
        return self.config.reward_name or "rewards"

    @cached_property
    def judgement(self) -> Judgement:
        """The verdict on its signal, with its reasons."""
        return judge(self.ledger.test, self.counters.paid.sum(axis=1))

    @cached_property
    def changed(self) -> Ints:
        """(actions,): the stretch since which each action has the signals it has; 0: the first."""
        latest = [max((one.stretch for one in found), default=0) for found in self.changes]
        return np.array(latest, np.int64)

    @cached_property
    def changes(self) -> list[list[Change]]:
        """For each action the changes of its signals, in the order of time."""
        stretches, actions = self.counters.stretches, len(self.config.actions)
        counts = stretches.cells[: len(stretches), ..., 0]
        return [find_changes(counts[:, action], actions) for action in range(actions)]

    def digest(self) -> str:
        """Return the digest of all that the campaign knew."""
        return digest_of(self.config, self.progress, self.state, self.counters, self.ledger)
