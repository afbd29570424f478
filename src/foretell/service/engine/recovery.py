"""From the log to the state of a campaign: at a start, after a crash, and for a re-fold.

These are one path. A campaign begins at its newest snapshot, or, without one, where its policy
last read everything anew; from there the lines are folded one by one, exactly as when they came.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from foretell.service.log.record import NO_ROUND
from foretell.service.log.sqlite.reader import Lines, Stored
from foretell.service.model.campaign import Campaign
from foretell.service.model.events import (
    Changed,
    Created,
    Decided,
    Refolded,
    Rewarded,
    Setup,
    Signalled,
)
from foretell.service.model.outcome import Facts, Line
from foretell.service.model.prefetch import Load

STEP = 256
"""Lines or decisions that are read between two breaths."""


def fold(campaign: Campaign, stored: Stored, log: Lines) -> None:
    """Take one line of a campaign into its state."""
    seq, number, event = stored
    campaign.advance(event.at, before(log, number, seq))
    if isinstance(event, Decided):
        campaign.decide(event)
    elif isinstance(event, (Signalled, Rewarded)):
        facts = log.facts(number, event.round, seq)
        load = before(log, number, seq + 1)
        campaign.take(Line(seq, event), matching(facts, event.made), load)
    elif isinstance(event, Changed):
        campaign.change(event.setup)
    campaign.seq = seq


def before(log: Lines, number: int, seq: int | None = None) -> Load:
    """Give what loads the decisions of a campaign as they were before a line."""

    def load(first: int, count: int) -> list[Facts]:
        return log.rounds(number, first, seq, count)

    return load


def matching(facts: Facts | None, made: int) -> Facts | None:
    """Give the decision if it is the one that was made then, and not another of its number."""
    return facts if facts is not None and facts.decided.at == made else None


def reread(log: Lines, number: int, setup: Setup, upto: int, as_of: int) -> Iterator[Campaign]:
    """Read every decision anew, as it stood at a line and a moment; the last one given is whole.

    It gives the campaign now and then, so that other work can be done in between.
    """
    campaign = Campaign(setup)
    place = 0
    while found := log.rounds(number, place, upto + 1):
        for facts in found:
            campaign.refold_one(facts, as_of)
        place = found[-1].decided.round + 1
        yield campaign
    campaign.refolded(upto, as_of, log.count(number, upto))
    yield campaign


def rebuild(log: Lines, number: int) -> Iterator[Campaign]:
    """Build the state of a campaign from the log alone; the last one given is whole."""
    seq, event = next(
        (seq, event)
        for seq, _, event in reversed(log.about(number, NO_ROUND))
        if isinstance(event, (Created, Refolded))
    )
    campaign = Campaign(event.setup)
    after = seq - 1
    if isinstance(event, Refolded):
        after = event.upto
        for step in reread(log, number, event.setup, after, event.as_of):
            campaign = step
            yield campaign
    yield from catch_up(campaign, log, number, after)


def catch_up(
    campaign: Campaign, log: Lines, number: int, after: int, upto: int | None = None
) -> Iterator[Campaign]:
    """Fold the lines of a campaign after a line.

    With `upto`, which must be committed, others may use the log between two steps. No reading is
    under way then: while one is, a connection sees nothing that was committed since.
    """
    if upto is None:
        for stored in log.scan(after):
            if stored.campaign == number:
                fold(campaign, stored, log)
            if stored.seq % STEP == 0:
                yield campaign
    else:
        for first in range(after, upto, STEP):
            for stored in list(log.scan(first, min(first + STEP, upto))):
                if stored.campaign == number:
                    fold(campaign, stored, log)
            yield campaign
    yield campaign


def whole(steps: Iterator[Campaign]) -> Campaign:
    """Go through all the steps at once."""
    return deque(steps, maxlen=1)[0]
