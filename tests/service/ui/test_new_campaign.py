"""Making a campaign: refused in the words of the API, in the units typed, and shown before."""

from __future__ import annotations

import csv
import io
import re
from urllib.parse import unquote

from tests.service.ui.dashboard import Dashboard, words

FORM = {
    "name": "gift-finder",
    "actions": "puzzles\r\nbooks",
    "signals": "click\r\nwishlist",
    "signals_ordered": "yes",
    "signal_window": "1",
    "signal_window_unit": "hours",
    "reward_window": "7",
    "reward_window_unit": "days",
    "holdout": "10",
    "explore": "2",
    "reward_name": "orders",
    "policy": "nsd-adaptive",
    "status": "draft",
}


REFUSED = (
    ({"actions": "puzzles"}, {"actions": ["puzzles"]}),
    ({"name": "a b"}, {"name": "a b"}),
    ({"policy": "oracle-ucb"}, {"policy": "oracle-ucb"}),
    ({"policy": "nsd-adaptiv"}, {"policy": "nsd-adaptiv"}),
)
"""What is typed into the wizard, and the same as a body of the API."""
SOUND = {
    "name": "gift-finder",
    "actions": ["puzzles", "books"],
    "signals": ["click", "wishlist"],
    "signal_window": 3600.0,
    "reward_window": 604800.0,
    "holdout": 0.1,
    "explore": 0.02,
}


def test_the_wizard_refuses_what_the_api_refuses_in_its_words(dashboard: Dashboard) -> None:
    dashboard.sign_in()
    for typed, body in REFUSED:
        refused = dashboard.api("POST", "/campaigns", SOUND | body)
        answer = dashboard.post("/ui/new-campaign", **FORM | typed)
        assert answer.status_code == refused["status"] == 422
        for one in refused["errors"]:
            assert one["detail"] in words(answer.text)


IN_UNITS = (
    (
        {"signal_window": "-1"},
        (
            "signal_window must be a number of hours above 0 and at most "
            "87,840, got -1: send a larger one"
        ),
    ),
    (
        {"signal_window": "soon"},
        (
            "signal_window must be a number of hours above 0 and at most "
            "87,840, got 'soon': send a number"
        ),
    ),
    (
        {"reward_window": "1e308"},
        (
            "reward_window must be a number of days above 0 and at most "
            "3,660, got 1e308: send a smaller one"
        ),
    ),
    (
        {"reward_window": "12", "reward_window_unit": "minutes"},
        ("as a reward waits for its signal, got 12 minutes and 1 hours: change one of them"),
    ),
    (
        {"holdout": "150"},
        (
            "holdout must be a number of per cent of at least 0 and at most 100, "
            "got 150: send a smaller one"
        ),
    ),
    ({"explore": "x"}, "got 'x': send a number"),
    (
        {"holdout": "60", "explore": "70"},
        (
            "explore and holdout must be at most 100 per cent "
            "together, got 70 and 60: lower one of them"
        ),
    ),
    ({"actions": "books\na b"}, "action 2 must be a name of at most 100 letters"),
    (
        {"actions": "a b\nc d\ne f\ng h"},
        ("choose another name; the same holds for action 2 'c d', action 3 'e f' and 1 more"),
    ),
)
"""What is typed, and what is said of it: not in seconds, and not in shares."""


def test_the_wizard_speaks_of_what_was_typed_in_its_unit(dashboard: Dashboard) -> None:
    dashboard.sign_in()
    for typed, said in IN_UNITS:
        answer = dashboard.post("/ui/new-campaign", **FORM | typed)
        assert answer.status_code == 422
        shown = words(answer.text)
        assert said in shown
        assert "[" not in shown
        assert "The API counts" not in shown


def test_the_wizard_says_nothing_that_only_follows_from_another_error(
    dashboard: Dashboard,
) -> None:
    dashboard.sign_in()
    wrong = {"signals": "klick größe\nnone\nclick\nclick", "signal_window": "-1"}
    shown = words(
        dashboard.post("/ui/new-campaign", **FORM | wrong | {"reward_window": "0,01"}).text
    )
    assert "signal 1 must be a name" in shown
    assert "got it after 'klick größe'" in shown
    assert "got 'click' twice" in shown
    assert "needs at least 2 signals" not in shown
    assert "reward_window must" not in shown


def test_the_wizard_keeps_all_that_was_typed_where_something_is_wrong(
    dashboard: Dashboard,
) -> None:
    dashboard.sign_in()
    for wrong in ({"decisions_a_day": "-5"}, {"explore": "x"}, {"holdout": "150"}):
        page = dashboard.post("/ui/new-campaign", **FORM | wrong)
        assert page.status_code == 422
        (name, typed), *_ = wrong.items()
        assert f'id="{name}-error"' in page.text
        for value in (typed, "gift-finder", "orders"):
            assert f'value="{value}"' in page.text
        assert "puzzles\r\nbooks</textarea>" in page.text


def test_a_campaign_is_made_once_it_was_shown_and_confirmed(served: Dashboard) -> None:
    shown = served.post("/ui/new-campaign", **FORM)
    assert shown.status_code == 200
    assert "Make gift-finder?" in words(shown.text)
    assert "orders within 7 days" in words(shown.text)
    assert len(served.api("GET", "/campaigns")["campaigns"]) == 1
    made = served.post("/ui/new-campaign", **FORM, confirmed="yes")
    assert made.headers["location"] == "/ui/campaigns/gift-finder"
    view = served.api("GET", "/campaigns/gift-finder")
    assert view["status"] == "draft"
    assert view["signals"] == ["none", "click", "wishlist"]
    assert (view["signal_window"], view["reward_window"]) == (3600.0, 604800.0)
    assert (view["holdout"], view["explore"], view["reward_name"]) == (0.1, 0.02, "orders")
    again = served.post("/ui/new-campaign", **FORM, confirmed="yes")
    assert again.status_code == 409
    assert "names are never reused" in again.text


def test_the_first_weeks_are_imagined_before_a_campaign_is_made(dashboard: Dashboard) -> None:
    dashboard.sign_in()
    asked = FORM | {"policy": "ts", "decisions_a_day": "20", "reward_window": "2"}
    found = dashboard.client.get("/ui/first-weeks", params=asked)
    assert found.status_code == 200
    assert "more than an even split" in words(found.text)
    assert "after 4 days" in words(found.text)
    for wrong in ({"decisions_a_day": "many"}, {"actions": "one"}):
        refused = dashboard.client.get("/ui/first-weeks", params=asked | wrong)
        assert refused.status_code == 422
    many = asked | {"actions": "\n".join(f"a{number}" for number in range(500))}
    assert "too many to be imagined" in dashboard.client.get("/ui/first-weeks", params=many).text
    assert dashboard.api("GET", "/campaigns")["campaigns"] == []
    sent = re.search(r'href="data:text/csv;charset=utf-8,([^"]+)" download', found.text)
    assert sent
    head, *rows = csv.reader(io.StringIO(unquote(sent[1])))
    assert head == ["seconds", "low", "middle", "high"]
    assert float(rows[-1][0]) == 4 * 86_400


def test_what_will_be_made_is_named_in_full(dashboard: Dashboard) -> None:
    dashboard.sign_in()
    shown = words(dashboard.post("/ui/new-campaign", **FORM).text)
    assert "among 2 actions (puzzles and books), learns from click and wishlist within" in shown
    assert "Exploration, always 2\N{NO-BREAK SPACE}% of the decisions are drawn evenly too" in shown
    many = "\n".join(f"a{number}" for number in range(20))
    shown = words(dashboard.post("/ui/new-campaign", **FORM | {"actions": many}).text)
    assert "a11 and 8 more)" in shown


def test_names_of_users_cannot_become_markup(dashboard: Dashboard) -> None:
    dashboard.sign_in()
    answer = dashboard.post("/ui/new-campaign", **FORM | {"name": "<script>alert(1)</script>"})
    assert answer.status_code == 422
    assert "<script>alert" not in answer.text
