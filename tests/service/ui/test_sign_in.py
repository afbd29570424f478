"""Signing in: a session stands for a key, holds no secret, and cannot be used by another site."""

from __future__ import annotations

import pytest

from foretell.service.model.sessions import Session, seal_session
from foretell.service.ui.page_endpoint import PageRoute
from foretell.service.ui.routes import PAGES
from foretell.service.ui.sign_in import SESSION_SECONDS
from tests.service.ui.dashboard import CAMPAIGN, KEY, Dashboard

OPEN = {"sign_in", "sign_out"}


def address(page: PageRoute) -> str:
    return page.path.format(campaign="hero", decision="x", table="actions", change="pause")


def test_a_session_holds_no_secret_and_no_script_or_other_site_gets_it(
    dashboard: Dashboard,
) -> None:
    cookie = dashboard.sign_in().headers["set-cookie"]
    assert KEY not in cookie
    parts = set(cookie.split("; ")[1:])
    assert {"HttpOnly", "SameSite=Strict", "Path=/ui", f"Max-Age={SESSION_SECONDS}"} <= parts
    assert "Secure" not in parts
    behind_tls = dashboard.sign_in(**{"X-Forwarded-Proto": "https"})
    assert behind_tls.headers["set-cookie"].endswith("; Secure")


def test_after_signing_in_one_is_where_one_wanted_to_be_but_never_elsewhere(
    dashboard: Dashboard,
) -> None:
    asked = dashboard.get("/ui/operations")
    assert asked.headers["location"] == "/ui/sign-in?next=/ui/operations"
    for wanted, led in (
        ("/ui/operations", "/ui/operations"),
        ("https://elsewhere.example/", "/ui"),
        ("//elsewhere.example/", "/ui"),
        ("/uix", "/ui"),
    ):
        answer = dashboard.client.post("/ui/sign-in", data={"key": KEY, "next": wanted})
        assert answer.headers["location"] == led


def test_nothing_is_shown_or_done_without_a_session(dashboard: Dashboard) -> None:
    dashboard.api("POST", "/campaigns", CAMPAIGN)
    for page in PAGES:
        if page.name not in OPEN:
            shown = dashboard.get(address(page)) if page.get is not None else None
            assert shown is None or shown.headers["location"].startswith("/ui/sign-in")
            done = dashboard.client.post(address(page), data={}) if page.post is not None else None
            assert done is None or done.status_code == 401


def test_a_wrong_key_opens_no_session(dashboard: Dashboard) -> None:
    for wrong in ("", "ftk_another-key-of-the-right-length", "kéy"):
        answer = dashboard.sign_in(wrong)
        assert answer.status_code == 401
        assert "set-cookie" not in answer.headers
        assert "not known here" in answer.text
        assert not wrong or wrong not in answer.text


def test_a_key_that_may_not_read_opens_no_session(dashboard: Dashboard) -> None:
    answer = dashboard.sign_in(dashboard.make_key("decide", "feedback").key)
    assert answer.status_code == 403
    assert "scope read or admin" in answer.text


def test_a_session_ends_with_its_key(dashboard: Dashboard) -> None:
    made = dashboard.make_key("read")
    dashboard.sign_in(made.key)
    assert dashboard.get("/ui").status_code == 200
    dashboard.portal.call(dashboard.engine.revoke_key, made.id)
    assert dashboard.get("/ui").headers["location"].startswith("/ui/sign-in")


def test_a_session_ends_when_the_secret_is_changed(dashboard: Dashboard) -> None:
    dashboard.sign_in()
    dashboard.portal.call(dashboard.engine.rotate)
    assert dashboard.get("/ui").status_code == 303


def test_a_session_ends_with_its_time_and_cannot_be_made_up(dashboard: Dashboard) -> None:
    engine = dashboard.engine
    session = engine.open_session(KEY, 1000)
    assert engine.session_caller(session, 999.0) is not None
    assert engine.session_caller(session, 1000.0) is None
    for place in range(0, len(session), 7):
        other = "A" if session[place] != "A" else "B"
        forged = session[:place] + other + session[place + 1 :]
        assert engine.session_caller(forged, 999.0) is None
    for forged in ("", "nonsense", "é", session[:40], session + session):
        assert engine.session_caller(forged, 999.0) is None


def test_who_has_read_the_database_can_make_no_session(dashboard: Dashboard) -> None:
    secrets = dashboard.engine.runtime.secrets
    held = [one.event for one in dashboard.engine.runtime.keyring._keys.values()]
    for guess in (held[0].id, held[0].digest.hex(), ""):
        forged = seal_session(secrets[max(secrets)], Session(2000, guess))
        assert dashboard.engine.session_caller(forged, 999.0) is None


def test_signing_out_forgets_the_session(dashboard: Dashboard) -> None:
    dashboard.sign_in()
    dashboard.post("/ui/sign-out")
    assert dashboard.get("/ui").status_code == 303


@pytest.mark.parametrize(
    ("headers", "token"),
    [
        ({}, "another"),
        ({"Origin": "https://elsewhere.example"}, None),
        ({"Sec-Fetch-Site": "cross-site"}, None),
    ],
)
def test_a_form_of_another_site_changes_nothing(
    headers: dict[str, str], token: str | None, dashboard: Dashboard
) -> None:
    dashboard.api("POST", "/campaigns", CAMPAIGN)
    dashboard.sign_in()
    sent = {"token": token or dashboard.token("/ui")}
    path = "/ui/campaigns/hero/change/pause"
    assert dashboard.client.post(path, data=sent, headers=headers).status_code == 403
    assert dashboard.api("GET", "/campaigns/hero")["status"] == "running"


def test_a_key_that_may_read_sees_everything_and_changes_nothing(dashboard: Dashboard) -> None:
    dashboard.api("POST", "/campaigns", CAMPAIGN)
    dashboard.sign_in(dashboard.make_key("read").key)
    page = dashboard.get("/ui/campaigns/hero")
    assert page.status_code == 200
    assert "/change/pause" not in page.text
    assert dashboard.post("/ui/campaigns/hero/change/pause").status_code == 403
    assert dashboard.api("GET", "/campaigns/hero")["status"] == "running"


def test_a_key_for_one_campaign_sees_that_one_alone(dashboard: Dashboard) -> None:
    dashboard.api("POST", "/campaigns", CAMPAIGN)
    dashboard.api("POST", "/campaigns", CAMPAIGN | {"name": "other"})
    dashboard.sign_in(dashboard.make_key("read", campaign="hero").key)
    fleet = dashboard.get("/ui").text
    assert "/ui/campaigns/hero" in fleet
    assert "other" not in fleet
    assert "other" not in dashboard.get("/ui/fleet.csv").text
    assert dashboard.get("/ui/campaigns/hero").status_code == 200
    assert dashboard.get("/ui/campaigns/other").status_code == 403
    decided = dashboard.api("POST", "/campaigns/other/decisions", {})
    assert dashboard.get(f"/ui/decisions/{decided['decision_id']}").status_code == 403


def test_no_page_allows_script_or_style_within_it(dashboard: Dashboard) -> None:
    dashboard.sign_in()
    for path in ("/ui", "/ui/operations", "/ui/new-campaign", "/ui/campaigns/none"):
        answer = dashboard.get(path)
        policy = answer.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert "<style" not in answer.text
        assert " style=" not in answer.text
        assert "onclick" not in answer.text
