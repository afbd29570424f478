"""The load: decisions, signals, rewards, corrections and changes, many at a time."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

from foretell.policies.registry import policy as read_policy
from tests.torture.book import Book, Item
from tests.torture.verbs import Body, NoAnswer, Refused, Service

CAMPAIGNS: dict[str, Body] = {
    "stream": {
        "name": "stream",
        "actions": ["a", "b", "c"],
        "signals": ["click", "buy"],
        "policy": "nsd-adaptive",
        "signal_window": 0.1,
        "reward_window": 0.3,
        "explore": 0.05,
    },
    "free": {
        "name": "free",
        "actions": ["a", "b"],
        "signals": ["low", "high"],
        "policy": "ucb",
        "signal_silence": "unknown",
        "reward_silence": "unknown",
        "signal_window": 0.1,
        "reward_window": 0.5,
    },
    "sticky": {
        "name": "sticky",
        "actions": ["a", "b", "c", "d"],
        "signals": ["click"],
        "policy": "sw-ts",
        "signal_window": 0.05,
        "reward_window": 0.1,
        "holdout": 0.1,
        "sticky": True,
    },
}
POLICIES = ("sw-ts(window={})", "sw-ucb(window={})", "nsd-ucrl2(window={})")
FEEDBACK = ("signal", "reward", "void")
SIGNALS = {"stream": ("click", "buy"), "free": ("low", "high"), "sticky": ("click",)}


class Traffic:
    """Sends, and keeps the book."""

    def __init__(self, rng: random.Random, *, keyed: bool = True) -> None:
        """Draw everything from `rng`; without `keyed`, decisions have no keys at all."""
        self.rng = rng
        self.keyed = keyed
        self.book = Book()
        self.decisions: list[tuple[str, str]] = []
        """Campaign and id of each decision that was answered."""
        self.rewarded: list[tuple[str, str, str]] = []
        """Campaign, decision and id of each reward that was answered."""
        self.number = 0
        self.refused: Counter[str] = Counter()
        self.failures: list[str] = []
        """Answers that nobody should get."""

    async def set_up(self, service: Service) -> None:
        """Make every campaign that is not known to be there."""
        for name, body in CAMPAIGNS.items():
            if not self._made(name):
                await self.send(service, "create", body, f"c/{name}")

    def _made(self, campaign: str) -> bool:
        item = self.book.items.get(f"c/{campaign}")
        return item is not None and bool(item.answers)

    def _not_made(self, item: Item) -> bool:
        """Return whether something is about a campaign that could not be made so far."""
        campaign = item.body.get("campaign")
        return campaign is not None and not self._made(campaign)

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

    async def resend(self, service: Service) -> None:
        """Send again what was not answered, and some of what was."""
        answered = [item for item in self.book.items.values() if item.answers]
        some = self.rng.sample(answered, min(len(answered), 12))
        for item in [*self.book.open(), *some]:
            if item.verb in {"patch", "key", "erase", "create"} or item.name[0] == "?":
                continue
            await self.send(service, item.verb, item.body, item.name)

    async def one(self, service: Service) -> None:
        """Send something."""
        self.number += 1
        drawn = self.rng.random()
        if drawn < 0.40 or not self.decisions:
            await self._decide(service)
        elif drawn < 0.62:
            await self._feedback(service, self._signal())
        elif drawn < 0.80:
            await self._feedback(service, self._reward())
        elif drawn < 0.85:
            await self._feedback(service, self._correction())
        elif drawn < 0.87:
            await self._feedback(service, self._void())
        elif drawn < 0.94:
            await self._batch(service)
        elif drawn < 0.96:
            await self._again(service)
        else:
            await self._change(service)

    async def send(self, service: Service, verb: str, body: Body, name: str) -> Any:
        """Send one thing and note the answer; None where it was refused."""
        item = self.book.send(verb, body, name)
        try:
            answer = await service.call(verb, body)
        except Refused as refused:
            self._note_refusal(item, refused)
            return None
        self.note(item, answer)
        return answer

    def note(self, item: Item, answer: Any) -> None:
        """Note an answer."""
        item.answers.append(answer)
        if answer == "duplicate":
            self.book.duplicates[item.name.split("/")[1]] += 1
        if item.verb == "decide":
            known = (item.body["campaign"], answer["decision_id"])
            if len(item.answers) == 1:
                self.decisions.append(known)

    def _note_refusal(self, item: Item, refused: Refused) -> None:
        """What a repeated change is refused for is that it is there already."""
        if refused.status == 409 and item.sent > 1 and item.verb in {"create", "add_action"}:
            item.answers.append("there")
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

    def _decision(self) -> tuple[str, str]:
        recent = self.rng.random() < 0.8
        start = max(0, len(self.decisions) - 30) if recent else 0
        return self.decisions[self.rng.randrange(start, len(self.decisions))]

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
        self.rewarded.append((campaign, decision, event_id))
        value = round(self.rng.random() * 1.1, 3)
        return campaign, {"decision_id": decision, "value": value, "event_id": event_id}

    def _correction(self) -> tuple[str, Body]:
        if not self.rewarded:
            return self._reward()
        campaign, decision, target = self.rng.choice(self.rewarded[-60:])
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
            for _ in range(self.rng.randint(2, 12))
        ]
        items = []
        for campaign, event in made:
            items.append(self.book.send(*_alone(event), f"e/{campaign}/{event['event_id']}"))
        try:
            answers = await service.call("batch", {"events": [event for _, event in made]})
        except Refused as refused:
            self._note_refusal(items[0], refused)
            return
        for item, answer in zip(items, answers, strict=True):
            if answer == "rejected":
                self.failures.append(f"failed: {item.name} was rejected")
            else:
                self.note(item, answer)

    async def _again(self, service: Service) -> None:
        """Send once more what was sent before, answered or not."""
        item = self.rng.choice(list(self.book.items.values())[-200:])
        if item.verb in {"decide", *FEEDBACK} and item.name[0] != "?":
            await self.send(service, item.verb, item.body, item.name)

    async def _change(self, service: Service) -> None:
        campaign = self.rng.choice(list(CAMPAIGNS))
        match self.rng.randrange(6):
            case 0:
                action = f"action-{self.number}"
                body: Body = {"campaign": campaign, "action": action}
                await self.send(service, "add_action", body, f"a/{campaign}/{action}")
            case 1:
                explore = self.number / 1e6
                body = {"campaign": campaign, "patch": {"explore": explore}}
                await self.send(service, "patch", body, f"x/{campaign}/{explore!r}")
            case 2:
                window = 0.1 + self.number / 1e5
                body = {"campaign": campaign, "patch": {"reward_window": window}}
                await self.send(service, "patch", body, f"r/{campaign}/{window!r}")
            case 3:
                name = f"key-{self.number}"
                await self.send(service, "key", {"name": name}, f"k/{name}")
            case 4:
                policy = str(read_policy(self.rng.choice(POLICIES).format(self.number + 100)))
                body = {"campaign": campaign, "patch": {"policy": policy}}
                await self.send(service, "patch", body, f"p/{campaign}/{policy}")
            case 5:
                unit = f"gone-{self.number}"
                ask = {"unit": unit, "context": {"secret": unit}}
                body = {"campaign": campaign, "ask": ask}
                await self.send(service, "decide", body, f"?{self.number}")
                body = {"campaign": campaign, "unit": unit}
                await self.send(service, "erase", body, f"u/{campaign}/{unit}")


def _alone(event: Body) -> tuple[str, Body]:
    """Return an event of a batch as it is sent by itself."""
    report = {name: value for name, value in event.items() if name != "decision_id"}
    verb = "signal" if "signal" in event else "reward"
    if report.get("kind") == "void":
        verb = report.pop("kind")
    return verb, {"id": event["decision_id"], "report": report}
