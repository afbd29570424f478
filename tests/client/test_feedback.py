"""Feedback: named, kept, sent until answered for, and counted once."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foretell.client import ServiceDecision, ServiceRefused
from foretell.errors import InvalidInput
from tests.client.conftest import Make, Waiting, until
from tests.client.fake_service import GARBAGE, Fault, Service, problem


def said(client: Any, result: Any) -> Any:
    """Wait for what a verb of a decision gives, as that of an AsyncClient is awaited."""
    return client.waited(result) if isinstance(client, Waiting) else result


def test_every_verb_arrives_as_it_was_said(service: Service, make: Make) -> None:
    client = make(service.url, key="ftk_abc")
    decision: ServiceDecision[Any] = client.decide("c", decision_key="k")
    noon = datetime(2026, 5, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    ids = [
        said(client, decision.signal("download")),
        said(client, decision.reward(1, event_id="order-1", occurred_at=noon)),
        client.reward("decision-k", np.float32(0.5), occurred_at="2026-05-01T10:00:00Z"),
        client.adjust(decision, "order-1", 0.25),
        client.retract(decision.id, "order-1", event_id="back-1"),
        said(client, decision.void(event_id="void-1", occurred_at=noon)),
        client.void("decision-k"),
    ]
    assert client.flush()
    assert list(service.events) == ids
    assert ids[1] == "order-1"
    assert ids[4] == "back-1"
    assert ids[5] == "void-1"
    assert ids[0] < ids[2] < ids[3] < ids[6]
    sent = [
        {key: value for key, value in event.items() if key != "event_id"}
        for event in service.events.values()
    ]
    assert sent == [
        {"decision_id": "decision-k", "signal": "download"},
        {"decision_id": "decision-k", "value": 1.0, "occurred_at": "2026-05-01T10:00:00+00:00"},
        {"decision_id": "decision-k", "value": 0.5, "occurred_at": "2026-05-01T10:00:00Z"},
        {"decision_id": "decision-k", "kind": "adjust", "target": "order-1", "value": 0.25},
        {"decision_id": "decision-k", "kind": "retract", "target": "order-1"},
        {"decision_id": "decision-k", "kind": "void", "occurred_at": "2026-05-01T10:00:00+00:00"},
        {"decision_id": "decision-k", "kind": "void"},
    ]
    assert client.pending == 0
    assert service.requests[-1].key == "Bearer ftk_abc"


def test_feedback_on_a_fallback_is_dropped_and_counted(service: Service, make: Make) -> None:
    service.always = Fault(drop=True)
    client = make(service.url, timeout=0.02, fallback="pick")
    decision = client.decide("c")
    assert said(client, decision.signal("download")) is None
    assert client.reward(decision.id, 1.0) is None
    assert said(client, decision.void()) is None
    assert client.dropped == 3
    assert client.pending == 0


EAST = timezone(timedelta(hours=2))
BAD: list[tuple[Callable[[Any], Any], str]] = [
    (lambda c: c.reward("d", float("nan")), "finite number, got nan"),
    (lambda c: c.reward("d", "much"), "finite number, got 'much'"),
    (lambda c: c.reward("d", None), "finite number, got None"),
    (lambda c: c.reward("d", 10**400), "finite number, got 1000"),
    (lambda c: c.reward("d", 10**5000), "finite number, got a number of too many digits"),
    (lambda c: c.reward("d", "1"), "finite number, got '1'"),
    (lambda c: c.reward("d", True), "finite number, got True"),
    (lambda c: c.adjust("d", "e", b"1"), "finite number, got b'1'"),
    (lambda c: c.reward("", 1.0), "id of a decision must be a text"),
    (lambda c: c.reward(7, 1.0), "id of a decision must be a text"),
    (lambda c: c.signal("d", ""), "signal must be a text"),
    (lambda c: c.signal("d", 3), "signal must be a text"),
    (lambda c: c.signal("d", "\ud800"), "signal must be a text"),
    (lambda c: c.signal("d", "s", event_id="\udfff"), "event_id must be a text"),
    (lambda c: c.signal("d", "s", event_id="x" * 201), "event_id must be a text"),
    (lambda c: c.signal("d", "s", event_id=""), "event_id must be a text"),
    (lambda c: c.retract("d", None), "target must be a text"),
    (lambda c: c.adjust("d", "", 1.0), "target must be a text"),
    (lambda c: c.void(""), "id of a decision must be a text"),
    (lambda c: c.void("d", event_id=""), "event_id must be a text"),
    (
        lambda c: c.signal("d", "s", occurred_at=datetime(2026, 1, 1)),  # noqa: DTZ001
        "must have a time zone",
    ),
    (
        lambda c: c.signal("d", "s", occurred_at=datetime.min.replace(tzinfo=EAST)),
        "between the years 1 and 9999",
    ),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_what_can_never_be_taken_is_refused_at_once(
    service: Service, make: Make, call: Callable[[Any], Any], message: str
) -> None:
    client = make(service.url)
    with pytest.raises(InvalidInput, match=message):
        call(client)
    assert client.pending == 0


ANSWERS_NOTHING = {
    "dropped": Fault(drop=True),
    "lost answer": Fault(lose=True),
    "500": Fault(status=500),
    "404 of a proxy": Fault(status=404),
    "page": Fault(status=200, body=b"<html>"),
    "no receipt": Fault(status=200, body=b'{"results": []}'),
    "unknown receipt": Fault(status=200, body=b'{"results": [{"status": "new"}]}'),
    "429": problem(429),
    "404": problem(404),
    **GARBAGE,
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", ANSWERS_NOTHING.values(), ids=ANSWERS_NOTHING)
def test_the_same_events_are_sent_until_answered_for_and_count_once(
    service: Service, make: Make, fault: Fault
) -> None:
    service.faults.extend([fault] * 3)
    client = make(service.url)
    event = client.reward("d", 1.0)
    assert client.flush(20)
    assert service.batches() == [[event]] * 4
    assert list(service.events) == [event]
    assert client.trouble is None


@pytest.mark.slow
def test_retry_after_is_honoured(service: Service, make: Make) -> None:
    service.faults.append(Fault(status=503, retry_after="1"))
    client = make(service.url)
    client.reward("d", 1.0)
    until(lambda: bool(service.events))
    assert service.requests[1].at - service.requests[0].at >= 1.0


def test_new_feedback_does_not_shorten_the_wait(service: Service, make: Make) -> None:
    service.always = Fault(status=503, retry_after="600")
    client = make(service.url)
    client.reward("d", 1.0)
    until(lambda: client.trouble is not None)
    for _ in range(20):
        client.reward("d", 1.0)
    assert len(service.requests) == 1
    assert client.pending == 21
    service.always = None
    assert client.flush()
    assert len(service.events) == 21


def test_a_batch_that_is_too_large_is_split(service: Service, make: Make) -> None:
    service.always = Fault(status=503, retry_after="600")
    service.refuse = lambda events: problem(413) if len(events) > 7 else None
    client = make(service.url)
    for number in range(40):
        client.reward("d", 1.0, event_id=str(number))
    service.always = None
    assert client.flush()
    assert list(service.events) == [str(number) for number in range(40)]
    assert client.rejected() == []


@pytest.mark.parametrize("fault", [problem(413), problem(400), problem(422)])
def test_one_event_that_breaks_every_batch_is_set_aside(
    service: Service, make: Make, fault: Fault
) -> None:
    service.always = Fault(status=503, retry_after="600")
    service.refuse = lambda events: fault if "9" in [one["event_id"] for one in events] else None
    client = make(service.url)
    for number in range(20):
        client.reward("d", 1.0, event_id=str(number))
    service.always = None
    assert client.flush()
    assert list(service.events) == [str(number) for number in range(20) if number != 9]
    assert [json.loads(one.event)["event_id"] for one in client.rejected()] == ["9"]


def test_what_a_proxy_finds_too_large_is_kept(service: Service, make: Make) -> None:
    service.always = Fault(status=413, body=b"<html>")
    client = make(service.url)
    events = [client.reward("d", 1.0) for _ in range(4)]
    until(lambda: bool(service.requests) and len(service.batches()[-1]) == 1)
    until(lambda: client.trouble is not None)
    assert client.rejected() == []
    assert client.pending == 4
    service.always = None
    assert client.flush()
    assert list(service.events) == events


def test_what_the_service_rejects_is_set_aside_with_the_reason(
    service: Service, make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    service.verdict = lambda event: (
        {"status": "rejected", "detail": "there is no such decision"}
        if event["decision_id"] == "forged"
        else {"status": "late"}
    )
    begun = datetime.now(UTC)
    client = make(service.url, outbox=tmp_path / "outbox.db")
    with caplog.at_level(logging.WARNING, "foretell.client"):
        client.reward("forged", 1.0, event_id="a")
        client.reward("d", 1.0, event_id="b")
        assert client.flush()
    assert client.pending == 0
    (rejected,) = client.rejected()
    assert json.loads(rejected.event) == {"decision_id": "forged", "event_id": "a", "value": 1.0}
    assert rejected.reason == "there is no such decision"
    assert begun <= rejected.at <= datetime.now(UTC)
    assert caplog.text.count("there is no such decision") == 1
    assert sum("a" in batch for batch in service.batches()) == 1
    client.close()
    assert len(make(service.url, outbox=tmp_path / "outbox.db").rejected()) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_stops_the_sending_and_keeps_everything(
    service: Service, make: Make, status: int
) -> None:
    service.always = problem(status, "key", "this key may not do that")
    client = make(service.url)
    client.reward("d", 1.0)
    until(lambda: client.trouble is not None)
    client.reward("d", 1.0)
    assert isinstance(client.trouble, ServiceRefused)
    assert len(service.requests) == 1
    with pytest.raises(ServiceRefused, match="this key may not do that"):
        client.flush()
    assert client.pending == 2
    service.always = None
    assert client.flush()
    assert client.trouble is None
    assert len(service.events) == 2


def test_flush_says_when_it_could_not(service: Service, make: Make) -> None:
    service.stop()
    client = make(service.url)
    assert client.flush(0.05)
    client.reward("d", 1.0)
    assert not client.flush(0.05)
    assert client.pending == 1
    service.start()
    assert client.flush()


def test_feedback_given_while_a_batch_travels_is_sent_too(service: Service, make: Make) -> None:
    service.faults.append(Fault(delay=0.1))
    client = make(service.url)
    client.reward("d", 1.0)
    until(lambda: bool(service.requests))
    client.reward("d", 1.0)
    until(lambda: len(service.events) == 2)


def test_closing_sends_what_waits(service: Service, make: Make) -> None:
    client = make(service.url)
    for _ in range(50):
        client.reward("d", 1.0, occurred_at=datetime.now(UTC))
    client.close()
    assert len(service.events) == 50


def test_closing_says_what_is_lost(
    service: Service, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    service.always = Fault(status=500)
    client = make(service.url)
    client.reward("d", 1.0)
    client.close(timeout=0.05)
    assert "1 event is lost, as there is no outbox file" in caplog.text
