"""Intake: how a decision or feedback becomes a record of the log, and the record knowledge.

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
from foretell.service.engine.recovery import matching
from foretell.service.engine.runtime import Core
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.decider import Choice, Eligible
from foretell.service.model.decision_id import Token, read
from foretell.service.model.errors import (
    Conflict,
    Damaged,
    LogClosed,
    NotFound,
    RequestProblem,
    Unusable,
)
from foretell.service.model.events import Decided, Feedback
from foretell.service.model.feedback import id_in, line_of, named, same, why_parked
from foretell.service.model.outcome import FeedbackRecord
from foretell.service.model.timestamps import text

TOGETHER = 100
"""Events of a batch that are taken in before others get their turn, at most."""
LONG = 0.02
"""Seconds: after a turn that took longer the next one is shorter."""
MOST_EVENTS = 1000
"""About one decision: each is read again whenever another one comes."""
_ITEM = msgspec.json.Decoder(protocol.FeedbackItem)

Done = TypeVar("Done")


class _Read(NamedTuple):
    """Feedback, and the decision that it is about."""

    token: Token
    active: ActiveCampaign
    event: Feedback


class Intake(Core):
    """Decisions and feedback: the part of the engine that every request of a product goes to."""

    async def decide(
        self, name: str, ask: protocol.DecisionRequest
    ) -> tuple[protocol.DecisionAnswer, bool]:
        """Choose an action; the same decision_key gives the same decision again."""
        active = self.find(name)
        campaign, number = active.campaign, active.number
        config = campaign.config
        key = None if ask.decision_key is None else "d:" + ask.decision_key
        request = self._request(ask) if key else b""
        if key is not None and (earlier := self.log.by_key(number, key)) is not None:
            assert isinstance(earlier.event, Decided)  # noqa: S101  (only they have such keys)
            if earlier.event.request != request:
                raise Unusable(
                    f"the decision_key {ask.decision_key!r} was used for another request: "
                    f"take a key of its own for each decision"
                )
            await self.durable()
            return self._answer(active, earlier.event, self.policy_at(number, earlier.seq)), False
        if config.status != "running":
            raise Conflict(f"the campaign {name!r} is {config.status}: start it to decide")
        eligible = active.eligible(ask.eligible)
        now = self.clock.now()
        campaign.advance(now, active.load)
        unit = None if ask.unit is None else self.unit(ask.unit)
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
        campaign.seq = self.log.append(number, event, t, key, unit, context)
        campaign.decide(event)
        self.appended(active)
        await self.durable()
        return self._answer(active, event, config.policy), True

    async def signal(self, decision_id: str, report: protocol.SignalReport) -> protocol.Receipt:
        """Take in a signal."""
        receipt = self._take(decision_id, report)
        await self.durable()
        return receipt

    async def reward(self, decision_id: str, report: protocol.RewardReport) -> protocol.Receipt:
        """Take in a reward or a correction."""
        receipt = self._take(decision_id, report)
        await self.durable()
        return receipt

    async def batch(self, items: list[Raw]) -> list[protocol.Receipt]:
        """Take in many events, each for itself."""
        receipts: list[protocol.Receipt] = []
        size = TOGETHER
        while len(receipts) < len(items):
            begun = perf_counter()
            receipts += self._take_some(items[len(receipts) :][:size])
            size = max(1, size // 2) if perf_counter() - begun > LONG else min(TOGETHER, 2 * size)
            await asyncio.sleep(0)
        await self.durable()
        return receipts

    def _take_some(self, items: list[Raw]) -> list[protocol.Receipt]:
        """Take in some events; what the log knows about them is looked up all at once."""
        records = [_attempt(self._line, raw) for raw in items]
        wanted: dict[int, list[_Read]] = {}
        for record in records:
            if isinstance(record, _Read):
                wanted.setdefault(record.active.number, []).append(record)
        with ExitStack() as known:
            for number, some in wanted.items():
                rounds = [record.token.round for record in some]
                keys = ["e:" + record.event.event_id for record in some]
                known.enter_context(self.log.foreseen(number, rounds, keys))
            receipts = [
                record
                if isinstance(record, protocol.Receipt)
                else _attempt(self._take_line, record)
                for record in records
            ]
        for raw, receipt in zip(items, receipts, strict=True):
            if receipt.status == "rejected":
                receipt.event_id = id_in(raw)
        return receipts

    def _line(self, raw: Raw) -> _Read:
        item = _ITEM.decode(raw)
        return self._read(item.decision_id, item)

    def _take(
        self, decision_id: str, report: protocol.SignalReport | protocol.RewardReport
    ) -> protocol.Receipt:
        return self._take_line(self._read(decision_id, report))

    def _read(
        self,
        decision_id: str,
        report: protocol.SignalReport | protocol.RewardReport | protocol.FeedbackItem,
    ) -> _Read:
        """Find out which decision is meant, and what is said about it."""
        token = read(decision_id, self.secrets)
        active = None if token is None else self.by_number.get(token.campaign)
        self.must_write()
        if token is None or active is None:
            raise NotFound("there is no such decision: send the decision_id as the service gave it")
        try:
            return _Read(token, active, line_of(report, token, self.clock.now(), active.signals))
        except RequestProblem:
            self._count(active, "rejected")
            raise

    def _take_line(self, record: _Read) -> protocol.Receipt:
        try:
            return self._take_in(record)
        except Unusable:
            self._count(record.active, "rejected")
            raise

    def _take_in(self, record: _Read) -> protocol.Receipt:
        token, active, event = record
        records = matching(self.log.decision_records(active.number, token.round), token.decided_at)
        known = [] if records is None else records.feedback
        event = named(event, known)
        key = "e:" + event.event_id
        earlier = self.log.by_key(active.number, key)
        if earlier is not None:
            if not same(earlier.event, event):
                raise Unusable(
                    f"the event_id {event.event_id!r} was used for another event: "
                    f"take an id of its own for each event"
                )
            self._count(active, "duplicates")
            return protocol.Receipt("duplicate", event.event_id)
        if len(known) >= MOST_EVENTS:
            raise Unusable(
                f"there are {MOST_EVENTS} events about this decision, and that is the most: "
                f"add up what belongs together"
            )
        active.campaign.advance(event.recorded_at, active.load)
        seq = self.log.append(active.number, event, token.round, key)
        status = active.campaign.take(FeedbackRecord(seq, event), records, active.load)
        active.campaign.seq = seq
        self.appended(active)
        detail = self._why_parked(active, event) if status == "parked" else None
        return protocol.Receipt(status, event.event_id, detail)  # type: ignore[arg-type]

    def _why_parked(self, active: ActiveCampaign, event: Feedback) -> str:
        target = getattr(event, "target", None)
        known = None if target is None else self.log.by_key(active.number, "e:" + target)
        return why_parked(event, None if known is None else known.event)

    def _sticky(self, active: ActiveCampaign, unit: bytes, eligible: Eligible) -> Choice | None:
        """Return a unit the first action it ever had that it can have now."""
        for _, _, earlier in self.log.of_unit(active.number, unit):
            if isinstance(earlier, Decided) and eligible.mask[earlier.action]:
                return Choice(earlier.action, 1.0, "sticky", active.campaign.seq)
        return None

    def _answer(
        self, active: ActiveCampaign, event: Decided, policy: str
    ) -> protocol.DecisionAnswer:
        return protocol.DecisionAnswer(
            self.id_of(active.number, event),
            active.config.actions[event.action],
            event.propensity,
            policy,
            text(active.campaign.rules.reward_due(event.recorded_at)),
            event.mode,
        )

    def _request(self, ask: protocol.DecisionRequest) -> bytes:
        """Digest what was asked, so that a repeated key can be told from a reused one.

        The digest is keyed: it stays when the unit is erased, and nobody may guess by it.
        """
        asked = msgspec.json.encode((ask.unit, ask.eligible, ask.context), order="deterministic")
        return hashlib.blake2b(asked, key=self.secrets[0], digest_size=8).digest()

    def _count(self, active: ActiveCampaign, name: str) -> None:
        active.counts[name] = active.counts.get(name, 0) + 1
        self.log.add_counts(active.number, name, 1)


def _attempt(work: Callable[[Any], Done], what: Any) -> Done | protocol.Receipt:
    """Do something with one event of many; if it cannot be done, that event is rejected."""
    try:
        return work(what)
    except (Damaged, LogClosed):
        raise
    except (ForetellError, msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        return protocol.Receipt("rejected", detail=str(error))
