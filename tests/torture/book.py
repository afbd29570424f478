"""The load's own book: everything that it sent, and every answer that it got.

After each restart the book is held against the log: what was acknowledged is there once, what
was not answered is there once or not at all, and nothing is there that was never sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from foretell.service.model.decision_id import read_decision_id
from tests.torture.replay import LogContents
from tests.torture.verbs import Body

TAKEN = ("accepted", "late", "parked")
REPEATS = ("patch", "key", "refit")
"""What may be there as often as it was sent: these have no id of their own."""


@dataclass
class Item:
    """One thing that was sent, under the name by which the log knows it."""

    verb: str
    body: Body
    name: str
    sent: int = 0
    answers: list[Any] = field(default_factory=list)


class Book:
    """All that was sent to one database."""

    def __init__(self) -> None:
        self.items: dict[str, Item] = {}
        self.duplicates: Counter[str] = Counter()
        """Answers `duplicate`, by campaign."""
        self.resent = 0

    def send(self, verb: str, body: Body, name: str) -> Item:
        """Note what is about to be sent."""
        item = self.items.setdefault(name, Item(verb, body, name))
        item.sent += 1
        self.resent += item.sent > 1
        return item

    def open(self) -> list[Item]:
        """Return what was sent and not answered."""
        return [item for item in self.items.values() if not item.answers]

    def acknowledged(self) -> int:
        """Count what was answered."""
        return sum(bool(item.answers) for item in self.items.values())

    def check(self, found: LogContents, *, relaxed: bool = False) -> Iterator[str]:
        """Hold the book against a log; `relaxed` lets decisions be lost, and only them."""
        for item in self.items.values():
            if item.verb == "decide":
                yield from self._check_decision(item, found, relaxed=relaxed)
            elif item.verb == "erase":
                if item.answers and item.body["unit"] in found.units:
                    yield f"lost: the erasure of {item.name}"
            else:
                times = found.times[item.name]
                if item.answers and times == 0:
                    yield f"lost: {item.verb} {item.name}, answered {item.answers}"
                if times > (item.sent if item.verb in REPEATS else 1):
                    yield f"doubled: {item.name} is there {times} times"
                if sum(answer in TAKEN for answer in item.answers) > 1:
                    yield f"doubled: {item.name} was taken in twice, answered {item.answers}"
        for name in found.times.keys() - self.items.keys():
            yield f"there, and never sent: {name}"
        sent = sum(name.startswith("?") for name in self.items)
        if found.anonymous > sent:
            yield f"doubled: {found.anonymous} decisions without a key, {sent} asked for"

    def _check_decision(self, item: Item, found: LogContents, *, relaxed: bool) -> Iterator[str]:
        times = found.times[item.name]
        if times > 1:
            yield f"doubled: {item.name} is there {times} times"
        ids = list(dict.fromkeys(answer["decision_id"] for answer in item.answers))
        if relaxed or not ids:
            return
        if len(ids) > 1:
            yield f"doubled: {item.name} was decided as {ids}"
        token = read_decision_id(ids[0], found.secrets)
        if token is None or token not in found.tokens:
            yield f"lost: decision {item.name}, answered as {token}"
