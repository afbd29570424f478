"""The load: decisions, signals, rewards, corrections and changes, many at a time."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path
from typing import Any

from tests.torture.book import FEEDBACK, Book, Item
from tests.torture.changes import CAMPAIGNS, SIGNALS, Changes
from tests.torture.linearizability import OTHER, Operation
from tests.torture.verbs import Body, NoAnswer, Refused, Service, kind_of


class Traffic:
    """Sends, and keeps the book."""

    def __init__(
        self, rng: random.Random, folder: Path | None = None, *, keyed: bool = True
    ) -> None:
        """Draw everything from `rng`, and keep copies in a folder, where there is one.

        Without `keyed`, decisions have no keys at all.
        """
        self.rng = rng
        self.keyed = keyed
        self.book = Book()
        self.changes = Changes(self, folder)
        self.number = 0
        self.batch = 2, 12
        """How many events a batch has, at least and at most."""
        self.refused: Counter[str] = Counter()
        self.loses_decisions = False
        """Whether decisions may be lost with the power, so that their keys are new again."""
        self.failures: list[str] = []
        """Answers that nobody should get."""

    async def set_up(self, service: Service) -> None:
        """Make every campaign that is not known to be there."""
        for name, body in CAMPAIGNS.items():
            if not self.made(name):
                await self.send(service, "create", body, f"c/{name}")
            elif f"st/{name}" in self.book.items:  # whoever has paused it may be gone
                await self.changes.set_status(service, name, "start")

    def made(self, campaign: str) -> bool:
        """Return whether a campaign is known to be there."""
        item = self.book.items.get(f"c/{campaign}")
        return item is not None and bool(item.answers)

    def _not_made(self, item: Item) -> bool:
        """Return whether something is about a campaign that could not be made so far."""
        campaign = item.body.get("campaign")
        return campaign is not None and not self.made(campaign)

    async def run(self, service: Service, events: int, workers: int = 12) -> None:
        """Send about so many events, until the server does not answer any more."""
        last = self.number + events

        async def work() -> None:
            while self.number < last:
                await self.one(service)

        tasks = [asyncio.create_task(work()) for _ in range(workers)]
        try:
            for result in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(result, BaseException) and not isinstance(result, NoAnswer):
                    raise result
        finally:
            for task in tasks:
                task.cancel()

    async def resend(self, service: Service, at_once: int = 1) -> None:
        """Send again what was not answered, and some of what was, so many at once."""
        answered = [item for item in self.book.items.values() if item.answers]
        some = self.rng.sample(answered, min(len(answered), 12))
        left = [
            item
            for item in reversed([*self.book.open(), *some])
            if item.verb in {"decide", "add_action", *FEEDBACK} and item.name[0] != "?"
        ]

        async def send_on() -> None:
            while left:
                item = left.pop()
                await self.send(service, item.verb, item.body, item.name)

        await asyncio.gather(*(send_on() for _ in range(at_once)))

    async def one(self, service: Service) -> None:
        """Send something."""
        self.number += 1
        drawn = self.rng.random()
        if drawn < 0.38 or not self.book.decisions:
            await self._decide(service)
        elif drawn < 0.59:
            await self._feedback(service, self._signal())
        elif drawn < 0.77:
            await self._feedback(service, self._reward())
        elif drawn < 0.82:
            await self._feedback(service, self._correction())
        elif drawn < 0.85:
            await self._feedback(service, self._void())
        elif drawn < 0.91:
            await self._batch(service)
        elif drawn < 0.925:
            await self._again(service)
        elif drawn < 0.935:
            await self._contend(service)
        else:
            await self.changes.one(service)

    async def send(
        self, service: Service, verb: str, body: Body, name: str, *, contended: bool = False
    ) -> Any:
        """Send one thing and note the answer; None where it was refused."""
        item = self.book.send(verb, body, name)
        item.contended |= contended
        known = any(isinstance(answer, dict) for answer in item.answers)
        operation = self.book.begin(item, body)
        try:
            answer = await service.call(verb, body)
        except Refused as refused:
            self._note_refusal(item, refused, operation)
            return None
        self.book.done[kind_of(verb, body)] += 1
        self.note(item, answer, operation)
        if known and verb == "decide" and answer["new"] and not self.loses_decisions:
            self.failures.append(f"answer: {item.name} was answered before, and is 201 again")
        return answer

    def note(self, item: Item, answer: Any, operation: Operation | None) -> None:
        """Note an answer."""
        item.answers.append(answer)
        if operation is not None:
            decided = isinstance(answer, dict)
            known = f"decision {answer['decision_id']}" if decided else answer
            self.book.history.answer(operation, known)
        if answer == "duplicate":
            self.book.duplicates[item.name.split("/")[1]] += 1
        if item.verb == "decide":
            known = (item.body["campaign"], answer["decision_id"])
            if len(item.answers) == 1:
                self.book.decisions.append(known)

    def _note_refusal(self, item: Item, refused: Refused, operation: Operation | None) -> None:
        """What a repeated change is refused for is that it is there already."""
        repeated = item.sent > 1 and item.verb in {"create", "add_action"}
        if refused.status == 409 and repeated and "already" in str(refused):  # and is not refit
            item.answers.append("there")
        elif refused.status == 422 and item.verb == "add_signal":
            self.refused["add_signal 422"] += 1
        elif refused.status == 422 and item.contended:
            item.answers.append(OTHER)
            if operation is not None:
                self.book.history.answer(operation, OTHER)
        elif refused.status in {409, 503} or (refused.status == 404 and self._not_made(item)):
            self.refused[f"{item.verb} {refused.status}"] += 1
        else:
            self.failures.append(f"failed: {item.verb} {item.name}: {refused.status} {refused}")

    async def _decide(self, service: Service) -> None:
        campaign = self.rng.choice(list(CAMPAIGNS))
        ask: Body = {}
        name = f"?{self.number}"
        if self.keyed and self.rng.random() < 0.85:
            ask["decision_key"] = f"key-{self.number}"
            name = f"d/{campaign}/{ask['decision_key']}"
        if campaign == "sticky" or self.rng.random() < 0.3:
            ask["unit"] = f"unit-{self.rng.randint(0, 40)}"
            ask["context"] = {"page": self.number, "words": "x" * self.rng.randint(0, 200)}
        await self.send(service, "decide", {"campaign": campaign, "ask": ask}, name)

    async def decide_plainly(self, service: Service, campaign: str) -> Any:
        """Ask for a decision among all actions; None where that was refused."""
        self.number += 1
        body: Body = {"campaign": campaign, "ask": {}}
        return await self.send(service, "decide", body, f"?{self.number}")

    async def decide_and_void(self, service: Service, campaign: str) -> None:
        """Ask for a decision, and say soon that it was never shown."""
        made = await self.decide_plainly(service, campaign)
        if made is not None:
            event = {"kind": "void", "event_id": f"void-{self.number}-{self.rng.random()}"}
            await self._feedback(service, (campaign, {"decision_id": made["decision_id"], **event}))

    def _decision(self) -> tuple[str, str]:
        recent = self.rng.random() < 0.8
        start = max(0, len(self.book.decisions) - 30) if recent else 0
        return self.book.decisions[self.rng.randrange(start, len(self.book.decisions))]

    def _signal(self) -> tuple[str, Body]:
        campaign, decision = self._decision()
        return campaign, {
            "decision_id": decision,
            "signal": self.rng.choice(SIGNALS[campaign]),
            "event_id": f"signal-{self.number}-{self.rng.random()}",
        }

    def _reward(self) -> tuple[str, Body]:
        campaign, decision = self._decision()
        event_id = f"reward-{self.number}-{self.rng.random()}"
        self.book.rewarded.append((campaign, decision, event_id))
        value = round(self.rng.random() * 1.1, 3)
        return campaign, {"decision_id": decision, "value": value, "event_id": event_id}

    def _correction(self) -> tuple[str, Body]:
        if not self.book.rewarded:
            return self._reward()
        campaign, decision, target = self.rng.choice(self.book.rewarded[-60:])
        body: Body = {
            "decision_id": decision,
            "kind": self.rng.choice(("adjust", "retract")),
            "target": target,
            "event_id": f"correction-{self.number}-{self.rng.random()}",
        }
        if body["kind"] == "adjust":
            body["value"] = 0.5
        return campaign, body

    def _void(self) -> tuple[str, Body]:
        campaign, decision = self._decision()
        event_id = f"void-{self.number}-{self.rng.random()}"
        return campaign, {"decision_id": decision, "kind": "void", "event_id": event_id}

    async def _feedback(self, service: Service, made: tuple[str, Body]) -> None:
        campaign, event = made
        await self.send(service, *_alone(event), f"e/{campaign}/{event['event_id']}")

    async def _batch(self, service: Service) -> None:
        made = [
            self.rng.choice((self._signal, self._reward, self._correction, self._void))()
            for _ in range(self.rng.randint(*self.batch))
        ]
        items = []
        for campaign, event in made:
            verb, body = _alone(event)
            item = self.book.send(verb, body, f"e/{campaign}/{event['event_id']}")
            items.append((item, self.book.begin(item, body)))
        try:
            answers = await service.call("batch", {"events": [event for _, event in made]})
        except Refused as refused:
            self._note_refusal(items[0][0], refused, None)
            return
        self.book.done["batch"] += 1
        for (item, operation), answer in zip(items, answers, strict=True):
            if answer == "rejected":
                self.failures.append(f"failed: {item.name} was rejected")
            else:
                self.book.done[kind_of(item.verb, item.body)] += 1
                self.note(item, answer, operation)

    async def _again(self, service: Service) -> None:
        """Send once more what was sent before, answered or not."""
        item = self.rng.choice(list(self.book.items.values())[-200:])
        if item.verb in {"decide", *FEEDBACK} and item.name[0] != "?" and not item.uncertain:
            await self.send(service, item.verb, item.body, item.name)

    async def _contend(self, service: Service) -> None:
        """Send the same key several times at once, now and then with another wish."""
        if self.rng.random() < 0.5:
            campaign = self.rng.choice(list(CAMPAIGNS))
            key = f"contended-{self.number}"
            verb, name = "decide", f"d/{campaign}/{key}"
            bodies: list[Body] = [
                {
                    "campaign": campaign,
                    "ask": {"decision_key": key, "unit": "u", "context": {"page": page}},
                }
                for page in (1, 2)
            ]
        else:
            campaign, event = self._signal()
            verb, _ = _alone(event)
            name = f"e/{campaign}/{event['event_id']}"
            bodies = [_alone({**event, "signal": one})[1] for one in SIGNALS[campaign][-2:]]
        sent = self.rng.choices(bodies, (4, 1)[: len(bodies)], k=self.rng.randint(2, 4))
        calls = [self.send(service, verb, body, name, contended=True) for body in sent]
        for result in await asyncio.gather(*calls, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result


def _alone(event: Body) -> tuple[str, Body]:
    """Return an event of a batch as it is sent by itself."""
    report = {name: value for name, value in event.items() if name != "decision_id"}
    verb = "signal" if "signal" in event else "reward"
    if report.get("kind") == "void":
        verb = report.pop("kind")
    return verb, {"id": event["decision_id"], "report": report}
