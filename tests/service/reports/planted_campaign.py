"""Campaigns whose truth is known, fed to the machine without a server.

The policy of the campaign chooses, a world of the simulator answers, and the machine of the
service makes the report of it. What is compared is in `planted_truths`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import numpy as np

from foretell import protocol
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.campaign import Campaign
from foretell.service.model.config import new_config
from foretell.service.model.events import (
    MODES,
    OBSERVED,
    CampaignConfig,
    Decided,
    DecisionRecords,
    Feedback,
    Record,
    stamp,
)
from foretell.service.reports.summary import campaign_report
from foretell.service.reports.validity import validity_report
from foretell.service.reports.values import current_belief
from foretell.stats.estimate import Z
from foretell.stats.value_now import values_now
from foretell.traffic.truths import (
    ACTIONS,
    EARLY_SHARE,
    HOLDOUT,
    WINDOW,
    Truth,
    shown,
    true_values,
)
from foretell.types import Floats
from foretell.worlds.world import answer, before_round_zero, move_to
from tests.service.reports.batched_policy import BatchedPolicy

START, SECOND = 1_700_000_000_000_000, 1_000_000
"""A decision is made every second."""
POLICY, HELD_OUT = MODES.index("policy"), MODES.index("holdout")


class Report(NamedTuple):
    """What a campaign says of itself."""

    summary: protocol.CampaignReport
    validity: protocol.ValidityReport


class Played(NamedTuple):
    """What happened, round by round, and what was true."""

    action: Any
    signal: Any
    values: Floats
    """(rounds, actions): what each action was worth."""


class Planted(NamedTuple):
    """A campaign that was fed, with all that is true of it."""

    truth: Truth
    active: ActiveCampaign
    report: Report
    played: Played
    records: list[DecisionRecords]
    held: list[DecisionRecords]
    """Decisions whose rewards were held back, where rewards have stopped."""

    def settled(self, action: int) -> Any:
        """Return the settled rounds of an action."""
        return np.flatnonzero(self.played.action[: self.truth.settled] == action)

    def observed(self, action: int) -> float:
        """Return the mean true value of the settled decisions of an action."""
        return float(self.played.values[self.settled(action), action].mean())

    def value(self, action: int) -> float:
        """Return the true value of an action now."""
        return float(self.played.values[-1, action])

    def plays_since_change(self, action: int) -> int:
        """Return how often an action was played since its law last changed."""
        return int((self.played.action[self.truth.change_at or 0 :] == action).sum())

    def observed_oracle(self, action: int) -> float:
        """Return the width of an interval that knows the true variance of every reward."""
        values = self.played.values[self.settled(action), action]
        return 2 * Z * float(np.sqrt((values * (1.0 - values)).sum())) / values.size

    def value_oracle(self, action: int) -> float:
        """Return the width of an interval about the value now, of one who knows more.

        An oracle knows when the law last changed, whether the signal can be trusted, and all
        variances. Where it can, the value is law times theta, and theta is that of all actions;
        where not, it goes by the action's own rewards since the change.
        """
        truth, first = self.truth, self.truth.change_at or 0
        value = self.value(action)
        if truth.bait != 1.0:
            own = self.settled(action)
            return 2 * Z * float(np.sqrt(value * (1.0 - value) / max(1, (own >= first).sum())))
        scenario = truth.scenario()
        law, theta = np.array(scenario.segments[-1][1])[action], np.array(scenario.theta)
        signals = self.plays_since_change(action)
        rewards = np.bincount(self.played.signal[: truth.settled], minlength=theta.size)
        variance = (law @ theta**2 - value**2) / max(1, signals)
        variance += (law**2 * theta * (1.0 - theta) / np.maximum(1, rewards)).sum()
        return 2 * Z * float(np.sqrt(variance))


class PlantedCampaign:
    """Feeds a campaign with one decision a second, which its policy makes."""

    def __init__(self, truth: Truth, seed: int) -> None:
        streams = np.random.SeedSequence(seed).spawn(2)
        self.luck, drawn = (np.random.Generator(np.random.SFC64(one)) for one in streams)
        self.truth, self.campaign = truth, Campaign(planted_config(truth))
        self.policy = BatchedPolicy(self.campaign.state, drawn)
        self.campaign.state = self.policy
        self.everything = np.ones(len(ACTIONS), np.bool_)
        rounds = truth.rounds
        self.played = Played(
            np.zeros(rounds, np.int64), np.zeros(rounds, np.int64), np.zeros((rounds, len(ACTIONS)))
        )
        self.records: list[DecisionRecords] = []
        self.held: list[DecisionRecords] = []
        self.coming: dict[int, list[int]] = {}
        """By round: the rounds whose reward comes then."""

    def play(self) -> Planted:
        """Play every round, and ask for the report."""
        truth, campaign, everything = self.truth, self.campaign, self.everything
        world = truth.scenario().draw(truth.rounds, self.luck)
        now, moves = before_round_zero(world), 0
        held_out = self.luck.random(truth.rounds) < HOLDOUT
        uniform = self.luck.integers(everything.size, size=truth.rounds)
        early = self.luck.integers(int(EARLY_SHARE * WINDOW) + 1, size=truth.rounds)
        for t in range(truth.rounds):
            campaign.close_windows(stamp(START + t * SECOND))
            if t == moves:
                moves = move_to(world, now, t)
            action = int(uniform[t]) if held_out[t] else self.policy.choose(t, everything)
            outcome, reward, _ = answer(world, now, action, self.luck)
            self.played.values[t] = true_values(world, now)
            self._decide(t, action, shown(outcome), HELD_OUT if held_out[t] else POLICY)
            if reward > 0.0:
                self._reward_at(t, t + int(early[t]))
            for made in self.coming.pop(t, ()):
                self._take(made, START + t * SECOND + SECOND // 2 + made)
        campaign.close_windows(stamp(START + truth.rounds * SECOND - SECOND // 2))
        campaign.state = self.policy.learned(everything)
        active = ActiveCampaign(1, campaign, START)
        return Planted(truth, active, said(active), self.played, self.records, self.held)

    def _decide(self, t: int, action: int, signal: int, mode: int) -> None:
        actions, number = len(ACTIONS), stamp(START + t * SECOND)
        decided = Decided(1, action, 1 / actions, mode, actions, t, 0)
        self.campaign.apply(Record(number, 1, number, decided))
        self.played.action[t], self.played.signal[t] = action, signal
        self.records.append(DecisionRecords(number, t, decided, []))
        if signal:
            feedback = Feedback(1, f"s{t}", 0, OBSERVED, float(signal))
            self._apply(t, Record(number + 1, 1, number, feedback))

    def _reward_at(self, t: int, comes: int) -> None:
        stops_at = self.truth.stops_at
        if stops_at is None or comes < stops_at:
            self.coming.setdefault(comes, []).append(t)
        else:
            self.held.append(self.records[t])

    def _take(self, t: int, moment: int) -> None:
        record = reward_record(self.records[t], moment)
        self.campaign.close_windows(record.seq)
        self._apply(t, record)

    def _apply(self, t: int, record: Record) -> None:
        self.records[t].feedback.append(record)
        self.campaign.apply(record)


def planted(truth: Truth, seed: int) -> Planted:
    """Feed a campaign."""
    return PlantedCampaign(truth, seed).play()


def repaired(one: Planted) -> Report:
    """Return the report after the rewards that were held back have come, and a refit."""
    campaign = one.active.campaign
    begin = START + one.truth.rounds * SECOND
    for index, records in enumerate(one.held):
        record = reward_record(records, begin + index)
        campaign.close_windows(record.seq, [records])
        campaign.apply(record)
        records.feedback.append(record)
    position = stamp(begin + len(one.held))
    return said(ActiveCampaign(1, batched_refit(one, position), START))


def batched_refit(one: Planted, position: int) -> Campaign:
    """Return what `Campaign.refit` returns, in a quarter of its time: the policy learns at last."""
    refit = Campaign(one.active.campaign.config)
    refit.state = policy = BatchedPolicy(refit.state, np.random.Generator(np.random.SFC64(0)))
    for records in one.records:
        refit.refit_one(records, position)
    refit.state = policy.learned(np.ones(len(ACTIONS), np.bool_))
    refit.end_refit(position)
    return refit


def reward_record(records: DecisionRecords, moment: int) -> Record:
    """Return the record of a reward that comes at a moment."""
    feedback = Feedback(1, f"r{records.rank}", 1, OBSERVED, 1.0)
    return Record(stamp(moment), 1, records.number, feedback)


def said(active: ActiveCampaign) -> Report:
    """Return the report of a campaign."""
    belief, values = current_belief(active), None
    if belief is not None:
        values = values_now(belief, active.choosable.mask, np.random.default_rng(0))
    return Report(campaign_report(active, values), validity_report(active))


def planted_config(truth: Truth, policy: str = "nsd-adaptive") -> CampaignConfig:
    """Return the configuration of a planted campaign."""
    new = truth.campaign() | {
        "name": "c",
        "policy": policy,
        "signal_window": 1.0,
        "reward_window": float(WINDOW),
    }
    return new_config(msgspec.convert(new, protocol.NewCampaign), 7)
