"""Waits grow, are spread, and never go beyond what was asked for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from foretell.client.backoff import MAX_RETRY_AFTER, RetryBudget, backoff, retry_after
from foretell.client.calls import HttpReply, NoAnswer


@pytest.mark.parametrize("tries", [1, 2, 5, 9, 10**6])
def test_waits_are_spread_from_nothing_to_a_bound_that_doubles(tries: int) -> None:
    bound = min(30.0, 0.1 * 2 ** min(tries - 1, 20))
    drawn = [backoff(tries, 0.1, 30.0) for _ in range(2000)]
    assert 0 <= min(drawn) < 0.1 * bound
    assert 0.9 * bound < max(drawn) <= bound


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("", 0), ("3", 3), (" 3 ", 3), ("0", 0), ("-3", 0), ("soon", 0), ("9" * 30, MAX_RETRY_AFTER)],
)
def test_retry_after_is_read_in_seconds(text: str, seconds: float) -> None:
    assert retry_after(HttpReply(503, b"", retry_after=text)) == seconds


def test_retry_after_is_read_as_a_date() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert 28 < retry_after(HttpReply(503, b"", retry_after=soon)) <= 30
    past = format_datetime(datetime.now(UTC) - timedelta(days=3), usegmt=True)
    assert retry_after(HttpReply(503, b"", retry_after=past)) == 0
    assert retry_after(NoAnswer("cut")) == 0


def test_a_budget_is_not_overdrawn() -> None:
    assert RetryBudget(10.0).wait(HttpReply(201, b"{}")) is None
    assert RetryBudget(0.0).wait(NoAnswer("cut")) is None
    assert RetryBudget(10.0).wait(HttpReply(503, b"", retry_after="10")) is None
    assert RetryBudget(10.0).wait(HttpReply(503, b"", retry_after="1")) is not None
    budget = RetryBudget(1000.0)
    waits = [budget.wait(NoAnswer("cut")) for _ in range(200)]
    assert None not in waits
    assert max(one for one in waits if one is not None) <= 1.0
    assert 0 < RetryBudget(0.0).left() <= 0.001
