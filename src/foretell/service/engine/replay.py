"""From the log to the state of one campaign: at a start, after a crash, and for a refit.

These are one path. A campaign begins at its newest snapshot or, without one, where its policy
was last refit; from there the records are folded one by one, exactly as when they came.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from foretell.service.log.record import NO_ROUND, Record
from foretell.service.log.sqlite.reader import LogReader
from foretell.service.model.campaign import Campaign
from foretell.service.model.events import (
    CampaignConfig,
    Changed,
    Created,
    Decided,
    Refitted,
    Rewarded,
    Signalled,
)
from foretell.service.model.outcome import DecisionRecords, FeedbackRecord
from foretell.service.model.prefetch import Load

RECORDS_PER_STEP = 256
"""Records or decisions that are read before other work gets its turn."""


def fold(campaign: Campaign, record: Record, log: LogReader) -> None:
    """Take one record of a campaign into its state."""
    seq, number, event = record
    campaign.advance(event.recorded_at, decision_loader(log, number, seq))
    if isinstance(event, Decided):
        campaign.decide(event)
    elif isinstance(event, (Signalled, Rewarded)):
        records = log.decision_records(number, event.round, seq)
        load = decision_loader(log, number, seq + 1)
        campaign.take(FeedbackRecord(seq, event), if_decided_at(records, event.decided_at), load)
    elif isinstance(event, Changed):
        campaign.change(event.config)
    campaign.seq = seq


def decision_loader(log: LogReader, number: int, before: int | None = None) -> Load:
    """Return a function that loads a campaign's decisions as they were before a record."""

    def load(first: int, count: int) -> list[DecisionRecords]:
        return log.decisions_from(number, first, before, count)

    return load


def if_decided_at(records: DecisionRecords | None, decided_at: int) -> DecisionRecords | None:
    """Return the decision if it was made at that time: another may have the same round.

    After a restored backup the rounds of decisions that are not in it are used again.
    """
    return records if records is not None and records.decided.decided_at == decided_at else None


def refit_from_log(
    log: LogReader, number: int, config: CampaignConfig, upto: int, as_of: int
) -> Iterator[Campaign]:
    """Read every decision as it was at a record and a moment.

    Yields the campaign after each step, so that other work can be done in between; the last one
    is complete.
    """
    campaign = Campaign(config)
    first = 0
    while found := log.decisions_from(number, first, upto + 1):
        for records in found:
            campaign.refit_one(records, as_of)
        first = found[-1].decided.round + 1
        yield campaign
    campaign.end_refit(upto, as_of, log.count_decision_records(number, upto))
    yield campaign


def rebuild(log: LogReader, number: int) -> Iterator[Campaign]:
    """Build the state of a campaign from the log alone, in steps; the last one is complete."""
    seq, event = next(
        (seq, event)
        for seq, _, event in reversed(log.records_about(number, NO_ROUND))
        if isinstance(event, (Created, Refitted))
    )
    campaign = Campaign(event.config)
    after = seq - 1
    if isinstance(event, Refitted):
        after = event.upto
        for step in refit_from_log(log, number, event.config, after, event.as_of):
            campaign = step
            yield campaign
    yield from catch_up(campaign, log, number, after)


def catch_up(
    campaign: Campaign, log: LogReader, number: int, after: int, upto: int | None = None
) -> Iterator[Campaign]:
    """Fold the records of a campaign after a record, in steps.

    With `upto`, which must be committed, others may use the log between two steps. No query is
    open then: while one is, a connection sees nothing that was committed since.
    """
    if upto is None:
        for record in log.scan(after):
            if record.campaign == number:
                fold(campaign, record, log)
            if record.seq % RECORDS_PER_STEP == 0:
                yield campaign
    else:
        for first in range(after, upto, RECORDS_PER_STEP):
            for record in list(log.scan(first, min(first + RECORDS_PER_STEP, upto))):
                if record.campaign == number:
                    fold(campaign, record, log)
            yield campaign
    yield campaign


def run_to_end(steps: Iterator[Campaign]) -> Campaign:
    """Run all the steps at once, and return the complete campaign."""
    return deque(steps, maxlen=1)[0]
