"""Signing in: a session stands for a key, holds no secret, and cannot be used by another site."""

from __future__ import annotations

import re
import sys
from html import unescape

import pytest

from foretell.protocol.fields import MAX_ACTIONS
from foretell.service.http.sign_ins import MOST_SIGN_INS, SIGN_IN_SECONDS, SignIns
from foretell.service.model.sessions import SESSION_SECONDS
from foretell.service.ui.page_endpoint import SIGN_IN, SIGNED_IN, SIGNED_OUT, PageRoute
from foretell.service.ui.routes import PAGES
from foretell.service.ui.unsent_forms import keep, unsent
from foretell.service.ui.visit import COOKIE, MAX_FIELDS, is_from_here, session_of
from tests.service.ui.dashboard import CAMPAIGN, KEY, Dashboard

OPEN = {"sign_in", "sign_out"}


def field(page: str, name: str) -> str:
    """Return what a hidden field of a page holds."""
    found = re.search(f'type="hidden" name="{name}" value="([^"]*)"', page)
    assert found, name
    return unescape(found[1])


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


def test_whoever_signs_in_while_the_log_is_closed_can_look(dashboard: Dashboard) -> None:
    dashboard.log.closed = "the disk is full"
    assert dashboard.sign_in().status_code == 303
    assert "The log is closed" in dashboard.get("/ui").text
    assert dashboard.post("/ui/sign-out").status_code == 303
    assert dashboard.get("/ui").status_code == 303


def test_signing_out_ends_the_session_also_for_whoever_has_kept_it(dashboard: Dashboard) -> None:
    dashboard.sign_in()
    session = dashboard.client.cookies[COOKIE]
    dashboard.post("/ui/sign-out")
    assert COOKIE not in dashboard.client.cookies
    dashboard.client.cookies.set(COOKIE, session, path="/ui")
    assert dashboard.get("/ui").headers["location"].startswith("/ui/sign-in")


SESSION = "s" * 42 + "-"
QUOTED = b'="' + rb"\\" * 100 + b'"'


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        (b"foretell_session=" + SESSION.encode(), SESSION),
        (b"a=b;foretell_session=" + SESSION.encode() + b" ; c=d", SESSION),
        (b"a" + QUOTED + b"; foretell_session=" + SESSION.encode(), SESSION),
        (b"foretell_session=old; foretell_session=" + SESSION.encode(), SESSION),
        (b'foretell_session="' + SESSION.encode() + b'"', ""),
        (b"foretell_session" + QUOTED, ""),
        (b"foretell_session=" + SESSION.encode() + b"s", ""),
        (b"foretell_session=" + b"\xe9" * 43, ""),
        (b"another_foretell_session=" + SESSION.encode(), ""),
        (b"foretell_session", ""),
        (b";;=;", ""),
        (b"", ""),
    ],
)
def test_a_session_is_found_among_cookies_and_only_in_its_exact_form(
    sent: bytes, found: str
) -> None:
    assert session_of({b"cookie": sent}) == found


def test_what_a_cookie_quotes_is_not_read() -> None:
    """Python's own parser takes steps for each character, and a time that grows as their square."""
    steps = 0

    def count(*_: object) -> None:
        nonlocal steps
        steps += 1

    sent = {b"cookie": b'a="' + rb"\\" * 1000 + b'"; foretell_session="' + rb"\163" * 43 + b'"'}
    sys.setprofile(count)
    try:
        found = session_of(sent)
    finally:
        sys.setprofile(None)
    assert found == ""
    assert steps < 100


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


def test_a_key_for_one_campaign_changes_that_one_alone(dashboard: Dashboard) -> None:
    dashboard.api("POST", "/campaigns", CAMPAIGN)
    dashboard.api("POST", "/campaigns", CAMPAIGN | {"name": "other"})
    dashboard.sign_in(dashboard.make_key("admin", campaign="hero").key)
    assert "/ui/new-campaign" not in dashboard.get("/ui").text
    assert "/ui/operations" not in dashboard.get("/ui").text
    for page in PAGES:
        if page.scope is not None and "{" not in page.path and not page.each_campaign:
            assert dashboard.get(page.path).status_code == 403
    made = {"name": "mine", "actions": "a\nb", "signals": "click", "confirmed": "yes"}
    assert dashboard.post("/ui/new-campaign", **made).status_code == 403
    assert dashboard.post("/ui/campaigns/other/change/pause").status_code == 403
    assert dashboard.post("/ui/campaigns/hero/change/pause").status_code == 303
    views = dashboard.api("GET", "/campaigns")["campaigns"]
    assert [(one["name"], one["status"]) for one in views] == [
        ("hero", "paused"),
        ("other", "running"),
    ]


OURS = {"Sec-Fetch-Site": "same-origin"}


def test_what_was_typed_outlives_its_session_and_is_sent_by_whoever_typed_it(
    dashboard: Dashboard,
) -> None:
    dashboard.api("POST", "/campaigns", CAMPAIGN)
    dashboard.sign_in()
    path, typed = "/ui/campaigns/hero/new-action", {"action": "c<b>"}
    old = dashboard.token("/ui")
    dashboard.post("/ui/sign-out")
    asked = dashboard.client.post(path, data={"token": old} | typed, headers=OURS)
    assert asked.status_code == 401
    assert "What you typed is kept" in asked.text
    kept = field(asked.text, "unsent")
    wrong = dashboard.client.post(
        "/ui/sign-in", data={"key": "ftk_no", "next": path, "unsent": kept}
    )
    assert field(wrong.text, "unsent") == kept
    again = dashboard.client.post("/ui/sign-in", data={"key": KEY, "next": path, "unsent": kept})
    assert again.status_code == 200
    assert field(again.text, "action") == "c<b>"
    assert f'action="{path}"' in again.text
    assert field(again.text, "token") == dashboard.token("/ui") != old
    stale = dashboard.client.post(path, data={"token": old} | typed, headers=OURS)
    assert stale.status_code == 409
    assert field(stale.text, "action") == "c<b>"
    actions = dashboard.api("GET", "/campaigns/hero")["actions"]
    assert [one["action"] for one in actions] == ["a", "b"]


def test_a_form_without_a_session_is_short_and_says_what_to_do(dashboard: Dashboard) -> None:
    dashboard.api("POST", "/campaigns", CAMPAIGN)
    path, room = "/ui/campaigns/hero/new-action", SIGNED_OUT.size - len("action=")
    send = dashboard.client.post
    kept = send(path, data={"action": "c" * room}, headers=OURS)
    assert kept.status_code == 401
    whole = {"key": KEY, "next": path, "unsent": field(kept.text, "unsent")}
    assert field(send("/ui/sign-in", data=whole).text, "action") == "c" * room
    dashboard.client.cookies.clear()
    for to, size, headers, advice in (
        (path, SIGNED_OUT.size + 1, OURS, "sign in in another window"),
        ("/ui/sign-in", SIGN_IN.size + 1, {}, "send a key alone"),
    ):
        refused = send(to, data={"a": "c" * (size - 2)}, headers=headers)
        assert refused.status_code == 413
        assert advice in refused.text


def test_a_form_of_many_fields_is_refused_before_it_is_taken_apart(dashboard: Dashboard) -> None:
    many = {f"a{number}": "" for number in range(MAX_FIELDS + 1)}
    refused = dashboard.client.post("/ui/sign-in", data=many)
    assert refused.status_code == 413
    assert f"at most {MAX_FIELDS} fields" in refused.text
    del many["a0"]
    assert dashboard.client.post("/ui/sign-in", data=many).status_code == 401
    assert unsent(keep(many)) == many
    assert unsent(keep(many | {"a0": ""})) == {}


def test_whoever_is_signed_in_may_type_in_as_many_actions_as_a_campaign_has(
    dashboard: Dashboard,
) -> None:
    dashboard.sign_in()
    typed = {"name": "large", "signals": "click", "confirmed": "yes"}
    names = [f"action-{number}" for number in range(MAX_ACTIONS)]
    made = dashboard.post("/ui/new-campaign", actions="\r\n".join(names), **typed)
    assert made.status_code == 303
    assert len(dashboard.api("GET", "/campaigns/large")["actions"]) == MAX_ACTIONS
    more = dashboard.post("/ui/new-campaign", actions="a" * SIGNED_IN.size, **typed)
    assert more.status_code == 413
    assert "through the API" in more.text


@pytest.mark.parametrize(
    ("origin", "ours"),
    [
        (b"http://here:8000", True),
        (b"https://here:8000", True),
        (b"http://here", False),
        (b"http://here:8000@elsewhere", False),
        (b"http://here:8000/", False),
        (b"here:8000", False),
        (b"http://[", False),
        (b"http://a]b", False),
        (b"null", False),
        (b"http://", False),
        (b"", False),
    ],
)
def test_an_origin_is_ours_if_it_names_this_host_and_nothing_else(
    origin: bytes, ours: bool
) -> None:
    assert is_from_here({b"origin": origin, b"host": b"here:8000"}) is ours
    assert is_from_here({b"origin": origin, b"host": b""}) is False
    assert is_from_here({b"origin": origin}) is False


@pytest.mark.parametrize("origin", ["http://[", "http://a]b"])
def test_an_origin_that_is_none_is_that_of_another_site(origin: str, dashboard: Dashboard) -> None:
    refused = dashboard.sign_in(Origin=origin)
    assert refused.status_code == 403
    assert "not sent by a page of this site" in refused.text


def test_a_key_signs_in_so_often_within_a_minute_and_no_more() -> None:
    now = 0.0
    sign_ins = SignIns(lambda: now)
    for _ in range(MOST_SIGN_INS // 2):
        assert sign_ins.take("a")
    now += SIGN_IN_SECONDS / 2
    for _ in range(MOST_SIGN_INS // 2):
        assert sign_ins.take("a")
    assert not sign_ins.take("a")
    assert sign_ins.take("b")
    now += SIGN_IN_SECONDS / 2
    for _ in range(MOST_SIGN_INS // 2):
        assert sign_ins.take("a")
    assert not sign_ins.take("a")
    now += SIGN_IN_SECONDS
    assert sign_ins.take("c")
    assert len(sign_ins) == 1


def test_a_key_that_signs_in_too_often_waits_and_what_was_typed_is_kept(
    dashboard: Dashboard,
) -> None:
    for _ in range(MOST_SIGN_INS):
        assert dashboard.sign_in().status_code == 303
    dashboard.client.cookies.clear()
    records = dashboard.log.head()
    refused = dashboard.client.post("/ui/sign-in", data={"key": KEY, "unsent": "typed"})
    assert refused.status_code == 429
    assert refused.headers["retry-after"] == str(SIGN_IN_SECONDS)
    assert "Wait a minute" in refused.text
    assert field(refused.text, "unsent") == "typed"
    assert "set-cookie" not in refused.headers
    assert dashboard.log.head() == records
    assert dashboard.sign_in(dashboard.make_key("read").key).status_code == 303


def test_nothing_is_read_of_a_form_of_another_site(dashboard: Dashboard) -> None:
    large, elsewhere = {"key": "k" * SIGN_IN.size}, {"Sec-Fetch-Site": "cross-site"}
    assert dashboard.client.post("/ui/sign-in", data=large).status_code == 413
    refused = dashboard.client.post("/ui/sign-in", data=large, headers=elsewhere)
    assert refused.status_code == 403


def test_a_change_with_nothing_typed_says_again_what_it_does(dashboard: Dashboard) -> None:
    dashboard.api("POST", "/campaigns", CAMPAIGN)
    dashboard.sign_in()
    path = "/ui/campaigns/hero/change/pause"
    stale = dashboard.client.post(path, data={"token": "old"}, headers=OURS)
    assert stale.status_code == 409
    assert f'href="{path}"' in stale.text
    assert f'action="{path}"' not in stale.text
    assert dashboard.api("GET", "/campaigns/hero")["status"] == "running"


def test_where_one_is_led_cannot_become_a_header(dashboard: Dashboard) -> None:
    wanted = "/ui/\r\nSet-Cookie: a=b"
    answer = dashboard.client.post("/ui/sign-in", data={"key": KEY, "next": wanted})
    assert answer.headers["location"] == "/ui/%0D%0ASet-Cookie%3A%20a%3Db"


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
