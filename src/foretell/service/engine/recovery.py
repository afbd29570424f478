"""From the log to the state of a campaign: at a start, after a crash, and for a refit.

These are one path. A campaign begins at its newest snapshot, or, without one, where its policy
was last refit; from there the records are folded one by one, exactly as when they came.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from foretell.service.log.record import NO_ROUND
from foretell.service.log.sqlite.reader import LogReader, Record
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

STEP = 256
"""Records or decisions that are read between two breaths."""


def fold(campaign: Campaign, record: Record, log: LogReader) -> None:
    """Take one record of a campaign into its state."""
    seq, number, event = record
    campaign.advance(event.recorded_at, before(log, number, seq))
    if isinstance(event, Decided):
        campaign.decide(event)
    elif isinstance(event, (Signalled, Rewarded)):
        records = log.decision_records(number, event.round, seq)
        load = before(log, number, seq + 1)
        campaign.take(FeedbackRecord(seq, event), matching(records, event.decided_at), load)
    elif isinstance(event, Changed):
        campaign.change(event.config)
    campaign.seq = seq


def before(log: LogReader, number: int, seq: int | None = None) -> Load:
    """Return what loads the decisions of a campaign as they were before a record."""

    def load(first: int, count: int) -> list[DecisionRecords]:
        return log.rounds(number, first, seq, count)

    return load


def matching(records: DecisionRecords | None, decided_at: int) -> DecisionRecords | None:
    """Return the decision if it is the one that was made then, and not another of its number."""
    return records if records is not None and records.decided.recorded_at == decided_at else None


def refit_from_log(
    log: LogReader, number: int, config: CampaignConfig, upto: int, as_of: int
) -> Iterator[Campaign]:
    """Read every decision, as it stood at a record and a moment; the last one given is whole.

    It gives the campaign now and then, so that other work can be done in between.
    """
    campaign = Campaign(config)
    index = 0
    while found := log.rounds(number, index, upto + 1):
        for records in found:
            campaign.refit_one(records, as_of)
        index = found[-1].decided.round + 1
        yield campaign
    campaign.end_refit(upto, as_of, log.count(number, upto))
    yield campaign


def rebuild(log: LogReader, number: int) -> Iterator[Campaign]:
    """Build the state of a campaign from the log alone; the last one given is whole."""
    seq, event = next(
        (seq, event)
        for seq, _, event in reversed(log.about(number, NO_ROUND))
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
    """Fold the records of a campaign after a record.

    With `upto`, which must be committed, others may use the log between two steps. No reading is
    under way then: while one is, a connection sees nothing that was committed since.
    """
    if upto is None:
        for record in log.scan(after):
            if record.campaign == number:
                fold(campaign, record, log)
            if record.seq % STEP == 0:
                yield campaign
    else:
        for first in range(after, upto, STEP):
            for record in list(log.scan(first, min(first + STEP, upto))):
                if record.campaign == number:
                    fold(campaign, record, log)
            yield campaign
    yield campaign


def whole(steps: Iterator[Campaign]) -> Campaign:
    """Go through all the steps at once."""
    return deque(steps, maxlen=1)[0]
