"""What every answer must have been, and every state must be, worked out from the final log alone.

Nothing here asks the engine. Lateness follows from the stamps of two records and the configuration
that the later one names; the state of a policy that reads a stream from its whole life again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from foretell.policies.state import fingerprint
from foretell.service.engine.replay import refit_from_log
from foretell.service.log.protocol import LogReader
from foretell.service.model.campaign import Campaign
from foretell.service.model.decision_id import read_decision_id
from foretell.service.model.events import (
    VOID,
    CampaignConfig,
    Configured,
    Decided,
    Feedback,
    Record,
    SecretMade,
)
from tests.model.reference import Decision, FeedbackEvent, Reference, is_void
from tests.model.stream import Life, Moment
from tests.simulation.server import Given
from tests.torture.book import TAKEN, Book, Item

GRID = 10_000
MICROSECONDS = 1_000_000
REFERENCE = Reference("uniform", 1, 1, 0, 0, "default", "default", 0.0, 0.0, 1.0)
"""Adds rewards up; nothing else of it is used."""


@dataclass
class FinalLog:
    """All records of a log, and the configurations they were made under."""

    records: list[Record] = field(default_factory=list)
    configs: dict[tuple[int, int], CampaignConfig] = field(default_factory=dict)
    """By campaign and version."""
    numbers: dict[str, int] = field(default_factory=dict)
    feedback: dict[tuple[int, str], Record] = field(default_factory=dict)
    of_decision: dict[int, list[Record]] = field(default_factory=lambda: defaultdict(list))
    """Feedback by decision."""
    decisions: dict[int, Record] = field(default_factory=dict)
    secrets: dict[int, bytes] = field(default_factory=dict)

    @classmethod
    async def read(cls, log: LogReader) -> FinalLog:
        """Read everything."""
        final = cls()
        while records := await log.records(
            final.records[-1].seq if final.records else 0, log.head(), 1000
        ):
            for record in records:
                final._note(record)
        return final

    def _note(self, record: Record) -> None:
        self.records.append(record)
        event = record.event
        if isinstance(event, Configured):
            self.configs[record.campaign, event.version] = event.config
            self.numbers[event.config.name] = record.campaign
        elif isinstance(event, Feedback):
            self.feedback[record.campaign, event.event_id] = record
            self.of_decision[record.decision].append(record)
        elif isinstance(event, Decided):
            self.decisions[record.seq] = record
        elif isinstance(event, SecretMade):
            self.secrets[event.id] = event.secret

    def closes(self, record: Record, stage: int) -> int:
        """Return when a window closes for the decision that feedback is about."""
        event = record.event
        assert isinstance(event, Feedback)
        rule = self.configs[record.campaign, event.config].stages[stage]
        decided_at = record.decision // 2048
        window = rule.window
        for upto, shorter in rule.kept_windows:
            if decided_at <= upto:
                window = min(window, shorter)
        return -(-(decided_at + round(window * MICROSECONDS)) // GRID) * GRID


def wrong_answers(book: Book, receipts: list[Given], final: FinalLog) -> Iterator[str]:
    """Return a sentence for each answer that the final log contradicts."""
    records = {
        record.event.event_id: record
        for record in final.feedback.values()
        if isinstance(record.event, Feedback)
    }
    for given in receipts:
        record = records.get(given.receipt["event_id"])
        if record is not None and given.before <= record.seq < given.after:
            yield from _wrong_receipt(given, record, final)
    for item in book.items.values():
        if item.verb == "decide":
            yield from _wrong_decisions(item, final)


def _wrong_receipt(given: Given, record: Record, final: FinalLog) -> Iterator[str]:
    """Hold a receipt against its record, and what was known of the decision then."""
    status = given.receipt["status"]
    if status not in TAKEN:
        return
    expected = _expected(record, given.before, final)
    if status not in expected:
        yield f"answer: {record} was answered {status}, and is {' or '.join(expected)}"
    clipped, possible = given.receipt.get("clipped", False), _clipped(record, final)
    if status != "parked" and clipped not in possible:
        yield f"answer: {record} was answered clipped={clipped}, and is {possible}"


def _expected(record: Record, before: int, final: FinalLog) -> tuple[str, ...]:
    """Return what feedback may be answered: lateness exactly, what it corrects as far as known."""
    event = record.event
    assert isinstance(event, Feedback)
    if record.decision not in final.decisions:
        return ("parked",)
    late = event.verb_index != VOID and record.recorded_at >= final.closes(record, event.stage)
    timely = "late" if late else "accepted"
    if event.target is None:
        return (timely,)
    target = final.feedback.get((record.campaign, event.target))
    if target is None or target.decision != record.decision:
        return ("parked",)
    return (timely,) if target.seq < before else (timely, "parked")


def _clipped(record: Record, final: FinalLog) -> set[bool]:
    """Return whether the reward is outside its range, by all that may have been known."""
    event = record.event
    assert isinstance(event, Feedback)
    if not event.stage:
        return {False}
    config = final.configs[record.campaign, event.config]
    low, high = config.reward_range
    others = [one for one in final.of_decision[record.decision] if one is not record]
    possible = set()
    for count in range(len(others) + 1):
        known = Decision(0, 0, [_as_reported(one) for one in [*others[:count], record]])
        total = None if is_void(known) else REFERENCE.total(known)
        possible.add(total is not None and not low <= total <= high)
    return possible


def _wrong_decisions(item: Item, final: FinalLog) -> Iterator[str]:
    new = [answer["new"] for answer in item.answers if isinstance(answer, dict)]
    if sum(new) > 1:
        yield f"answer: {item.name} was answered 201 {sum(new)} times, and was made once"
    if new and not any(new) and item.sent == len(item.answers):
        yield f"answer: {item.name} was never answered 201, and every answer has come"
    for answer in item.answers:
        if not isinstance(answer, dict):
            continue
        token = read_decision_id(answer["decision_id"], final.secrets)
        record = None if token is None else final.decisions.get(token.number)
        if token is None or record is None:
            continue  # the book says that it is lost
        event = record.event
        assert isinstance(event, Decided)
        config = final.configs[record.campaign, event.config]
        same = (token.action, token.propensity) == (event.action, event.propensity)
        if not same or answer["action"] != config.actions[event.action]:
            yield f"answer: {item.name} was answered {answer}, and is {event}"


async def wrong_refits(log: LogReader, campaigns: list[tuple[int, Campaign]]) -> list[str]:
    """Return a sentence for each policy that reads in any order, and is not what a refit gives."""
    wrong = []
    for number, campaign in campaigns:
        if campaign.undoes:
            refit = await refit_from_log(log, number, campaign.config, campaign.position)
            if fingerprint(refit.state) != fingerprint(campaign.state):
                wrong.append(f"state: {campaign.config.name} is not what a refit gives")
    return wrong


def wrong_life(final: FinalLog, name: str, campaign: Campaign) -> list[str]:
    """Return a sentence if a policy that reads a stream has another state than its life gives."""
    number = final.numbers[name]
    moments: list[Moment] = []
    rounds: dict[int, int] = {}
    for record in final.records:
        if record.campaign != number:
            continue
        event = record.event
        if isinstance(event, Decided):
            rounds[record.seq] = len(rounds)
            moments.append(Moment(record.recorded_at, "decide", event.action))
        elif isinstance(event, Feedback) and record.decision in rounds:
            body = rounds[record.decision], _as_reported(record)
            moments.append(Moment(record.recorded_at, "event", body))
    config = final.configs[number, 1]
    signal, reward = config.stages
    life = Life(
        Reference(
            policy=config.policy,
            actions=len(config.actions),
            signals=len(config.signals),
            signal_window=round(signal.window * MICROSECONDS),
            reward_window=round(reward.window * MICROSECONDS),
            signal_silence=signal.silence,
            reward_silence=reward.silence,
            default_reward=reward.default,
            low=config.reward_range[0],
            high=config.reward_range[1],
        )
    ).live(moments, campaign.as_of)
    if fingerprint(life.state) != fingerprint(campaign.state):
        return [f"state: {name} is not what its life gives"]
    return []


def _as_reported(record: Record) -> FeedbackEvent:
    event = record.event
    assert isinstance(event, Feedback)
    kind: str = event.verb
    if kind == "observed":
        kind = "reward" if event.stage else "signal"
    return FeedbackEvent(
        at=record.recorded_at,
        kind=kind,
        event_id=event.event_id,
        signal=int(event.value) if kind == "signal" else 0,
        value=event.value,
        target=event.target,
        occurred=event.occurred,
    )
