"""Receipts: what is known of feedback when its record is written.

The history of its decision says later what became of it.
"""

from __future__ import annotations

from foretell import protocol
from foretell.service.engine.waiting import AboutDecision, Waiting
from foretell.service.log.errors import Damaged
from foretell.service.log.protocol import Accepted, ClaimedInArchive, Duplicate, Written
from foretell.service.model.campaign import Campaign
from foretell.service.model.events import VOID, Feedback, Record
from foretell.service.model.feedback import clipped_sentence, same_report, why_parked
from foretell.service.model.reward_total import NO_REWARDS


def receipt_of(waiting: Waiting, index: int, written: Written) -> protocol.Receipt:
    """Return what became of one of the events, which was written or is a duplicate."""
    about = waiting.feedback[index]
    if not isinstance(written, Accepted):
        return _receipt_again(about, written)
    active, event = about.active, about.event
    if index in waiting.parked:
        target = waiting.targets.get(index)
        known = None if target is None else target.event
        return protocol.Receipt("parked", event.event_id, why_parked(event, known))
    record = written.record
    late = event.verb_index != VOID and record.recorded_at >= about.due
    if late or about.number in waiting.archived:
        receipt = protocol.Receipt("late", event.event_id)
    else:
        receipt = protocol.Receipt("accepted", event.event_id)
    if event.stage and (total := _clipped(active.campaign, record)) is not None:
        receipt.clipped = True
        receipt.detail = clipped_sentence(total, active.config.reward_range)
    return receipt


def _clipped(campaign: Campaign, record: Record) -> float | None:
    """Return the reward of a decision with a record, where it lies outside the range.

    None: it does not, as far as the records at hand say.
    """
    running = campaign.at_hand(record.decision)
    if running is not None and running.void:
        return None
    total = (NO_REWARDS if running is None else running.reward).total_with(record)
    return total if campaign.outside(total) else None


def _receipt_again(about: AboutDecision, written: Written) -> protocol.Receipt:
    """Return what became of an event whose id was used before."""
    active, event = about.active, about.event
    if isinstance(written, Duplicate):
        earlier = written.earlier
        _refuse_other_event(event.event_id, earlier)
        if earlier.decision != about.number or not same_report(earlier.event, event):
            active.count("rejected")
            return protocol.Receipt(
                "rejected",
                event.event_id,
                f"the event_id {event.event_id!r} was used for another event: "
                f"take an id of its own for each event, and correct the other if it is wrong",
            )
    else:  # the body of a record that is archived is not at hand any more
        assert isinstance(written, ClaimedInArchive)  # noqa: S101  (only decisions are for units)
    active.count("duplicates")
    return protocol.Receipt("duplicate", event.event_id)


def _refuse_other_event(event_id: str, earlier: Record) -> None:
    """Refuse a record that does not have the id under which it was found."""
    if not isinstance(earlier.event, Feedback) or earlier.event.event_id != event_id:
        raise Damaged("the key of record", earlier.seq)
