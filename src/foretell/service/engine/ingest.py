"""Ingest: a decision or feedback becomes a record of the log and part of its campaign's state.

Everything happens in one event loop: a request is checked, its record is appended and folded into
its campaign, and the answer waits until the record is on disk.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from contextlib import ExitStack
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import Raw

from foretell import protocol
from foretell.errors import ForetellError
from foretell.service.engine.replay import if_decided_at
from foretell.service.engine.runtime import Runtime
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.decider import Choice, Eligible
from foretell.service.model.decision_id import Token, read_decision_id
from foretell.service.model.errors import (
    Conflict,
    Damaged,
    LogClosed,
    NotFound,
    RequestProblem,
    Unusable,
)
from foretell.service.model.events import Decided, Feedback
from foretell.service.model.feedback import (
    event_id_in,
    feedback_event,
    same_report,
    why_parked,
    with_event_id,
)
from foretell.service.model.outcome import FeedbackRecord
from foretell.service.model.timestamps import format_timestamp

MAX_EVENTS_PER_TURN = 100
"""Events of a batch that are taken in before other requests get their turn."""
LONG_TURN_SECONDS = 0.02
"""After a turn that took longer the next one takes in fewer events."""
MAX_EVENTS_PER_DECISION = 1000
"""Each event about a decision is read again whenever another one comes."""
_ITEM = msgspec.json.Decoder(protocol.FeedbackItem)

Done = TypeVar("Done")


class _AboutDecision(NamedTuple):
    """Feedback, and the decision that it is about."""

    token: Token
    active: ActiveCampaign
    event: Feedback


class Ingest:
    """Decisions and feedback: the part of the engine that every request of a product goes to."""

    def __init__(self, runtime: Runtime) -> None:
        """Append to the runtime's log."""
        self.runtime = runtime

    async def decide(
        self, name: str, ask: protocol.DecisionRequest
    ) -> tuple[protocol.DecisionAnswer, bool]:
        """Choose an action; return the answer, and whether the decision is new.

        The same decision_key gets the same decision again.
        """
        runtime = self.runtime
        active, log = runtime.find(name), runtime.log
        campaign, number = active.campaign, active.number
        config = campaign.config
        key = None if ask.decision_key is None else "d:" + ask.decision_key
        request = self._request_digest(ask) if key else b""
        if key is not None and (earlier := log.by_key(number, key)) is not None:
            assert isinstance(earlier.event, Decided)  # noqa: S101  (only they have such keys)
            if earlier.event.request != request:
                raise Unusable(
                    f"the decision_key {ask.decision_key!r} was used for another request: "
                    f"take a key of its own for each decision"
                )
            await runtime.durable()
            policy = runtime.policy_at(number, earlier.seq)
            return self._answer(active, earlier.event, policy), False
        if config.status != "running":
            raise Conflict(f"the campaign {name!r} is {config.status}: start it to decide")
        eligible = active.eligible(ask.eligible)
        now = runtime.clock.now()
        campaign.advance(now, active.load)
        unit = None if ask.unit is None else runtime.unit_hash(ask.unit)
        t = campaign.decided
        choice = self._sticky(active, unit, eligible) if config.sticky and unit else None
        if choice is None:
            choice = active.decider.choose(campaign, eligible)
        event = Decided(
            now,
            t,
            choice.action,
            choice.propensity,
            choice.mode,
            count if (count := len(eligible.actions)) == eligible.mask.size else eligible.bits,
            choice.seq,
            ask.decision_key,
            request,
        )
        context = b"" if ask.context is None else msgspec.json.encode(ask.context)
        campaign.seq = log.append(number, event, t, key, unit, context)
        campaign.decide(event)
        active.dirty = True
        await runtime.durable()
        return self._answer(active, event, config.policy), True

    async def signal(self, decision_id: str, report: protocol.SignalReport) -> protocol.Receipt:
        """Take in a signal."""
        receipt = self._take(decision_id, report)
        await self.runtime.durable()
        return receipt

    async def reward(self, decision_id: str, report: protocol.RewardReport) -> protocol.Receipt:
        """Take in a reward or a correction."""
        receipt = self._take(decision_id, report)
        await self.runtime.durable()
        return receipt

    async def batch(self, items: list[Raw]) -> list[protocol.Receipt]:
        """Take in many events, each for itself."""
        receipts: list[protocol.Receipt] = []
        size = MAX_EVENTS_PER_TURN
        while len(receipts) < len(items):
            begun = perf_counter()
            receipts += self._take_some(items[len(receipts) :][:size])
            slow = perf_counter() - begun > LONG_TURN_SECONDS
            size = max(1, size // 2) if slow else min(MAX_EVENTS_PER_TURN, 2 * size)
            await asyncio.sleep(0)
        await self.runtime.durable()
        return receipts

    def _take_some(self, items: list[Raw]) -> list[protocol.Receipt]:
        """Take in some events; what the log holds about them is read in one go."""
        parsed = [_attempt(self._read_item, raw) for raw in items]
        by_campaign: dict[int, list[_AboutDecision]] = {}
        for feedback in parsed:
            if isinstance(feedback, _AboutDecision):
                by_campaign.setdefault(feedback.active.number, []).append(feedback)
        with ExitStack() as stack:
            for number, some in by_campaign.items():
                rounds = [feedback.token.round for feedback in some]
                keys = ["e:" + feedback.event.event_id for feedback in some]
                stack.enter_context(self.runtime.log.prefetched(number, rounds, keys))
            receipts = [
                feedback
                if isinstance(feedback, protocol.Receipt)
                else _attempt(self._take_or_count, feedback)
                for feedback in parsed
            ]
        for raw, receipt in zip(items, receipts, strict=True):
            if receipt.status == "rejected":
                receipt.event_id = event_id_in(raw)
        return receipts

    def _read_item(self, raw: Raw) -> _AboutDecision:
        item = _ITEM.decode(raw)
        return self._read(item.decision_id, item)

    def _take(
        self, decision_id: str, report: protocol.SignalReport | protocol.RewardReport
    ) -> protocol.Receipt:
        return self._take_or_count(self._read(decision_id, report))

    def _read(
        self,
        decision_id: str,
        report: protocol.SignalReport | protocol.RewardReport | protocol.FeedbackItem,
    ) -> _AboutDecision:
        """Find out which decision a report is about, and make it an event."""
        token = read_decision_id(decision_id, self.runtime.secrets)
        active = None if token is None else self.runtime.by_number.get(token.campaign)
        self.runtime.check_open()
        if token is None or active is None:
            raise NotFound("there is no such decision: send the decision_id as the service gave it")
        try:
            event = feedback_event(report, token, self.runtime.clock.now(), active.signals)
        except RequestProblem:
            self._count(active, "rejected")
            raise
        return _AboutDecision(token, active, event)

    def _take_or_count(self, feedback: _AboutDecision) -> protocol.Receipt:
        try:
            return self._take_in(feedback)
        except Unusable:
            self._count(feedback.active, "rejected")
            raise

    def _take_in(self, feedback: _AboutDecision) -> protocol.Receipt:
        token, active, event = feedback
        log = self.runtime.log
        records = log.decision_records(active.number, token.round)
        records = if_decided_at(records, token.decided_at)
        known = [] if records is None else records.feedback
        event = with_event_id(event, known)
        key = "e:" + event.event_id
        earlier = log.by_key(active.number, key)
        if earlier is not None:
            if not same_report(earlier.event, event):
                raise Unusable(
                    f"the event_id {event.event_id!r} was used for another event: "
                    f"take an id of its own for each event"
                )
            self._count(active, "duplicates")
            return protocol.Receipt("duplicate", event.event_id)
        if len(known) >= MAX_EVENTS_PER_DECISION:
            raise Unusable(
                f"there are {MAX_EVENTS_PER_DECISION} events about this decision, "
                f"and that is the most: add up what belongs together"
            )
        active.campaign.advance(event.recorded_at, active.load)
        seq = log.append(active.number, event, token.round, key)
        status = active.campaign.take(FeedbackRecord(seq, event), records, active.load)
        active.campaign.seq = seq
        active.dirty = True
        detail = self._why_parked(active, event) if status == "parked" else None
        return protocol.Receipt(status, event.event_id, detail)  # type: ignore[arg-type]

    def _why_parked(self, active: ActiveCampaign, event: Feedback) -> str:
        target = getattr(event, "target", None)
        known = None if target is None else self.runtime.log.by_key(active.number, "e:" + target)
        return why_parked(event, None if known is None else known.event)

    def _sticky(self, active: ActiveCampaign, unit: bytes, eligible: Eligible) -> Choice | None:
        """Choose the first action that a unit ever had and that is eligible now."""
        for _, _, earlier in self.runtime.log.decisions_of_unit(active.number, unit):
            if isinstance(earlier, Decided) and eligible.mask[earlier.action]:
                return Choice(earlier.action, 1.0, "sticky", active.campaign.seq)
        return None

    def _answer(
        self, active: ActiveCampaign, event: Decided, policy: str
    ) -> protocol.DecisionAnswer:
        return protocol.DecisionAnswer(
            self.runtime.decision_id(active.number, event),
            active.config.actions[event.action],
            event.propensity,
            policy,
            format_timestamp(active.campaign.rules.reward_due(event.recorded_at)),
            event.mode,
        )

    def _request_digest(self, ask: protocol.DecisionRequest) -> bytes:
        """Digest a request, so that its key cannot be reused for a different request.

        The digest is keyed: it stays when the unit is erased, and must not help to guess the unit.
        """
        asked = msgspec.json.encode((ask.unit, ask.eligible, ask.context), order="deterministic")
        return hashlib.blake2b(asked, key=self.runtime.secrets[0], digest_size=8).digest()

    def _count(self, active: ActiveCampaign, name: str) -> None:
        active.counts[name] = active.counts.get(name, 0) + 1
        self.runtime.log.add_counts(active.number, name, 1)


def _attempt(work: Callable[[Any], Done], event: Any) -> Done | protocol.Receipt:
    """Process one event of many; if that fails, this event alone is rejected."""
    try:
        return work(event)
    except (Damaged, LogClosed):
        raise
    except (ForetellError, msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        return protocol.Receipt("rejected", detail=str(error))
