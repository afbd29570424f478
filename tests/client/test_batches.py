"""A batch is sent through trouble that ends, and in halves where one event spoils it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing

import pytest

from foretell.client.batches import BatchSender
from foretell.client.errors import ServiceRefused, ServiceUnavailable
from foretell.errors import ForetellError
from tests.client.fake_service import Fault, Service, problem

EVENTS = [
    json.dumps({"decision_id": "d", "event_id": f"e{n}", "value": 1.0}).encode() for n in range(5)
]


@pytest.fixture
def said() -> list[ForetellError]:
    return []


@pytest.fixture
def sender(service: Service, said: list[ForetellError]) -> Iterator[BatchSender]:
    with closing(BatchSender(service.url, "ftk_key", 30.0, said.append)) as made:
        yield made


@pytest.mark.parametrize(
    "fault", [Fault(drop=True), Fault(lose=True), Fault(status=503), problem(429)]
)
def test_trouble_that_ends_is_waited_for_and_said_once(
    service: Service, sender: BatchSender, said: list[ForetellError], fault: Fault
) -> None:
    service.faults.extend([fault, fault])
    assert {one.status for one in sender.send(EVENTS)} <= {"accepted", "duplicate"}
    assert len(service.events) == len(EVENTS)
    assert len(said) == 1


def test_trouble_that_does_not_end_is_raised(service: Service) -> None:
    service.always = Fault(status=503)
    heard: list[ForetellError] = []
    with (
        closing(BatchSender(service.url, "ftk_key", 0.0, heard.append)) as sender,
        pytest.raises(ServiceUnavailable, match="503"),
    ):
        sender.send(EVENTS)
    assert heard == []


def test_a_key_that_is_refused_is_raised_at_once(service: Service, sender: BatchSender) -> None:
    service.always = problem(401)
    with pytest.raises(ServiceRefused, match="401"):
        sender.send(EVENTS)
    assert len(service.requests) == 1


@pytest.mark.parametrize("fault", [problem(422), problem(413), Fault(status=413)])
def test_one_event_that_spoils_a_batch_is_rejected_alone(
    service: Service, sender: BatchSender, fault: Fault
) -> None:
    def refuse(events: list[dict[str, object]]) -> Fault | None:
        return fault if any(one["event_id"] == "e3" for one in events) else None

    service.refuse = refuse
    receipts = sender.send(EVENTS)
    assert [one.status for one in receipts] == ["accepted"] * 3 + ["rejected", "accepted"]
    assert set(service.events) == {"e0", "e1", "e2", "e4"}
