"""What is sent, to the byte, and what is made of answers of other versions and other servers."""

from __future__ import annotations

import json

import msgspec
import pytest

from foretell.client import ServiceRefused, ServiceUnavailable
from foretell.client.calls import (
    ApiCall,
    HttpReply,
    batch_call,
    decision_call,
    evaluate_call,
    evaluation_call,
    new_campaign_call,
    patch_call,
    read,
    read_receipts,
    report_call,
    set_action_call,
)
from foretell.protocol import DecisionAnswer, FeedbackItem

PROBLEM = "application/problem+json; charset=utf-8"
ANSWER = {
    "decision_id": "d",
    "action": "a",
    "propensity": 0.5,
    "policy": "ucb",
    "reward_due_at": "2027-01-01T00:00:00Z",
    "mode": "policy",
}


def test_only_what_is_given_is_sent() -> None:
    path = "/v1/campaigns/home%2Fhero/decisions"
    assert decision_call("home/hero", None, None, "k", None) == ApiCall(
        "POST", path, b'{"decision_key":"k"}'
    )
    body = b'{"unit":"u","eligible":["b","a"],"decision_key":"k","context":{"page":1}}'
    assert decision_call("home/hero", "u", ("b", "a"), "k", {"page": 1}).body == body
    body = b'{"eligible":["a"],"decision_key":"k","context":{}}'
    assert decision_call("c", None, ["a"], "k", {}).body == body


@pytest.mark.parametrize(
    ("event", "body"),
    [
        (
            FeedbackItem("d", "e", signal="click"),
            b'{"decision_id":"d","event_id":"e","signal":"click"}',
        ),
        (
            FeedbackItem("d", "e", occurred_at="2027-01-01"),
            b'{"decision_id":"d","event_id":"e","occurred_at":"2027-01-01"}',
        ),
        (FeedbackItem("d", "e", value=0.5), b'{"decision_id":"d","event_id":"e","value":0.5}'),
        (
            FeedbackItem("d", "e", None, 0.5, "adjust", "t"),
            b'{"decision_id":"d","event_id":"e","value":0.5,"kind":"adjust","target":"t"}',
        ),
    ],
)
def test_an_event_is_sent_without_its_defaults(event: FeedbackItem, body: bytes) -> None:
    assert msgspec.json.encode(event) == body
    sent = batch_call([body, body])
    assert sent == ApiCall("POST", "/v1/events/batch", b'{"events":[' + body + b"," + body + b"]}")


def test_campaigns_are_sent_as_they_are_given() -> None:
    assert new_campaign_call({"name": "c", "new": 1}).body == b'{"name":"c","new":1}'
    assert report_call("c") == ApiCall("GET", "/v1/campaigns/c/report")
    patch = patch_call("a/b", {"explore": 0.5}, 3)
    assert patch == ApiCall("PATCH", "/v1/campaigns/a%2Fb", b'{"explore":0.5}', {"If-Match": '"3"'})
    assert patch_call("c", {}, None).headers == {}
    action = set_action_call("c", "a/b", "paused")
    assert action == ApiCall("PATCH", "/v1/campaigns/c/actions/a%2Fb", b'{"status":"paused"}')


def test_an_evaluation_is_asked_for_and_read_by_its_id() -> None:
    asked = evaluate_call("hero", "ucb")
    assert (asked.method, asked.path) == ("POST", "/v1/campaigns/hero/evaluations")
    assert asked.body == b'{"policy":"ucb"}'
    read_again = evaluation_call("hero", "e/1")
    assert read_again == ApiCall("GET", "/v1/campaigns/hero/evaluations/e%2F1")


def test_a_newer_service_may_say_more_and_decide_in_new_modes() -> None:
    body = json.dumps({**ANSWER, "mode": "contextual", "model": {"version": 2}}).encode()
    answer = read(HttpReply(201, body), DecisionAnswer)
    assert (answer.decision_id, answer.mode) == ("d", "contextual")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{}", "about:blank"),
        (b'{"title":"No"}', "No"),
        (b'{"title":"No","detail":"not this","errors":[{"field":"x"}],"status":"x"}', "not this"),
    ],
)
def test_a_refusal_may_leave_out_what_the_standard_lets_it(body: bytes, words: str) -> None:
    with pytest.raises(ServiceRefused, match=f"the service answered 404: {words}"):
        read(HttpReply(404, body, PROBLEM), DecisionAnswer)


@pytest.mark.parametrize(
    "reply",
    [
        HttpReply(404, b"{}", "application/json"),
        HttpReply(404, b"[]", PROBLEM),
        HttpReply(404, b'{"detail":1}', PROBLEM),
        HttpReply(200, b""),
        HttpReply(200, b"{}"),
        HttpReply(302, b""),
        HttpReply(503, b"{}", PROBLEM),
    ],
)
def test_what_is_not_understood_is_no_answer(reply: HttpReply) -> None:
    with pytest.raises(ServiceUnavailable, match=f"the service answered {reply.status}"):
        read(reply, DecisionAnswer)


def test_every_event_must_be_answered_for() -> None:
    reply = HttpReply(200, b'{"results":[{"status":"accepted","new":1}]}')
    assert read_receipts(reply, 1)[0].status == "accepted"
    with pytest.raises(ServiceUnavailable, match="answered for 1 of 2 events"):
        read_receipts(reply, 2)
