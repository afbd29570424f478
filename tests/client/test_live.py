"""Both clients against `foretell serve`: one suite, the same answers, and nothing that raises."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from foretell.client import ServiceRefused
from foretell.errors import InvalidInput
from foretell.protocol import (
    CampaignReport,
    CampaignView,
    FieldError,
    ImportView,
    KeyView,
    MadeKey,
    Mode,
    NewKey,
)
from tests.client.conftest import Make, Waiting
from tests.service.server_process import KEY, Server

FIELDS: dict[str, Any] = {"actions": ["a", "b"], "signals": ["none", "click"]}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("live")) as running:
        yield running


@pytest.fixture
def campaign(request: pytest.FixtureRequest) -> str:
    """A name that no other test uses."""
    return "".join(one if one.isalnum() else "-" for one in request.node.name)[-90:].strip("-")


@pytest.fixture
def admin(server: Server, make: Make) -> Any:
    return make(server.url, key=KEY, timeout=20.0)


def said(client: Any, result: Any) -> Any:
    return client.waited(result) if isinstance(client, Waiting) else result


def test_an_operator_gets_typed_answers(admin: Any, campaign: str) -> None:
    made = admin.create_campaign(name=campaign, explore=0.25, **FIELDS)
    assert isinstance(made, CampaignView)
    assert (made.name, made.status, made.explore, made.version) == (campaign, "running", 0.25, 1)
    assert admin.campaign(campaign) == made
    assert made in admin.campaigns()
    changed = admin.patch_campaign(campaign, version=1, holdout=0.5)
    assert (changed.version, changed.holdout, changed.explore) == (2, 0.5, 0.25)
    with pytest.raises(ServiceRefused, match="version"):
        admin.patch_campaign(campaign, version=1, holdout=0.1)
    more = admin.add_action(campaign, "c")
    assert [one.action for one in more.actions] == ["a", "b", "c"]
    assert admin.set_action(campaign, "c", "retired").actions[-1].status == "retired"
    assert admin.pause_campaign(campaign).status == "paused"
    assert admin.start_campaign(campaign).status == "running"
    decision = admin.decide(campaign, unit="u1")
    assert decision.mode in get_args(Mode)
    report = admin.report(campaign)
    assert isinstance(report, CampaignReport)
    assert (report.campaign, report.counts.decisions) == (campaign, 1)
    assert [one.action for one in report.actions] == ["a", "b", "c"]
    assert admin.stop_campaign(campaign).status == "stopped"
    with pytest.raises(ServiceRefused, match="is stopped, for good") as caught:
        admin.patch_campaign(campaign, explore=0.5)
    assert caught.value.status == 409


def test_every_error_of_a_body_reaches_the_caller(admin: Any, campaign: str) -> None:
    with pytest.raises(ServiceRefused, match="3 things are wrong") as caught:
        admin.create_campaign(name=campaign, action=["a"], signals=["none"], explore="0.5")
    assert all(isinstance(one, FieldError) for one in caught.value.errors)
    assert [one.field for one in caught.value.errors] == ["action", "actions", "explore"]


def test_keys_are_made_listed_and_revoked(server: Server, make: Make, admin: Any) -> None:
    made = admin.make_key(NewKey("web", ["decide", "feedback"]))
    assert isinstance(made, MadeKey)
    listed = admin.keys()
    assert all(isinstance(one, KeyView) for one in listed)
    assert made.id in [one.id for one in listed]
    assert made.key not in str(listed)
    assert admin.revoke_key(made.id) is None
    left = admin.keys()
    assert made.id not in [one.id for one in left]
    with pytest.raises(ServiceRefused, match="key"):
        admin.revoke_key(made.id)


def test_a_page_sees_no_exception(server: Server, make: Make, admin: Any, campaign: str) -> None:
    admin.create_campaign(name=campaign, **FIELDS)
    made = admin.make_key(NewKey("page", ["decide", "feedback"]))
    page = make(server.url, key=made.key, timeout=20.0, fallback="pick")
    decision = page.decide(campaign, unit="u1")
    assert decision.mode == "policy"
    assert page.decide(f"no-{campaign}", unit="u1").mode == "fallback"
    assert "there is no campaign" in page.health().last_fallback
    assert page.decide(campaign, unit=5).mode == "fallback"
    assert "the unit must be a text" in page.health().last_fallback
    assert page.decide(campaign, eligible=["zz"]).mode == "fallback"
    assert "there is no action 'zz'" in page.health().last_fallback
    admin.pause_campaign(campaign)
    assert page.decide(campaign).mode == "fallback"
    admin.start_campaign(campaign)
    admin.revoke_key(made.id)
    assert page.decide(campaign).mode == "fallback"
    assert "401" in page.health().last_fallback
    assert page.fallbacks == page.health().fallbacks == 5
    assert said(page, decision.signal("click")) is not None, "it waits for a key that is valid"
    assert said(page, decision.void(event_id=3)) is None
    assert page.pending == page.health().queued == 1


def test_feedback_is_rejected_listed_and_sent_again(
    server: Server, make: Make, admin: Any, campaign: str, tmp_path: Path
) -> None:
    admin.create_campaign(name=campaign, **FIELDS)
    client = make(server.url, key=KEY, timeout=20.0, outbox=tmp_path / "outbox.db")
    decision = client.decide(campaign)
    assert said(client, decision.signal("buy")) is not None
    assert client.reward(decision.id, 1000.0) is not None
    assert client.flush()
    reasons = [one.reason for one in client.rejected()]
    assert "there is no signal 'buy'" in reasons[0]
    assert "10 times outside the reward_range" in reasons[1]
    admin.patch_campaign(campaign, signals=["none", "click", "buy"], reward_range=[0.0, 5000.0])
    while server.ask("GET", f"/v1/campaigns/{campaign}")[1]["refit"]:  # it is in force after that
        time.sleep(0.01)
    client.close()
    later = make(server.url, key=KEY, timeout=20.0, outbox=tmp_path / "outbox.db")
    assert later.resend_rejected() == 2
    assert later.flush()
    assert later.rejected() == []
    status, history = server.ask("GET", f"/v1/decisions/{decision.id}")
    assert status == 200
    assert [one["type"] for one in history["events"]] == ["decision", "signal", "reward"]


def test_a_decision_that_was_never_shown_is_voided(
    server: Server, make: Make, admin: Any, campaign: str
) -> None:
    admin.create_campaign(name=campaign, **FIELDS)
    one, two = admin.decide(campaign), admin.decide(campaign)
    said(admin, one.void())
    admin.void(two.id)
    assert admin.flush()
    for decision in (one, two):
        assert server.ask("GET", f"/v1/decisions/{decision.id}")[1]["voided"]


def test_a_campaign_is_warm_started(admin: Any, campaign: str) -> None:
    admin.create_campaign(name=campaign, **FIELDS)
    at = datetime(2025, 1, 1, tzinfo=UTC)
    rows = [{"action": "b", "signal": "click", "reward": 1.0, "decided_at": at}] * 2001
    view = admin.import_history(campaign, rows, id="old")
    assert isinstance(view, ImportView)
    assert (view.decisions, view.rewards, view.parts) == (2001, 2001, 2)
    while admin.campaign(campaign).history[0].status != "in force":
        time.sleep(0.05)
    assert admin.import_history(campaign, rows, id="old").status == "in force"
    assert admin.report(campaign).history[0].begin == "2025-01-01T00:00:00.000000Z"
    with pytest.raises(ServiceRefused, match="in force already"):
        admin.import_history(campaign, rows[1:], id="old")
    with pytest.raises(InvalidInput, match="row 1 of a history must have"):
        admin.import_history(campaign, [rows[0], {"action": "b"}])
    with pytest.raises(InvalidInput, match="at least one row"):
        admin.import_history(campaign, [])


def test_the_environment_says_where_the_service_is(
    server: Server, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORETELL_URL", server.url)
    monkeypatch.setenv("FORETELL_KEY", KEY)
    assert make(timeout=20.0).keys()
    monkeypatch.setenv("FORETELL_KEY", "ftk_wrong")
    with pytest.raises(ServiceRefused, match="401"):
        make(timeout=20.0).keys()
    assert make(timeout=20.0, key=KEY).keys()
    monkeypatch.setenv("FORETELL_URL", "http://127.0.0.1:1")
    assert make(server.url, key=KEY, timeout=20.0).keys()


def test_health_can_be_written_as_json(server: Server, make: Make, admin: Any) -> None:
    admin.keys()
    told = msgspec.json.decode(msgspec.json.encode(admin.health()))
    assert told["last_contact"].endswith("Z")
    assert set(told) == set(admin.health().__struct_fields__)
