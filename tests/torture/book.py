"""The load's own book: everything that it sent, and every answer that it got.

After each restart the book is held against the log: what was acknowledged is there once, what
was not answered is there once or not at all, and nothing is there that was never sent. If a copy
was being restored when the server died, either the log is the one before, or the copy.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from foretell.service.model.decision_id import read_decision_id
from tests.torture.linearizability import History, Operation
from tests.torture.replay import LogContents
from tests.torture.verbs import Body

TAKEN = ("accepted", "late", "parked")
FEEDBACK = ("signal", "reward", "void")
REPEATS = ("patch", "key", "refit", "revoke", "rotate", "status", "set_action")
"""What may be there as often as it was sent: these have no id of their own."""
NO_CHANGE = ("status", "set_action")
"""What leaves no record where it changes nothing."""


@dataclass
class Item:
    """One thing that was sent, under the name by which the log knows it."""

    verb: str
    body: Body
    name: str
    sent: int = 0
    answers: list[Any] = field(default_factory=list)
    contended: bool = False
    """Whether others were sent under the same key at the same time."""
    uncertain: bool = False
    """Whether it was first sent while a copy was taken, which may hold it without its decision."""


class Book:
    """All that was sent to one database."""

    def __init__(self) -> None:
        self.items: dict[str, Item] = {}
        self.decisions: list[tuple[str, str]] = []
        """Campaign and id of each decision that was answered."""
        self.rewarded: list[tuple[str, str, str]] = []
        """Campaign, decision and id of each reward that was sent."""
        self.keys: list[str] = []
        """Keys that were made and not revoked."""
        self.duplicates: Counter[str] = Counter()
        """Answers `duplicate`, by campaign."""
        self.resent = 0
        self.done: Counter[str] = Counter()
        """What was answered by what it is called in `verbs.KINDS`; a copy does not undo it."""
        self.history = History()
        """When each `decision_key` and `event_id` was sent and answered."""
        self.untracked: set[str] = set()
        """Names from before a restore, whose keys have another history."""
        self.restoring: Book | None = None
        """The book of the copy that is being restored."""
        self.restored = 0
        self.undone = 0
        """How much of what was answered restores have undone."""
        self.keys_in_order = 0
        """Keys whose history was checked at a restore."""

    def send(self, verb: str, body: Body, name: str) -> Item:
        """Note what is about to be sent."""
        item = self.items.setdefault(name, Item(verb, body, name))
        item.sent += 1
        self.resent += item.sent > 1
        return item

    def begin(self, item: Item, body: Body) -> Operation | None:
        """Note when something with a key is sent; None where it has none."""
        if item.verb not in {"decide", *FEEDBACK} or item.name[0] == "?":
            return None
        if item.name in self.untracked:
            return None
        return self.history.send(item.name, msgspec.json.encode(body, order="deterministic"))

    def open(self) -> list[Item]:
        """Return what was sent and not answered."""
        return [item for item in self.items.values() if not item.answers and not item.uncertain]

    def acknowledged(self) -> int:
        """Count what was answered, before restores too."""
        return self.undone + sum(bool(item.answers) for item in self.items.values())

    def copied(self) -> Book:
        """Return what a copy must hold that is begun now."""
        kept = copy.copy(self)
        kept.items = {name: copy.copy(item) for name, item in self.items.items()}
        for item in kept.items.values():
            item.answers = list(item.answers)
        kept.decisions, kept.rewarded = list(self.decisions), list(self.rewarded)
        kept.keys = list(self.keys)
        kept.duplicates = Counter(self.duplicates)
        return kept

    def end_copy(self, now: Book) -> None:
        """Note what else may be in a copy that is finished now."""
        self.keys = [key for key in self.keys if key in now.keys]  # others may be revoked there
        for name, item in now.items.items():
            new = Item(item.verb, item.body, name, uncertain=True)
            known = self.items.setdefault(name, new)
            known.sent, known.contended = item.sent, item.contended

    def become(self, other: Book) -> Iterator[str]:
        """Go on with a copy in place of the log; nothing is under way any more."""
        yield from self.history.violations()
        self.undone = self.acknowledged() - sum(bool(one.answers) for one in other.items.values())
        self.untracked = set(self.items)
        self.items = other.copied().items
        self.decisions, self.rewarded = list(other.decisions), list(other.rewarded)
        self.keys = list(other.keys)
        self.duplicates = Counter(other.duplicates)
        self.keys_in_order += len(self.history.by_key)
        self.history = History()
        self.restoring = None
        self.restored += 1

    def check(self, found: LogContents, *, relaxed: bool = False) -> Iterator[str]:
        """Hold the book against a log; `relaxed` lets decisions be lost, and only them."""
        wrong = list(self._check(found, relaxed=relaxed))
        if self.restoring is None:
            yield from wrong
            return
        restored = list(self.restoring._check(found, relaxed=relaxed)) if wrong else []
        if not wrong:
            self.restoring = None
        elif not restored:
            yield from self.become(self.restoring)
        else:
            yield from (f"{one}, and as a copy {restored[0]}" for one in wrong)

    def _check(self, found: LogContents, *, relaxed: bool) -> Iterator[str]:
        for item in self.items.values():
            if item.verb == "decide":
                yield from self._check_decision(item, found, relaxed=relaxed)
            elif item.verb == "erase":
                if item.answers and item.body["unit"] in found.units:
                    yield f"lost: the erasure of {item.name}"
            else:
                yield from self._check_other(item, found.times[item.name])
        for name in found.times.keys() - self.items.keys():
            yield f"there, and never sent: {name}"
        sent = sum(name.startswith("?") for name in self.items)
        if found.anonymous > sent:
            yield f"doubled: {found.anonymous} decisions without a key, {sent} asked for"

    def _check_other(self, item: Item, times: int) -> Iterator[str]:
        if item.answers and times == 0 and item.verb not in NO_CHANGE:
            yield f"lost: {item.verb} {item.name}, answered {item.answers}"
        if item.verb == "rotate" and len(item.answers) > times:
            yield f"lost: {len(item.answers)} rotations were answered, {times} are there"
        if times > (item.sent if item.verb in REPEATS else 1):
            yield f"doubled: {item.name} is there {times} times"
        if sum(answer in TAKEN for answer in item.answers) > 1:
            yield f"doubled: {item.name} was taken in twice, answered {item.answers}"

    def _check_decision(self, item: Item, found: LogContents, *, relaxed: bool) -> Iterator[str]:
        times = found.times[item.name]
        if times > 1:
            yield f"doubled: {item.name} is there {times} times"
        answers = [answer for answer in item.answers if isinstance(answer, dict)]
        ids = list(dict.fromkeys(answer["decision_id"] for answer in answers))
        if relaxed or not ids:
            return
        if len(ids) > 1:
            yield f"doubled: {item.name} was decided as {ids}"
        token = read_decision_id(ids[0], found.secrets)
        if token is None or token not in found.tokens:
            yield f"lost: decision {item.name}, answered as {token}"
