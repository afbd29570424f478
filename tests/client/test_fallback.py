"""With a fallback nothing raises into a page, and what went wrong is counted, logged and told."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foretell.client import OutboxUnusable, health, sender
from foretell.client.outbox import Outbox
from foretell.errors import InvalidInput
from tests.client.conftest import Make, Waiting, until
from tests.client.fake_service import GARBAGE, Fault, Service, problem

ANSWERS = {
    **{f"refused {status}": problem(status) for status in (400, 401, 403, 404, 409, 422, 429)},
    "500 page": Fault(status=500, body=b"<html>"),
    "another answer": Fault(status=200, body=b'{"results": []}', kind="application/json"),
    "other types": Fault(
        status=201,
        body=b'{"decision_id": 1, "action": [], "propensity": "x", "policy": 0, "mode": {}}',
        kind="application/json",
    ),
    **GARBAGE,
}
ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)
CALLS: dict[str, dict[str, Any]] = {
    "int unit": {"unit": 5},
    "bytes unit": {"unit": b"u"},
    "object in the context": {"context": {"x": object()}},
    "endless context": {"context": {"x": ENDLESS}},
    "int among the eligible": {"eligible": [object()]},
    "int eligible": {"eligible": 5},
    "object as a key": {"decision_key": object()},
}


def said(client: Any, result: Any) -> Any:
    """Wait for what a verb of a decision gives, as that of an AsyncClient is awaited."""
    return client.waited(result) if isinstance(client, Waiting) else result


@pytest.mark.parametrize("fault", ANSWERS.values(), ids=ANSWERS)
def test_no_answer_raises(service: Service, make: Make, fault: Fault) -> None:
    service.always = fault
    client = make(service.url, timeout=0.1, fallback="pick")
    decision = client.decide("c", unit="u")
    assert (decision.action, decision.mode, decision.id) == ("pick", "fallback", None)
    assert client.fallbacks == 1


def test_what_the_service_would_choose_comes_before_a_fallback(
    service: Service, make: Make
) -> None:
    """Where it can choose and not write; unless the page cannot show that action."""
    body = b'{"title": "away", "status": 503, "action": "policy-pick"}'
    service.always = Fault(status=503, body=body, kind="application/problem+json")
    client = make(service.url, timeout=1.0, fallback="pick")
    decision = client.decide("c", eligible=["policy-pick", "pick"])
    assert (decision.action, decision.mode, decision.id) == ("policy-pick", "fallback", None)
    assert client.decide("c", eligible=["pick"]).action == "pick"
    assert client.fallbacks == 2


def test_what_it_said_before_a_try_without_an_answer_counts(service: Service, make: Make) -> None:
    body = b'{"title": "away", "status": 503, "action": "policy-pick"}'
    service.faults.append(Fault(status=503, body=body, kind="application/problem+json"))
    service.always = Fault(delay=8.0)
    assert make(service.url, timeout=2.0, fallback="pick").decide("c").action == "policy-pick"


@pytest.mark.parametrize("arguments", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("of_call", [True, False])
def test_no_argument_raises(
    service: Service, make: Make, arguments: dict[str, Any], of_call: bool
) -> None:
    client = make(service.url, timeout=0.5, fallback=None if of_call else "pick")
    more = {"fallback": "pick"} if of_call else {}
    assert client.decide("c", **arguments, **more).mode == "fallback"
    for name in (None, 5, "", "\ud800", ["c"]):
        assert client.decide(name, **more).mode == "fallback"
    assert client.fallbacks == 6


def test_a_closed_client_falls_back(service: Service, make: Make) -> None:
    client = make(service.url, fallback="pick")
    decision = client.decide("c")
    client.close()
    assert client.decide("c").mode == "fallback"
    assert said(client, decision.reward(1.0)) is None
    assert client.reward("d", 1.0) is None
    assert client.dropped == 2
    assert "is closed" in (client.health().trouble or "")


def test_a_fallback_that_raises_leaves_it_to_the_next_one(
    service: Service, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    service.always = problem(404, detail="there is no campaign")
    assert make(service.url, fallback="pick").decide("c", fallback=broken).action == "pick"
    assert "the fallback for 'c' failed" in caplog.text
    make(service.url, fallback=lambda campaign, eligible: 5).decide("c")
    assert "must be the name of an action, got 5" in caplog.text


def broken(campaign: str, eligible: Any) -> str:
    """Have a mistake in it."""
    raise ZeroDivisionError


WITHOUT_ACTION: dict[str, Any] = {
    "a function that raises": broken,
    "a function that returns no text": lambda campaign, eligible: 5,
    "a function that returns nothing": lambda campaign, eligible: None,
    "a mapping without the campaign": {"another": "pick"},
}


@pytest.mark.parametrize("of_call", [True, False])
@pytest.mark.parametrize("fallback", WITHOUT_ACTION.values(), ids=WITHOUT_ACTION)
def test_a_fallback_without_an_action_gives_what_a_page_can_use(
    service: Service, make: Make, fallback: Any, of_call: bool
) -> None:
    client = make(service.url, fallback=None if of_call else fallback)
    more = {"fallback": fallback} if of_call else {}
    given = client.decide("known").action
    service.always = problem(404, detail="there is no campaign")
    for campaign, eligible, action in (
        ("c", ["b", "a"], "b"),
        ("known", None, given),
        ("known", "ba", given),
        ("c", None, ""),
        (5, None, ""),
    ):
        decision = client.decide(campaign, eligible=eligible, **more)
        assert (decision.action, decision.mode, decision.id) == (action, "fallback", None)
        assert said(client, decision.reward(1.0)) is None
    assert client.fallbacks == 5
    assert client.dropped == 5


def test_a_mapping_has_an_action_for_any_other_campaign(service: Service, make: Make) -> None:
    service.always = problem(404)
    client = make(service.url, fallback={"c": "pick", "*": "first"})
    assert [client.decide(name).action for name in ("c", "another")] == ["pick", "first"]


@pytest.mark.parametrize("wrong", [5, "", {}, {"c": ""}, {"c": 5}, {5: "pick"}, ["pick"]])
def test_what_can_be_no_fallback_is_refused_where_it_is_given(
    service: Service, make: Make, wrong: Any
) -> None:
    with pytest.raises(InvalidInput, match="fallback"):
        make(service.url, fallback=wrong)
    service.always = problem(404)
    with pytest.raises(InvalidInput, match="fallback"):
        make(service.url).decide("c", fallback=wrong)
    assert make(service.url, fallback="pick").decide("c", fallback=wrong).action == "pick"


def test_dropped_feedback_is_logged_whatever_was_logged_of_fallbacks(
    service: Service, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    service.always = problem(401, detail="the key is not valid")
    client = make(service.url, fallback="pick")
    client.decide("c")
    client.signal(None, "click")
    assert client.health().last_drop is None
    for _ in range(3):
        client.reward("d", "much")
    lines = [one.getMessage() for one in caplog.records if one.name == "foretell.client"]
    assert [line.partition(":")[0] for line in lines] == [
        "fallback for 'c'",
        "feedback was dropped",
    ]
    told = client.health()
    assert (told.dropped, told.last_drop) == (4, "a reward must be a finite number, got 'much'")
    assert told.last_drop_at is not None


def test_health_says_after_the_end_what_was_rejected(service: Service, make: Make) -> None:
    service.verdict = lambda event: {"status": "rejected", "detail": "no such decision"}
    client = make(service.url)
    for _ in range(3):
        client.reward("d", 1.0)
    assert client.flush()
    client.close()
    told = client.health()
    assert (told.queued, told.rejected) == (0, 3)
    assert "is closed" in (told.trouble or "")


VERBS: dict[str, Callable[[Any, Any], Any]] = {
    "signal": lambda c, d: c.signal(d, 5),
    "reward": lambda c, d: c.reward(d, "much"),
    "adjust": lambda c, d: c.adjust(d, None, 1.0),
    "retract": lambda c, d: c.retract(d, 5),
    "void": lambda c, d: c.void(d, event_id=5),
    "time": lambda c, d: c.void(d, occurred_at=5),
    "short signal": lambda c, d: d.signal(5),
    "short reward": lambda c, d: d.reward(float("nan")),
    "short void": lambda c, d: d.void(event_id=object()),
}


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
@pytest.mark.parametrize("of_call", [True, False])
def test_no_verb_raises(
    service: Service, make: Make, verb: Callable[[Any, Any], Any], of_call: bool
) -> None:
    client = make(service.url, timeout=0.5, fallback=None if of_call else "pick")
    decision = client.decide("c", fallback="pick" if of_call else None)
    assert decision.mode == "policy"
    assert said(client, verb(client, decision)) is None
    assert client.dropped == 1
    assert client.fallbacks == 0


def test_the_reason_is_logged_once_a_minute(
    service: Service,
    make: Make,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service.always = problem(401, detail="the key is not valid")
    client = make(service.url, fallback="pick")
    for _ in range(50):
        client.decide("home-hero")
    (line,) = [one for one in caplog.records if one.name == "foretell.client"]
    assert line.levelno == logging.WARNING
    assert "fallback for 'home-hero': the service answered 401: the key is not" in line.getMessage()
    monkeypatch.setattr(health, "LOG_SECONDS", 0.0)
    failures = (client._client if isinstance(client, Waiting) else client)._failures
    failures._fallback_lines._next_log = 0.0
    client.decide("home-hero")
    assert "(50 since this was last logged)" in caplog.records[-1].getMessage()
    assert client.fallbacks == 51


def test_health_tells_how_the_client_is(service: Service, make: Make) -> None:
    client = make(service.url, timeout=2.0, fallback="pick")
    fresh = client.health()
    assert fresh == health.ClientHealth(0, None, None, 0, 0, None, 0, None, None)
    client.decide("c")
    heard = client.health().last_contact
    assert heard is not None
    assert heard.utcoffset() is not None
    service.verdict = lambda event: {"status": "rejected", "detail": "no such decision"}
    client.reward("d", 1.0)
    assert client.flush()
    service.stop()
    client.decide("c")
    client.signal("d", "click")
    client.signal(None, "click")
    until(lambda: client.health().trouble is not None)
    told = client.health()
    assert told.fallbacks == 1
    assert "the service cannot be reached" in told.last_fallback
    assert told.last_fallback_at is not None
    assert (told.queued, told.rejected, told.dropped) == (1, 1, 1)
    assert told.oldest_queued_at is not None
    assert told.last_contact is not None
    assert told.last_contact >= heard
    service.start()


def test_what_is_rejected_can_be_sent_again(service: Service, make: Make, tmp_path: Path) -> None:
    service.verdict = lambda event: {"status": "rejected", "detail": "no such signal"}
    first = make(service.url, outbox=tmp_path / "outbox.db")
    ids = [first.signal("d", name) for name in ("one", "two", "three")]
    assert first.flush()
    first.close()
    second = make(service.url, outbox=tmp_path / "outbox.db")
    rejected = second.rejected()
    assert [one.reason for one in rejected] == ["no such signal"] * 3
    assert second.pending == 0
    service.verdict = None
    assert second.resend_rejected(rejected[1:2]) == 1
    assert second.flush()
    assert list(service.events) == [ids[1]], "under its own id"
    assert second.resend_rejected(rejected[1:2]) == 0
    assert second.resend_rejected() == 2
    assert second.flush()
    assert set(service.events) == set(ids)
    assert second.rejected() == []
    assert second.resend_rejected() == 0
    assert second.health().rejected == 0


def test_an_outbox_that_is_busy_holds_nobody_up(
    service: Service, make: Make, tmp_path: Path
) -> None:
    path = tmp_path / "outbox.db"
    raises = make(service.url, outbox=path, timeout=0.05)
    falls_back = make(service.url, outbox=path, timeout=0.05, fallback="pick")
    first = falls_back.reward("d", 1.0)
    assert falls_back.flush()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(OutboxUnusable, match=r"cannot be written: .*this event was not kept"):
        raises.reward("d", 1.0)
    kept = [falls_back.reward("d", 1.0) for _ in range(2)]
    assert None not in kept
    assert falls_back.dropped == 0
    assert falls_back.health().queued == 2
    assert not falls_back.flush(timeout=0.05)
    other.execute("ROLLBACK")
    other.close()
    assert falls_back.flush()
    assert list(service.events) == [first, *kept]


def test_so_many_events_are_kept_in_memory_and_no_more(
    service: Service, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Outbox, body: bytes, timeout: float = 0.0) -> None:
        raise OutboxUnusable("the disk is full")

    monkeypatch.setattr(sender, "MAX_UNWRITTEN_EVENTS", 2)
    client = make(service.url, outbox=tmp_path / "outbox.db", fallback="pick")
    with monkeypatch.context() as patch:
        patch.setattr(Outbox, "put", full)
        kept = [client.reward("d", 1.0) for _ in range(3)]
        assert kept[2] is None
        assert client.dropped == 1
        until(lambda: client.health().trouble == "the disk is full")
    assert client.flush()
    assert list(service.events) == kept[:2]
