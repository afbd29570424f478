"""Feedback: a report becomes a record of the log, and gets its receipt when it is durable.

Nothing here changes a campaign: that is the fold's.
"""

from __future__ import annotations

from itertools import compress

import msgspec
from msgspec import Raw

from foretell import protocol
from foretell.errors import ForetellError
from foretell.service.engine.receipts import receipt_of
from foretell.service.engine.runtime import Runtime
from foretell.service.engine.turns import Turns, in_pieces
from foretell.service.engine.waiting import AboutDecision, Waiting
from foretell.service.log.errors import Damaged, LogClosed
from foretell.service.log.protocol import Draft, Duplicate, Written
from foretell.service.model.checks.validation import refuse_json
from foretell.service.model.decision_id import UNKNOWN_ID
from foretell.service.model.errors import Forbidden, NotFound, RequestProblem, Unusable
from foretell.service.model.events import moment
from foretell.service.model.feedback import AnyReport, event_id_in, feedback_event

_ITEM = msgspec.json.Decoder(protocol.FeedbackItem)


class FeedbackIntake:
    """The part of the engine that takes in signals, rewards, corrections and voids."""

    def __init__(self, runtime: Runtime) -> None:
        """Append to the runtime's log."""
        self.runtime = runtime
        self.unread = 0
        """Events that were rejected without a campaign that could count them."""

    async def feedback(
        self, decision_id: str, report: AnyReport, own: str | None = None
    ) -> protocol.Receipt:
        """Take in a signal, a reward, a correction or a void; of the campaign `own`, if any."""
        self.runtime.check_open()
        changes = self.runtime.secrets.changes
        try:
            about = self._read(decision_id, report, own)
        except NotFound:
            if not await self.runtime.learn_secrets(changes):
                raise
            self.unread -= 1
            about = self._read(decision_id, report, own)
        (receipt,) = await self._take_in([about], Turns())
        if isinstance(receipt, RequestProblem):
            raise receipt
        if receipt.status == "rejected":
            raise Unusable(receipt.detail or "", field="event_id")
        return receipt

    async def batch(self, items: list[Raw], own: str | None = None) -> list[protocol.Receipt]:
        """Take in many events, each for itself; of the campaign `own` alone, if any."""
        parsed: list[AboutDecision | ForetellError] = []
        turns, changes = Turns(), self.runtime.secrets.changes
        for raws in in_pieces(items):
            self.runtime.check_open()
            parsed += [self._read_item(raw, own) for raw in raws]
            await turns.pause()
        unknown = [index for index, one in enumerate(parsed) if isinstance(one, NotFound)]
        if unknown and await self.runtime.learn_secrets(changes):
            self.unread -= len(unknown)
            for index in unknown:
                parsed[index] = self._read_item(items[index], own)
        await turns.pause()
        sound = [feedback for feedback in parsed if isinstance(feedback, AboutDecision)]
        self.runtime.check_open()
        taken = iter(await self._take_in(sound, turns))
        results: list[protocol.Receipt] = []
        for some in in_pieces(range(len(items))):
            for index in some:
                read = parsed[index]
                receipt = next(taken) if isinstance(read, AboutDecision) else read
                if isinstance(receipt, ForetellError):
                    receipt = protocol.Receipt("rejected", detail=str(receipt))
                if receipt.status == "rejected":
                    receipt.event_id = event_id_in(items[index])
                results.append(receipt)
            await turns.pause()
        return results

    def _read_item(self, raw: Raw, own: str | None) -> AboutDecision | ForetellError:
        """Read one event of many; if it cannot be used, this event alone is rejected."""
        try:
            item = self._parsed(raw)
            return self._read(item.decision_id, item, own)
        except (Damaged, LogClosed):
            raise
        except ForetellError as error:
            return error
        except RecursionError:
            return Unusable(
                "the event has too many arrays and objects inside each other: send fewer"
            )

    def _parsed(self, raw: Raw) -> protocol.FeedbackItem:
        try:
            return _ITEM.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            self.unread += 1
            refuse_json(protocol.FeedbackItem, raw, error)
        except RecursionError:
            self.unread += 1
            raise

    def _read(self, decision_id: str, report: AnyReport, own: str | None) -> AboutDecision:
        """Find out which decision a report is about, and make it an event."""
        token = self.runtime.secrets.read(decision_id)
        active = None if token is None else self.runtime.by_number.get(token.campaign)
        if token is None or active is None:
            self.unread += 1
            raise NotFound(
                f"there is no decision with the decision_id {decision_id[:20]!r}…: {UNKNOWN_ID}",
                field="decision_id",
            )
        try:
            self.runtime.refuse_other(active, own)
        except Forbidden:
            self.unread += 1
            raise
        try:
            event = feedback_event(report, active, token.number, self.runtime.latest)
            due = active.campaign.rules.due(event.stage, moment(token.number))
            return AboutDecision(token.number, active, event, due)
        except RequestProblem:
            active.count("rejected")
            active.verdicts["rejected"] += 1
            raise

    async def _take_in(
        self, feedback: list[AboutDecision], turns: Turns
    ) -> list[protocol.Receipt | RequestProblem]:
        """Write feedback, and say what became of each; what there is no room for is a problem."""
        log = self.runtime.log
        waiting = await Waiting.find(feedback, log, turns)
        written: list[Written | None] = [None] * len(feedback)
        try:
            if waiting.parked:
                await waiting.take_places(log)
            going = [index for index in range(len(feedback)) if index not in waiting.full]
            drafts: list[Draft] = []
            for some in in_pieces(going):
                drafts += [feedback[index].draft() for index in some]
                await turns.pause()
            results = await log.append(drafts)
            for index, result in zip(going, results, strict=True):
                written[index] = result
        finally:
            waiting.settle(written)
        receipts: list[protocol.Receipt | RequestProblem] = []
        for some in in_pieces(range(len(feedback))):
            for index in some:
                one = written[index]
                receipt = waiting.full[index] if one is None else receipt_of(waiting, index, one)
                receipts.append(receipt)
                verdict = receipt.status if isinstance(receipt, protocol.Receipt) else "rejected"
                feedback[index].active.verdicts[verdict] += 1
            await turns.pause()
        repeated = [isinstance(result, Duplicate) for result in written]
        for active in {id(one.active): one.active for one in compress(feedback, repeated)}.values():
            await self.runtime.write_counts(active)
        return receipts
