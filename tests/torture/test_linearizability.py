"""The checker itself: it accepts what some order explains, and nothing else."""

from __future__ import annotations

from itertools import permutations
from math import inf
from typing import Any

import pytest

from tests.torture.linearizability import History, Operation, is_linearizable

A, B = "decision a", "decision b"


def operation(sent: float, answered: float, answer: Any, wanted: str = "wish") -> Operation:
    return Operation(wanted, sent, answered, answer)


LINEARIZABLE: dict[str, list[Operation]] = {
    "nothing": [],
    "one": [operation(0, 1, "accepted")],
    "a repetition": [operation(0, 1, "accepted"), operation(2, 3, "duplicate")],
    "two at once, the later one first": [
        operation(0, 3, "duplicate"),
        operation(1, 2, "late"),
    ],
    "a kill, then a duplicate": [operation(0, inf, None), operation(1, 2, "duplicate")],
    "a kill, then the first": [operation(0, inf, None), operation(1, 2, "accepted")],
    "a time-out that takes effect long after": [
        operation(0, inf, None, "other"),
        operation(1, 2, "conflict"),
    ],
    "another wish while the first is under way": [
        operation(0, 5, "accepted"),
        operation(1, 2, "conflict", "other"),
    ],
    "the same decision again": [operation(0, 1, A), operation(2, 3, A), operation(4, 5, A)],
    "a decision without an answer, found again": [
        operation(0, inf, None),
        operation(1, 2, A),
        operation(3, 4, A),
    ],
    "three kills and one answer": [operation(one, inf, None) for one in range(3)]
    + [operation(9, 10, "duplicate")],
}
NOT_LINEARIZABLE: dict[str, list[Operation]] = {
    "taken in twice": [operation(0, 1, "accepted"), operation(2, 3, "accepted")],
    "taken in twice at once": [operation(0, 5, "accepted"), operation(1, 4, "late")],
    "a duplicate of nothing": [operation(0, 1, "duplicate")],
    "a duplicate before anybody sent the first": [
        operation(0, 1, "duplicate"),
        operation(2, 3, "accepted"),
    ],
    "a conflict with nobody": [operation(0, 1, "conflict"), operation(2, 3, "accepted")],
    "a conflict with itself": [operation(0, 1, "accepted"), operation(2, 3, "conflict")],
    "another wish is taken for a duplicate": [
        operation(0, 1, "accepted"),
        operation(2, 3, "duplicate", "other"),
    ],
    "two decisions under one key": [operation(0, 1, A), operation(2, 3, B)],
    "a decision that changes after a kill": [
        operation(0, 1, A),
        operation(2, inf, None),
        operation(3, 4, B),
    ],
    "a kill cannot take effect before it was sent": [
        operation(0, 1, "duplicate"),
        operation(2, inf, None),
    ],
    "two wishes are both taken in": [
        operation(0, 5, "accepted"),
        operation(1, 6, "accepted", "other"),
    ],
}


@pytest.mark.parametrize("name", LINEARIZABLE)
def test_what_some_order_explains_is_accepted(name: str) -> None:
    for order in permutations(LINEARIZABLE[name]):
        assert is_linearizable(order)


@pytest.mark.parametrize("name", NOT_LINEARIZABLE)
def test_what_no_order_explains_is_found(name: str) -> None:
    for order in permutations(NOT_LINEARIZABLE[name]):
        assert not is_linearizable(order)


def test_a_history_tells_which_key_cannot_be_explained() -> None:
    history = History()
    for key, answers in {"good": ("accepted", "duplicate"), "bad": ("accepted", "late")}.items():
        for answer in answers:
            history.answer(history.send(key, "wish"), answer)
    (sentence,) = history.violations()
    assert "bad" in sentence
    assert "accepted, late" in sentence


def test_many_requests_without_an_answer_are_searched_in_time() -> None:
    under_way = [operation(one, inf, None) for one in range(16)]
    assert is_linearizable([*under_way, operation(20, 21, A), operation(22, 23, A)])
    assert not is_linearizable([*under_way, operation(20, 21, A), operation(22, 23, B)])
