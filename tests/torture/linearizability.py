"""Is a history of one key linearizable? A search after Wing and Gong, for registers written once.

A `decision_key` or an `event_id` is a register that the first request writes and no other can: each
answer must be explained by one order of all requests, in which each takes effect at one moment
between its sending and its answer. A request without a sound answer (a time-out, a kill, a 503) may
take effect at any moment after it was sent, or never.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from itertools import count
from math import inf
from typing import Any

FIRST = ("accepted", "late", "parked")
"""Answers to feedback that was written."""
SECOND = "duplicate"
OTHER = "conflict"
"""Answer to a request that uses the key of another one."""


@dataclass
class Operation:
    """One request about a key: when it was sent, and what was answered and when."""

    wanted: Hashable
    """What was asked for: the same key with the same wish is a repetition."""
    sent: float
    answered: float = inf
    answer: Any = None
    """None where nobody knows whether it was done."""


@dataclass
class History:
    """All requests about all keys, in one order of sending and answering."""

    by_key: dict[str, list[Operation]] = field(default_factory=lambda: defaultdict(list))
    clock: count[int] = field(default_factory=count)

    def send(self, key: str, wanted: Hashable) -> Operation:
        """Note that something is about to be sent."""
        operation = Operation(wanted, next(self.clock))
        self.by_key[key].append(operation)
        return operation

    def answer(self, operation: Operation, answer: Any) -> None:
        """Note a sound answer."""
        operation.answered, operation.answer = next(self.clock), answer

    def forget_decisions(self) -> None:
        """Begin again with decisions, which a relaxed server may lose when the power goes."""
        for key in [key for key in self.by_key if key.startswith("d/")]:
            del self.by_key[key]

    def violations(self) -> list[str]:
        """Return a sentence for each key whose answers no order explains."""
        return [
            f"order: no order of {len(operations)} requests explains the answers to {key}: "
            + ", ".join(str(one.answer) for one in operations)
            for key, operations in self.by_key.items()
            if not is_linearizable(operations)
        ]


Value = tuple[Hashable, Any] | None
"""What a key holds: who wrote it with which wish, and the answer that it has got; None so far."""


def is_linearizable(operations: Iterable[Operation]) -> bool:
    """Return whether some order explains every answer."""
    every = sorted(operations, key=lambda one: one.sent)
    return _explained(frozenset(range(len(every))), None, every, set())


def _explained(
    left: frozenset[int], value: Value, every: list[Operation], seen: set[tuple[Any, Any]]
) -> bool:
    """Return whether the requests that are left can follow on a value."""
    if value is not None:  # one without an answer changes nothing any more
        left = frozenset(one for one in left if every[one].answer is not None)
    if all(every[one].answer is None for one in left):
        return True
    if (left, value) in seen:
        return False
    seen.add((left, value))
    first_answer = min(every[one].answered for one in left)
    for one in left:
        if every[one].sent > first_answer:
            continue  # another was answered before this one was sent
        for following in _effects(every[one], value):
            if _explained(left - {one}, following, every, seen):
                return True
    return False


def _effects(operation: Operation, value: Value) -> list[Value]:
    """Return what the key may hold after a request; nothing if its answer cannot be explained."""
    wanted, answer = operation.wanted, operation.answer
    if value is None:
        if answer is None or answer in FIRST or _is_decision(answer):
            return [(wanted, answer)]
        return []
    writer, written = value
    if writer != wanted:
        return [value] if answer == OTHER else []
    if _is_decision(answer):
        return [(writer, answer)] if written is None or written == answer else []
    return [value] if answer == SECOND else []


def _is_decision(answer: Any) -> bool:
    return isinstance(answer, str) and answer.startswith("decision ")
