"""Campaigns that a test feeds decision by decision, without a server, at times of its own."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from foretell import protocol
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.campaign import Campaign
from foretell.service.model.config import new_config
from foretell.service.model.events import (
    OBSERVED,
    AnyEvent,
    CampaignConfig,
    Decided,
    DecisionRecords,
    Feedback,
    Record,
    stamp,
)
from foretell.service.reports.campaign_copy import CampaignCopy
from foretell.service.reports.summary import campaign_report
from foretell.service.reports.values import current_belief
from foretell.stats.value_now import values_now

START = 1_700_006_400_000_000
"""Wed 15 Nov 2023, 00:00."""
SECOND = 1_000_000
HOUR, DAY = 3600.0, 86_400.0
POLICY, HOLDOUT = 0, 2


def config_of(**fields: Any) -> CampaignConfig:
    """Return the configuration of a campaign with three actions and two signals."""
    new = {
        "name": "c",
        "actions": ["a", "b", "c"],
        "signals": ["none", "click", "download"],
        "policy": "nsd-adaptive",
        "signal_window": 1.0,
        "reward_window": 100.0,
        "reward_name": "readings",
    } | fields
    return new_config(msgspec.convert(new, protocol.NewCampaign), 7)


class Feed:
    """A log in the making; times are seconds since `START`."""

    def __init__(self, **fields: Any) -> None:
        self.config = config_of(**fields)
        self.records: list[Record] = []
        self.numbers: list[int] = []

    def decide(
        self,
        at: float,
        action: int,
        signal: int = 0,
        reward: float | None = None,
        *,
        mode: int = POLICY,
        signal_after: float = 0.001,
        reward_after: float = 10.0,
    ) -> int:
        """Add a decision with what comes of it; its signal comes before its reward."""
        number = self._seq(at)
        self.numbers.append(number)
        count = len(self.config.actions)
        self._add(number, number, Decided(1, action, 1 / count, mode, count, len(self.records), 0))
        if signal:
            self.feedback(number, at + signal_after, 0, signal)
        if reward is not None:
            self.feedback(number, at + reward_after, 1, reward)
        return number

    def feedback(self, number: int, at: float, stage: int, value: float) -> None:
        """Add a signal (stage 0) or a reward (stage 1)."""
        event = Feedback(1, f"e{len(self.records)}", stage, OBSERVED, float(value))
        self._add(self._seq(at) + 1, number, event)

    def _seq(self, at: float) -> int:
        return stamp(START + round(at * SECOND))

    def _add(self, seq: int, number: int, event: AnyEvent) -> None:
        self.records.append(Record(seq, 1, number, event))

    def campaign(self, until: float, config: CampaignConfig | None = None) -> Campaign:
        """Return the campaign record by record, up to a moment."""
        campaign, end = Campaign(config or self.config), self._seq(until)
        known = {one.number: one for one in self.decisions()}
        for record in sorted(self.records, key=lambda one: one.seq):
            if record.seq < end:
                if not campaign.close_windows(record.seq):
                    campaign.close_windows(record.seq, known.values())
                if isinstance(record.event, Feedback) and not campaign.knows(record.decision):
                    campaign.learn([known[record.decision]])
                campaign.apply(record)
        if not campaign.close_windows(end):
            campaign.close_windows(end, known.values())
        return campaign

    def refit(self, until: float, config: CampaignConfig | None = None) -> Campaign:
        """Return the campaign read again, decision by decision."""
        end = self._seq(until)
        before = [one for one in self.decisions() if one.number < end]
        return Campaign.refit(config or self.config, before, end)

    def decisions(self) -> list[DecisionRecords]:
        """Return every decision with all its records."""
        found: dict[int, DecisionRecords] = {}
        for record in sorted(self.records, key=lambda one: one.seq):
            if isinstance(record.event, Decided):
                found[record.seq] = DecisionRecords(record.seq, len(found), record.event, [])
            else:
                found[record.decision].feedback.append(record)
        return list(found.values())

    def active(self, until: float) -> ActiveCampaign:
        """Return the campaign as a server holds it."""
        return ActiveCampaign(1, self.campaign(until), START)

    def copy(self, until: float) -> CampaignCopy:
        """Return what reports are made of."""
        return CampaignCopy.of(self.active(until))

    def report(self, until: float) -> protocol.CampaignReport:
        """Return the report as of a moment."""
        return report_of(self.copy(until))


def report_of(copy: CampaignCopy) -> protocol.CampaignReport:
    """Return the report on a copy."""
    belief = current_belief(copy)
    drawn = None
    if belief is not None:
        drawn = values_now(belief, copy.choosable, np.random.default_rng(0))
    return campaign_report(copy, drawn)


def plain(sentence: str) -> str:
    """Return a sentence with spaces that break."""
    return sentence.replace("\u00a0", " ")


LAWS = np.array([[0.6, 0.25, 0.15], [0.15, 0.25, 0.6], [0.5, 0.3, 0.2]])
THETA = np.array([0.02, 0.3, 0.7])


def traffic(
    decisions: int,
    seed: int = 0,
    *,
    every: float = 1.0,
    bait: float = 1.0,
    stop: float = np.inf,
    swap: int | None = None,
    holdout: bool = True,
    theta: Any = THETA,
    **fields: Any,
) -> Feed:
    """Return a campaign of which one action after the other is shown.

    `bait` multiplies the rewards of the second action; no reward comes after `stop`; laws change
    places from the decision `swap` on.
    """
    rng, feed = np.random.default_rng(seed), Feed(**fields)
    window = feed.config.reward_stage.window
    for index in range(decisions):
        action, at = int(rng.integers(3)), index * every
        laws = LAWS if swap is None or index < swap else np.roll(LAWS, 1, axis=0)
        signal = int(rng.choice(3, p=laws[action]))
        earns = rng.random() < theta[signal] * (bait if action == 1 else 1.0)
        after = window * float(rng.uniform(0.03, 0.5))
        reward = 1.0 if earns and at + after < stop else None
        mode = HOLDOUT if holdout and index % 10 == 0 else POLICY
        feed.decide(at, action, signal, reward, mode=mode, reward_after=after)
    return feed
