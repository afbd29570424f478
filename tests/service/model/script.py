"""A log of one campaign that a test writes record by record, and what it folds to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from foretell import protocol
from foretell.service.model.action_changes import with_action
from foretell.service.model.campaign import NOTHING, Campaign, Needs
from foretell.service.model.config import new_config
from foretell.service.model.events import (
    OBSERVED,
    VOID,
    AnyEvent,
    CampaignConfig,
    Configured,
    Decided,
    DecisionRecords,
    Feedback,
    Record,
    moment,
    stamp,
)
from foretell.service.model.stage_fields import with_closed_windows

START = 1_700_000_000_000_000
SECOND = 1_000_000


def config_of(policy: str = "ucb", **fields: Any) -> CampaignConfig:
    """Return the configuration of a campaign with two actions and three signals."""
    given = {"signal_window": 1.0, "reward_window": 2.0} | fields
    new = {"name": "c", "actions": ["a", "b"], "signals": ["click", "buy"], "policy": policy}
    return new_config(msgspec.convert(new | given, protocol.NewCampaign), 7)


class Script:
    """The records of a campaign, each a microsecond after the one before at least."""

    def __init__(self, config: CampaignConfig) -> None:
        self.config = config
        self.records: list[Record] = []
        self.time = START
        self.version = 0
        self.fetched = 0
        """How many records were read for what a campaign needs."""
        self._add(self._configured(config, None))

    def _configured(self, config: CampaignConfig, refit_from: int | None) -> Configured:
        self.config, self.version = config, self.version + 1
        return Configured(self.version, config, "a test", "1", refit_from)

    def _add(self, event: AnyEvent, decision: int | None = None) -> int:
        seq = stamp(self.time)
        self.time += 1
        self.records.append(Record(seq, 1, seq if decision is None else decision, event))
        return seq

    def decide(self, action: int = 0, mode: int = 0, propensity: float = 0.5) -> int:
        """Decide, and return the number of the decision."""
        return self._add(Decided(self.version, action, propensity, mode, 2, self.time, 0))

    def signal(self, decision: int, signal: int) -> str:
        """Report a signal, and return its id."""
        return self._feedback(decision, 0, OBSERVED, float(signal))

    def reward(self, decision: int, value: float) -> str:
        """Report a reward, and return its id."""
        return self._feedback(decision, 1, OBSERVED, value)

    def correct(self, decision: int, verb: int, value: float, target: str) -> str:
        """Correct a reward."""
        return self._feedback(decision, 1, verb, value, target)

    def void(self, decision: int) -> str:
        """Say that a decision was never shown."""
        return self._feedback(decision, 0, VOID, 0.0)

    def _feedback(
        self, decision: int, stage: int, verb: int, value: float, target: str | None = None
    ) -> str:
        event_id = f"e{len(self.records)}"
        self._add(Feedback(self.version, event_id, stage, verb, value, target), decision)
        return event_id

    def add_action(self, name: str) -> None:
        """Add an action."""
        self._add(self._configured(with_action(self.config, name), None))

    def refit(self, config: CampaignConfig | None = None, after: int = 0) -> None:
        """Refit, as of a number of microseconds ago."""
        position = stamp(self.time - after)
        changed = with_closed_windows(self.config, config or self.config, moment(position))
        self._add(self._configured(changed, position))

    def pass_time(self, seconds: float) -> None:
        """Let time pass."""
        self.time += round(seconds * SECOND)

    @property
    def end(self) -> int:
        """The position after all that is here."""
        return stamp(self.time)

    def decisions(self) -> list[DecisionRecords]:
        """Return every decision with all its records."""
        found: dict[int, DecisionRecords] = {}
        for record in self.records:
            if isinstance(record.event, Decided):
                found[record.seq] = DecisionRecords(record.seq, len(found), record.event, [])
            elif isinstance(record.event, Feedback) and record.decision in found:
                found[record.decision].feedback.append(record)
        return list(found.values())

    def fetch(self, needs: Needs, per_read: int = 64) -> list[DecisionRecords]:
        """Return what a campaign needs."""
        decisions = self.decisions()
        found = [one for one in decisions if one.number in needs.numbers]
        for after in needs.after:
            found += [one for one in decisions if one.number > after][:per_read]
        self.fetched += sum(1 + len(one.feedback) for one in found)
        return found

    # --- from records to a state -----------------------------------------------------------------

    def folded(
        self, until: int | None = None, stops: Iterable[int] = (), per_read: int = 64
    ) -> Campaign:
        """Return the campaign at a position; at each of the stops windows close meanwhile."""
        end = self.end if until is None else until
        first = self.records[0].event
        assert isinstance(first, Configured)
        campaign = Campaign(first.config)
        pauses = sorted(stops)
        for record in self.records:
            while pauses and pauses[0] <= min(record.seq, end):
                self.close_windows(campaign, pauses.pop(0), per_read)
            if record.seq >= end:
                break
            event = record.event
            if isinstance(event, Configured) and event.refit_from is not None:
                campaign = self.refitted(record, event, per_read)
            else:
                self.fold(campaign, record, per_read)
        for pause in pauses:
            self.close_windows(campaign, min(pause, end), per_read)
        self.close_windows(campaign, end, per_read)
        return campaign

    def refitted(self, record: Record, event: Configured, per_read: int = 64) -> Campaign:
        """Return the campaign that the record of a refit puts in place."""
        position = event.refit_from or 0
        before = [one for one in self.decisions() if one.number < position]
        campaign = Campaign.refit(event.config, before, position)
        for one in self.records:
            if position <= one.seq < record.seq:
                self.fold(campaign, one, per_read)
        self.close_windows(campaign, record.seq, per_read)
        campaign.apply(record)
        return campaign

    def fold(self, campaign: Campaign, record: Record, per_read: int = 64) -> None:
        """Take a record into a campaign."""
        self.close_windows(campaign, record.seq, per_read)
        if isinstance(record.event, Feedback):
            needs = campaign.needs(record)
            if needs != NOTHING:
                campaign.learn(self.fetch(needs, per_read))
        campaign.apply(record)

    def close_windows(self, campaign: Campaign, until: int, per_read: int = 64) -> None:
        """Close the windows of a campaign that are due."""
        known: list[DecisionRecords] = []
        while not campaign.close_windows(until, known):
            known = self.fetch(campaign.needs(), per_read)
