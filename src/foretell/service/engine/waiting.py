"""What feedback waits for, found before it is written: its decision, or the reward it corrects.

Feedback that waits is parked, and takes a place of those there are.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Self, TypeAlias

from msgspec import Struct

from foretell.service.engine.turns import Turns, in_pieces
from foretell.service.log.protocol import Accepted, Draft, Log, LogReader, Written
from foretell.service.model import parking
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.campaign import Campaign
from foretell.service.model.decision_cache import DECISIONS_PER_READ
from foretell.service.model.errors import Conflict, RequestProblem
from foretell.service.model.events import OBSERVED, Feedback, Record
from foretell.service.model.running import Running

Find: TypeAlias = Callable[[ActiveCampaign, Sequence[int], Log], Awaitable[set[int]]]
"""Returns which of some decisions of a campaign the log holds."""


class AboutDecision(Struct, frozen=True, gc=False):
    """Feedback, and the decision that it is about."""

    number: int
    """That of the decision."""
    active: ActiveCampaign
    event: Feedback
    due: int
    """When its window closes, by the configuration that the record names."""

    def draft(self) -> Draft:
        """Return the record to be written."""
        campaign, event = self.active.number, self.event
        return Draft(campaign, event, self.number, ((campaign, event_key(event.event_id)),))


def event_key(event_id: str) -> bytes:
    """Return the key that feedback claims."""
    return b"e:" + event_id.encode()


class Waiting:
    """What each of some events waits for."""

    def __init__(
        self,
        feedback: Sequence[AboutDecision],
        missing: set[int],
        archived: set[int],
        targets: dict[int, Record | None],
    ) -> None:
        """Park what is about a decision that is missing, or corrects what is no reward of its.

        What is about a decision that is archived waits for nothing.
        """
        self.feedback = feedback
        self.missing = missing
        """The decisions that the log does not hold, and never held."""
        self.archived = archived
        """The decisions that are archived."""
        self.targets = targets
        """For each correction, by its index, what it corrects."""
        self.parked = {
            index
            for index, target in targets.items()
            if feedback[index].number not in archived
            and not _is_reward_of(target, feedback[index].number)
        }
        """The indices of the events that wait for something."""
        if missing:
            self.parked |= {index for index, one in enumerate(feedback) if one.number in missing}
        self.full: dict[int, RequestProblem] = {}
        """The events for which there is no place, by their index."""
        self._taken: list[int] = []

    @classmethod
    async def find(cls, feedback: Sequence[AboutDecision], log: Log, turns: Turns) -> Self:
        """Look up what feedback waits for, in the log and among what came together."""
        missing, targets = await _missing(feedback, log, turns), await _targets(feedback, log)
        archived = await archived_among(missing, log)
        await turns.pause()
        return cls(feedback, missing - archived, archived, targets)

    async def take_places(self, log: Log) -> None:
        """Take a place for each event that is parked and is not in the log already."""
        read: dict[int, int] = {}
        for index, one in enumerate(self.feedback):
            if index in self.parked:
                number, active, places = one.number, one.active, one.active.parking
                try:
                    places.check_campaign(active.campaign)
                    about = _parked_about(active.campaign, number)
                    if about is None:
                        if number not in read:
                            count = _count_lost if number in self.missing else _count_parked
                            read[number] = await count(active, number, log)
                        about = read[number]
                    places.take(active.campaign, number, about)
                    self._taken.append(index)
                except Conflict as error:
                    self.full[index] = error
        if self.full:
            await self._let_duplicates_through(log)

    async def _let_duplicates_through(self, log: Log) -> None:
        """Refuse no event that is in the log: sent again, it takes no place."""
        wanted: dict[int, set[bytes]] = {}
        for index in self.full:
            one = self.feedback[index]
            wanted.setdefault(one.active.number, set()).add(event_key(one.event.event_id))
        known = {number: await log.by_key(number, sorted(keys)) for number, keys in wanted.items()}
        for index in list(self.full):
            one = self.feedback[index]
            if event_key(one.event.event_id) in known[one.active.number]:
                del self.full[index]
            else:
                one.active.count("rejected")

    def settle(self, written: Sequence[Written | None]) -> None:
        """Note which of the events with a place were written."""
        for index in self._taken:
            result, one = written[index], self.feedback[index]
            seq = result.record.seq if isinstance(result, Accepted) else None
            one.active.parking.settle(one.number, seq)


async def _missing(feedback: Sequence[AboutDecision], log: Log, turns: Turns) -> set[int]:
    """Return the decisions that the log does not hold, as after a backup was restored.

    Those are brought to hand whose rewards a receipt adds up, where the fold does not do so.
    """
    about: dict[int, tuple[ActiveCampaign, tuple[set[int], set[int]]]] = {}
    for some in in_pieces(feedback):
        for one in some:
            active = one.active
            if active.number not in about:
                about[active.number] = active, (set(), set())
            about[active.number][1][one.event.stage > 0].add(one.number)
        await turns.pause()
    missing: set[int] = set()
    for active, (signals, rewards) in about.values():
        early, passed = active.campaign.early, active.campaign.passed[0]
        if active.folding:
            added_up = rewards - early.rewarded.lacking(rewards)
            unread = early.must_be_read(signals | (rewards - added_up), passed)
        else:
            added_up, unread = signals | rewards, set()
        await turns.pause()
        missing |= await _missing_of(active, added_up, _learned, log, turns)
        missing |= await _missing_of(active, unread, _stored, log, turns)
    return missing


async def _missing_of(
    active: ActiveCampaign, decisions: set[int], find: Find, log: Log, turns: Turns
) -> set[int]:
    """Return which of some decisions are neither at hand nor found."""
    missing: set[int] = set()
    unknown: list[int] = []
    for some in in_pieces(sorted(decisions)):
        unknown += [number for number in some if not active.campaign.knows(number)]
        await turns.pause()
    for first in range(0, len(unknown), DECISIONS_PER_READ):
        read = unknown[first : first + DECISIONS_PER_READ]
        missing |= set(read) - await find(active, read, log)
        await turns.pause()
    return missing


async def archived_among(decisions: set[int], log: LogReader) -> set[int]:
    """Return which of some decisions are archived."""
    archives = await log.archives() if decisions else []
    return {number for number in decisions if any(one.holds(number) for one in archives)}


async def _learned(active: ActiveCampaign, numbers: Sequence[int], log: Log) -> set[int]:
    """Bring decisions to hand, and return which of them the log holds.

    If the state has become another meanwhile, what was read may lack a record of it.
    """
    campaign, position = active.campaign, active.campaign.position
    found = await log.decisions(active.number, numbers)
    if active.campaign is campaign and campaign.position == position:
        campaign.learn(found)
    return {one.number for one in found}


async def _stored(active: ActiveCampaign, numbers: Sequence[int], log: Log) -> set[int]:
    """Note which of some decisions the log holds, and return them."""
    found = set(await log.decided(active.number, numbers))
    active.campaign.early.stored.add(found)
    return found


async def _targets(feedback: Sequence[AboutDecision], log: Log) -> dict[int, Record | None]:
    """Return for each correction what it corrects: in the log, or sent together with it."""
    targets: dict[int, tuple[int, bytes]] = {}
    for index, one in enumerate(feedback):
        if one.event.target is not None:
            targets[index] = one.active.number, event_key(one.event.target)
    if not targets:
        return {}
    wanted: dict[int, set[bytes]] = {}
    for campaign, key in targets.values():
        wanted.setdefault(campaign, set()).add(key)
    known = {number: await log.by_key(number, sorted(keys)) for number, keys in wanted.items()}
    for one in feedback:
        campaign, event = one.active.number, one.event
        if event.target is None and campaign in known:
            together = Record(0, campaign, one.number, event)
            known[campaign].setdefault(event_key(event.event_id), together)
    return {index: known[campaign].get(key) for index, (campaign, key) in targets.items()}


async def _count_parked(active: ActiveCampaign, number: int, log: Log) -> int:
    """Count what is parked about a decision that is not at hand, which then is.

    An event that is refused leaves no record, so that the fold would never read the decision: all
    of it would be read again for each. If the fold has gone on meanwhile, what was read may lack a
    record of it, and is not kept.
    """
    campaign, position = active.campaign, active.campaign.position
    found = await log.decisions(active.number, [number])
    if active.campaign is campaign and campaign.position == position:
        campaign.learn(found)
    known = _parked_about(campaign, number)
    if known is not None:
        return known
    read = (Running.of(campaign.rules, one, campaign.last_refit) for one in found)
    return sum(one.reward.unmatched for one in read)


def _parked_about(campaign: Campaign, number: int) -> int | None:
    """Return how much is parked about a decision; None for one that is not at hand."""
    running = campaign.at_hand(number)
    return None if running is None else running.reward.unmatched


async def _count_lost(active: ActiveCampaign, number: int, log: Log) -> int:
    """Count what is parked about a decision that the log does not hold: all that is about it."""
    return await log.count_about(number, active.campaign.position, parking.PARKED_PER_DECISION)


def _is_reward_of(record: Record | None, decision: int) -> bool:
    """Return whether a record is a reward of a decision, which a correction can change."""
    return (
        record is not None
        and record.decision == decision
        and isinstance(record.event, Feedback)
        and record.event.verb_index == OBSERVED
        and record.event.stage > 0
    )
