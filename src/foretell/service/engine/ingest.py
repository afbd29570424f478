"""Ingest: a decision or feedback becomes a record of the log, and is answered when it is durable.

Nothing here changes a campaign: that is the fold's. A decision is drawn from the folded state and
this process's own decisions under way; a receipt says what is known when the record is written, and
the history of a decision says what became of it.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Callable
from random import Random
from time import perf_counter
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Raw

from foretell import protocol
from foretell.errors import ForetellError
from foretell.service.engine.runtime import Runtime
from foretell.service.engine.waiting import AboutDecision, Waiting
from foretell.service.log.errors import Damaged, LogClosed
from foretell.service.log.protocol import Accepted, Draft, Duplicate, Taken, Written
from foretell.service.model import config as config_rules
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.decider import Choice, Eligible
from foretell.service.model.decision_id import UNKNOWN_ID
from foretell.service.model.errors import Conflict, Forbidden, NotFound, RequestProblem, Unusable
from foretell.service.model.events import (
    MODES,
    VOID,
    Decided,
    Feedback,
    Record,
    moment,
)
from foretell.service.model.feedback import (
    AnyReport,
    clipped_sentence,
    event_id_in,
    feedback_event,
    same_report,
    why_parked,
)
from foretell.service.model.timestamps import format_timestamp
from foretell.service.model.validation import refuse_json

LONG_TURN_SECONDS = 0.002
"""Reading the events of a batch for longer than this, other requests get their turn."""
_ITEM = msgspec.json.Decoder(protocol.FeedbackItem)

Done = TypeVar("Done")


class _Drawn(NamedTuple):
    """A choice, and what a sticky unit has to do with it."""

    choice: Choice
    first: int = 0
    """The decision that first gave the unit this action."""
    unit_action: int | None = None
    """The n under which the unit is given a new action."""


class Ingest:
    """Decisions and feedback: the part of the engine that every request of a product goes to."""

    def __init__(self, runtime: Runtime) -> None:
        """Append to the runtime's log."""
        self.runtime = runtime
        self._nonces = Random(secrets.randbits(256))  # noqa: S311  (mixed with a secret seed)

    async def decide(
        self, name: str, ask: protocol.DecisionRequest
    ) -> tuple[protocol.DecisionAnswer, bool]:
        """Choose an action; return the answer, and whether the decision is new.

        The same decision_key gets the same decision again.
        """
        active = self.runtime.find(name)
        if ask.decision_key is not None:
            key = b"d:" + ask.decision_key.encode()
            earlier = (await self.runtime.log.by_key(active.number, [key])).get(key)
            if earlier is not None:
                return await self._repeat(active, ask, earlier), False
        if active.config.status != "running":
            raise Conflict(config_rules.why_not_deciding(active.config))
        eligible = active.eligible(ask.eligible)
        unit = None if ask.unit is None else self.runtime.unit_hash(ask.unit)
        nonce = self._nonces.getrandbits(64)
        while True:
            drawn = await self._draw(active, eligible, unit, nonce)
            policy = active.config.policy
            draft = self._draft(active, ask, eligible, unit, nonce, drawn)
            written = await self._append_decision(active, draft, nonce)
            if isinstance(written, Accepted):
                return self._answer(active, written.record, policy), True
            if isinstance(written, Duplicate):
                return await self._repeat(active, ask, written.earlier), False

    async def _draw(
        self, active: ActiveCampaign, eligible: Eligible, unit: bytes | None, nonce: int
    ) -> _Drawn:
        """Choose; a sticky unit gets the first of its actions that is eligible now."""
        if not active.config.sticky:
            return _Drawn(active.decider.choose(active.overlay, eligible, nonce))
        if unit is None:
            raise Unusable(
                f"the campaign {active.config.name!r} is sticky and needs a unit, got none: "
                f"send the unit that keeps its action",
                field="unit",
            )
        given = await self.runtime.log.unit_actions(active.number, unit)
        for one in given:
            if eligible.mask[one.action]:
                position = active.campaign.position
                return _Drawn(Choice(one.action, 1.0, "sticky", position), one.decision)
        choice = active.decider.choose(active.overlay, eligible, nonce)
        return _Drawn(choice, unit_action=len(given))

    def _draft(
        self,
        active: ActiveCampaign,
        ask: protocol.DecisionRequest,
        eligible: Eligible,
        unit: bytes | None,
        nonce: int,
        drawn: _Drawn,
    ) -> Draft:
        choice, key, count = drawn.choice, ask.decision_key, len(eligible.actions)
        event = Decided(
            active.version,
            choice.action,
            choice.propensity,
            MODES.index(choice.mode),
            count if count == eligible.mask.size else eligible.bits,
            nonce,
            choice.position,
            key,
            b"" if key is None else self._request_digest(ask),
            drawn.first,
        )
        claims = () if key is None else ((active.number, b"d:" + key.encode()),)
        context = b"" if ask.context is None else msgspec.json.encode(ask.context)
        return Draft(active.number, event, 0, claims, unit, drawn.unit_action, context)

    async def _append_decision(self, active: ActiveCampaign, draft: Draft, nonce: int) -> Written:
        """Append a decision, which is under way until it is folded or known not to be written."""
        assert isinstance(draft.event, Decided)  # noqa: S101  (it was drafted so)
        active.overlay.add(nonce, draft.event.action)
        try:
            (written,) = await self.runtime.log.append([draft])
        except BaseException:
            active.overlay.drop(nonce)
            raise
        if not isinstance(written, Accepted):
            active.overlay.drop(nonce)
        return written

    async def _repeat(
        self, active: ActiveCampaign, ask: protocol.DecisionRequest, earlier: Record
    ) -> protocol.DecisionAnswer:
        """Answer a request again."""
        if not isinstance(earlier.event, Decided) or earlier.event.key != ask.decision_key:
            raise Damaged("the key of record", earlier.seq)
        if earlier.event.request != self._request_digest(ask):
            raise Unusable(
                f"the decision_key {ask.decision_key!r} was used for another request: "
                f"take a key of its own for each decision",
                field="decision_key",
            )
        policy = await self.runtime.policy_at(active.number, earlier.event.config)
        return self._answer(active, earlier, policy)

    async def feedback(self, decision_id: str, report: AnyReport) -> protocol.Receipt:
        """Take in a signal, a reward, a correction or a void."""
        (receipt,) = await self._take_in([self._read(decision_id, report)])
        if isinstance(receipt, RequestProblem):
            raise receipt
        if receipt.status == "rejected":
            raise Unusable(receipt.detail or "", field="event_id")
        return receipt

    async def batch(self, items: list[Raw], own: str | None = None) -> list[protocol.Receipt]:
        """Take in many events, each for itself; of one campaign alone where it is named."""
        self.runtime.check_open()
        parsed: list[AboutDecision | protocol.Receipt] = []
        turn = perf_counter()
        for raw in items:
            parsed.append(_attempt(self._read_item, raw, own))
            if perf_counter() - turn > LONG_TURN_SECONDS:
                await asyncio.sleep(0)
                turn = perf_counter()
        sound = [feedback for feedback in parsed if isinstance(feedback, AboutDecision)]
        self.runtime.check_open()
        taken = [
            protocol.Receipt("rejected", detail=str(one))
            if isinstance(one, RequestProblem)
            else one
            for one in await self._take_in(sound)
        ]
        receipts = iter(taken)
        results = [one if isinstance(one, protocol.Receipt) else next(receipts) for one in parsed]
        for raw, receipt in zip(items, results, strict=True):
            if receipt.status == "rejected":
                receipt.event_id = event_id_in(raw)
        return results

    def _read_item(self, raw: Raw, own: str | None) -> AboutDecision:
        try:
            item = _ITEM.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            refuse_json(protocol.FeedbackItem, raw, error)
        return self._read(item.decision_id, item, own)

    def _read(self, decision_id: str, report: AnyReport, own: str | None = None) -> AboutDecision:
        """Find out which decision a report is about, and make it an event."""
        self.runtime.check_open()
        token = self.runtime.secrets.read(decision_id)
        active = None if token is None else self.runtime.by_number.get(token.campaign)
        if token is None or active is None:
            raise NotFound(
                f"there is no decision with the decision_id {decision_id[:20]!r}…: {UNKNOWN_ID}",
                field="decision_id",
            )
        if own not in (None, active.config.name):
            raise Forbidden(
                f"the key is for the campaign {own!r} alone, and this decision is one of another: "
                f"use a key for that one"
            )
        try:
            event = feedback_event(report, active, token.number, self.runtime.latest)
            due = active.campaign.rules.due(event.stage, moment(token.number))
            return AboutDecision(token, active, event, due)
        except RequestProblem:
            active.count("rejected")
            raise

    async def _take_in(
        self, feedback: list[AboutDecision]
    ) -> list[protocol.Receipt | RequestProblem]:
        """Write feedback, and say what became of each; what there is no room for is a problem."""
        log = self.runtime.log
        waiting = await Waiting.find(feedback, log)
        written: list[Written | None] = [None] * len(feedback)
        try:
            if any(waiting.parked):
                await waiting.take_places(log)
            going = [index for index in range(len(feedback)) if index not in waiting.full]
            results = await log.append([feedback[index].draft() for index in going])
            for index, result in zip(going, results, strict=True):
                written[index] = result
        finally:
            waiting.settle(written)
        receipts = [
            waiting.full[index] if result is None else self._receipt(waiting, index, result)
            for index, result in enumerate(written)
        ]
        for active in {id(one.active): one.active for one in feedback}.values():
            if active.uncounted:
                await self.runtime.write_counts(active)
        return receipts

    def _receipt(self, waiting: Waiting, index: int, written: Written) -> protocol.Receipt:
        token, active, event, due = waiting.feedback[index]
        assert not isinstance(written, Taken)  # noqa: S101  (only decisions are for units)
        if isinstance(written, Duplicate):
            earlier = written.earlier
            _refuse_other_event(event.event_id, earlier)
            if earlier.decision == token.number and same_report(earlier.event, event):
                active.count("duplicates")
                return protocol.Receipt("duplicate", event.event_id)
            active.count("rejected")
            return protocol.Receipt(
                "rejected",
                event.event_id,
                f"the event_id {event.event_id!r} was used for another event: "
                f"take an id of its own for each event, and correct the other if it is wrong",
            )
        if waiting.parked[index]:
            target = waiting.targets[index]
            known = None if target is None else target.event
            return protocol.Receipt("parked", event.event_id, why_parked(event, known))
        late = event.verb_index != VOID and written.record.recorded_at >= due
        receipt = protocol.Receipt("late" if late else "accepted", event.event_id)
        if event.stage and (total := active.campaign.clipped(written.record)) is not None:
            receipt.clipped = True
            receipt.detail = clipped_sentence(total, active.config.reward_range)
        return receipt

    def _answer(
        self, active: ActiveCampaign, record: Record, policy: str
    ) -> protocol.DecisionAnswer:
        event = record.event
        assert isinstance(event, Decided)  # noqa: S101  (the record of a decision)
        return protocol.DecisionAnswer(
            self.runtime.decision_id(active.number, record.seq, event),
            active.config.actions[event.action],
            event.propensity,
            policy,
            format_timestamp(active.campaign.rules.due(-1, record.recorded_at)),
            event.mode,
        )

    def _request_digest(self, ask: protocol.DecisionRequest) -> bytes:
        """Digest a request, so that its key cannot be reused for a different request.

        The digest is keyed: it stays when the unit is erased, and must not help to guess the unit.
        """
        asked = msgspec.json.encode((ask.unit, ask.eligible, ask.context), order="deterministic")
        return hashlib.blake2b(asked, key=self.runtime.secrets[0], digest_size=8).digest()


def _refuse_other_event(event_id: str, earlier: Record) -> None:
    """Refuse a record that does not have the id under which it was found."""
    if not isinstance(earlier.event, Feedback) or earlier.event.event_id != event_id:
        raise Damaged("the key of record", earlier.seq)


def _attempt(
    work: Callable[[Raw, str | None], Done], event: Raw, own: str | None
) -> Done | protocol.Receipt:
    """Process one event of many; if that fails, this event alone is rejected."""
    try:
        return work(event, own)
    except (Damaged, LogClosed):
        raise
    except ForetellError as error:
        return protocol.Receipt("rejected", detail=str(error))
    except RecursionError:
        detail = "the event has too many arrays and objects inside each other: send fewer"
        return protocol.Receipt("rejected", detail=detail)
