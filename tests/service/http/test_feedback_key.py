"""Attacks with a key for feedback alone: none makes a true reward, or a refund, impossible.

Whoever has such a key, and the ids of decisions, can say wrong things about these decisions, and
void them. But there is no budget to use up: the truth is taken in afterwards, and counts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from anyio.from_thread import BlockingPortal

from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.http import Limits
from foretell.service.log.memory import MemoryLog
from foretell.service.model import parking
from tests.service.engine_driver import LOG_ENGINES
from tests.service.http.conftest import CAMPAIGN, Served, check_problem
from tests.service.http.log_place import log_place

ADMIN = "ftk_the-first-key-of-this-test"
UNKNOWN = {"signal_silence": "unknown", "reward_silence": "unknown"}
EARLIER, LATER = "2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"


@pytest.fixture(params=LOG_ENGINES)
def live(
    request: pytest.FixtureRequest, portal: BlockingPortal, tmp_path: Path
) -> Iterator[Served]:
    """The real service, where every outcome counts on arrival."""

    async def start(place: MemoryLog | Path | str) -> tuple[Engine, str]:
        engine = await Engine.open(place, admin_key=ADMIN, compiled=False)
        return engine, (await engine.make_key(protocol.NewKey("web", ["feedback"]))).key

    with log_place(request.param, tmp_path) as place:
        engine, feedback = portal.call(start, place)
        live = Served(engine, {"admin": ADMIN, "feedback": feedback}, portal, Limits())
        live.call("POST", "/v1/campaigns", json=CAMPAIGN | {"policy": "ucb"} | UNKNOWN)
        yield live
        portal.call(engine.close)


@pytest.fixture
def few_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parking, "PARKED_PER_DECISION", 20)
    monkeypatch.setattr(parking, "PARKED_PER_CAMPAIGN", 50)


def send(live: Served, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    answer = live.call("POST", "/v1/events/batch", "feedback", json={"events": events})
    assert answer.status_code == 200, answer.text
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


def statuses(results: list[dict[str, Any]]) -> list[str]:
    return [one["status"] for one in results]


def reward(live: Served, decision: str, **body: Any) -> Any:
    return live.call("POST", f"/v1/decisions/{decision}/reward", "feedback", json=body)


def tell_truth(live: Served, decision: str) -> None:
    """Report a click and an order, refund it, and correct the refund; each must count."""
    name = decision[-20:]
    facts: list[tuple[dict[str, Any], float | None]] = [
        ({"signal": "click", "event_id": f"click-{name}"}, None),
        ({"value": 1.0, "event_id": f"order-{name}"}, 1.0),
        ({"kind": "retract", "target": f"order-{name}", "event_id": f"refund-{name}"}, None),
        ({"kind": "adjust", "value": 0.5, "target": f"order-{name}"}, 0.5),
    ]
    for fact, expected in facts:
        (receipt,) = send(live, [{"decision_id": decision, **fact}])
        assert receipt["status"] in {"accepted", "late"}, receipt
        told = live.call("GET", f"/v1/decisions/{decision}").json()
        assert told["reward"] == expected


def check_parked(live: Served, count: int) -> None:
    """Check how many are parked, by the report and the metrics, once the fold has read them."""
    until = time.monotonic() + 30
    while live.call("GET", "/v1/campaigns/hero/report").json()["counts"]["parked"] != count:
        assert time.monotonic() < until  # a report waits for the fold for a second only
    metrics = live.client.get("/metrics").text
    assert f'foretell_parked_events{{campaign="hero"}} {float(count)}' in metrics


def missing_target(decision: str, number: int) -> dict[str, Any]:
    return {
        "decision_id": decision,
        "kind": "adjust",
        "value": 1.0,
        "target": f"never-{number}",
        "event_id": f"flood-{decision[-20:]}-{number}",
        "occurred_at": EARLIER,
    }


def test_a_flood_of_events_about_a_decision_leaves_room_for_the_truth(live: Served) -> None:
    decision = live.decision()
    flood = [{"decision_id": decision, "signal": "none", "event_id": f"s{n}"} for n in range(2000)]
    assert set(statuses(send(live, flood))) == {"accepted"}
    tell_truth(live, decision)


def test_parked_corrections_of_one_decision_are_bounded(live: Served, few_places: None) -> None:
    decision, other = live.decision(), live.decision()
    flood = [missing_target(decision, number) for number in range(70)]
    found = send(live, flood)
    assert statuses(found) == ["parked"] * 20 + ["rejected"] * 50
    assert found[0]["detail"] == ("there is no reward 'never-0' yet: it counts if the reward comes")
    assert found[20]["detail"] == (
        "20 events are parked about this decision already, and that is the most: nothing was "
        "stored of this event, send it again once what it waits for is here"
    )
    assert found[20]["event_id"] == flood[20]["event_id"]
    check_parked(live, 20)
    refused = reward(live, decision, value=1.0, kind="adjust", target="later", event_id="k")
    check_problem(refused, 409, "conflict")
    assert statuses(send(live, flood[:20])) == ["duplicate"] * 20, "sent again it takes no place"
    assert statuses(send(live, [missing_target(other, 0)])) == ["parked"], "others have room"
    assert reward(live, decision, value=0.25, event_id="later").json()["status"] == "accepted"
    again = reward(live, decision, value=1.0, kind="adjust", target="later", event_id="k")
    assert again.json()["status"] == "accepted", "what was refused is taken in after its reward"
    assert live.call("GET", "/v1/campaigns/hero/report").json()["counts"]["rejected"] == 51


def test_parked_corrections_of_a_campaign_are_bounded(live: Served, few_places: None) -> None:
    decisions = [live.decision() for _ in range(5)]
    flood = [missing_target(decision, number) for number in range(15) for decision in decisions]
    found = statuses(send(live, flood))
    assert found == ["parked"] * 50 + ["rejected"] * 25
    check_parked(live, 50)
    assert statuses(send(live, flood)) == ["duplicate"] * 50 + ["rejected"] * 25
    for decision in decisions:
        tell_truth(live, decision)
    assert send(live, [missing_target(live.decision(), 0)])[0]["detail"].startswith("50 events")


def test_many_requests_at_once_take_no_more_places_than_there_are(
    live: Served, few_places: None, portal: BlockingPortal
) -> None:
    decision = live.decision()
    items = [
        [msgspec.Raw(msgspec.json.encode(missing_target(decision, 10 * batch + number)))]
        for batch in range(10)
        for number in range(10)
    ]

    async def at_once() -> list[list[protocol.Receipt]]:
        assert isinstance(live.engine, Engine)
        return await asyncio.gather(*(live.engine.batch(item) for item in items))

    found = [receipt.status for receipts in portal.call(at_once) for receipt in receipts]
    assert found.count("parked") == 20
    check_parked(live, 20)


def test_places_are_free_again_once_the_rewards_have_come(live: Served, few_places: None) -> None:
    decision = live.decision()
    for turn in range(3):
        events = [
            missing_target(decision, number) | {"event_id": f"{turn}-{number}"}
            | {"target": f"order-{turn}-{number}"}
            for number in range(20)
        ]  # fmt: skip
        assert statuses(send(live, events)) == ["parked"] * 20
        check_parked(live, 20)
        rewards = [
            {"decision_id": decision, "value": 0.0, "event_id": one["target"]} for one in events
        ]
        assert set(statuses(send(live, rewards))) == {"accepted"}
        check_parked(live, 0)


def test_a_correction_sent_together_with_its_reward_takes_no_place(
    live: Served, few_places: None
) -> None:
    decision = live.decision()
    send(live, [missing_target(decision, number) for number in range(20)])
    together = [
        {"decision_id": decision, "kind": "adjust", "value": 0.5, "target": "r", "event_id": "k"},
        {"decision_id": decision, "value": 1.0, "event_id": "r"},
    ]
    assert statuses(send(live, together)) == ["accepted", "accepted"]
    assert statuses(send(live, together)) == ["duplicate", "duplicate"]
    check_parked(live, 20)


def test_feedback_on_decisions_that_were_lost_is_bounded(live: Served, few_places: None) -> None:
    """Their ids are sound, as those of decisions made after the backup that was restored."""
    copy = live.call("GET", "/v1/backup").content
    lost = [live.decision() for _ in range(4)]
    media = {"Content-Type": "application/vnd.sqlite3"}
    assert live.call("POST", "/v1/restore", content=copy, headers=media).status_code == 200
    flood = [
        {"decision_id": one, "value": 1.0, "event_id": f"{n}-{one}"}
        for one in lost
        for n in range(25)
    ]
    found = statuses(send(live, flood))
    assert found == (["parked"] * 20 + ["rejected"] * 5) * 2 + ["parked"] * 10 + ["rejected"] * 40
    check_parked(live, 50)
    tell_truth(live, live.decision())


def test_an_event_id_that_was_claimed_before_can_be_made_good(live: Served) -> None:
    """Ids are unique for ever: but what claimed one can be corrected, and another id is free."""
    decision, own = live.decision(), live.decision()
    name = decision[-20:]
    send(live, [{"decision_id": own, "value": 0.0, "event_id": f"order-{name}"}])
    taken = reward(live, decision, value=1.0, event_id=f"order-{name}")
    check_problem(taken, 422, "unusable")
    assert "was used for another event" in taken.json()["detail"]
    assert "take an id of its own" in taken.json()["detail"]
    send(live, [{"decision_id": decision, "signal": "click"}])
    assert reward(live, decision, value=1.0, event_id=f"order-{name}-2").is_success
    assert live.call("GET", f"/v1/decisions/{decision}").json()["reward"] == 1.0
    send(live, [{"decision_id": decision, "value": 0.125, "event_id": "wrong"}])
    assert live.call("GET", f"/v1/decisions/{decision}").json()["reward"] == 1.125
    assert reward(live, decision, kind="retract", target="wrong").is_success
    assert live.call("GET", f"/v1/decisions/{decision}").json()["reward"] == 1.0


def test_a_correction_parked_in_advance_is_corrected_by_a_later_one(live: Served) -> None:
    decision = live.decision()
    send(live, [{"decision_id": decision, "signal": "click"}])
    for number in range(5):
        before = {"kind": "retract", "target": "order", "event_id": f"x{number}"}
        assert reward(live, decision, **before).json()["status"] == "parked"
    assert reward(live, decision, value=1.0, event_id="order").is_success
    told = live.call("GET", f"/v1/decisions/{decision}").json()
    assert told["reward"] is None
    assert reward(live, decision, kind="adjust", value=1.0, target="order").is_success
    assert live.call("GET", f"/v1/decisions/{decision}").json()["reward"] == 1.0


def test_an_id_that_the_service_makes_up_cannot_be_claimed_before(live: Served) -> None:
    """A correction without an id is known by what it says, under a key that nobody has."""
    decision, twin = live.decision(), live.decision()
    send(live, [{"decision_id": decision, "signal": "click"}])
    assert reward(live, decision, value=1.0, event_id="order").is_success
    made = reward(live, twin, kind="adjust", value=0.5, target="order").json()["event_id"]
    mine = reward(live, decision, kind="adjust", value=0.5, target="order").json()
    assert mine["status"] == "accepted"
    assert mine["event_id"] != made
    assert live.call("GET", f"/v1/decisions/{decision}").json()["reward"] == 0.5
