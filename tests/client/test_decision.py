"""Decisions: always in time, once, and never an exception when there is a fallback."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

import pytest

from foretell.client import ClientClosed, ServiceRefused, ServiceUnavailable
from foretell.errors import InvalidInput
from foretell.protocol import FieldError
from tests.client.conftest import PATIENCE, Make
from tests.client.fake_service import GARBAGE, Fault, Service, problem

TROUBLE = {
    "dropped": Fault(drop=True),
    "lost answer": Fault(lose=True),
    "slow": Fault(delay=5.0),
    "503": problem(503, "log-closed"),
    "503 with Retry-After": Fault(status=503, retry_after="1"),
    "429": problem(429),
    "500 page": Fault(status=500, body=b"<html>"),
    "404 of a proxy": Fault(status=404, body=b"<html>"),
    "403 of a firewall": Fault(status=403, body=b"<html>"),
    "redirect": Fault(status=302),
    "200 of a portal": Fault(status=200, body=b"<html>log in"),
    "no answer at all": Fault(status=200, body=b"{}", kind="application/json"),
    "unreadable refusal": Fault(status=422, body=b"x", kind="application/problem+json"),
    **GARBAGE,
}


def test_a_decision_is_what_the_service_answered(service: Service, make: Make) -> None:
    client = make(service.url + "/", key="ftk_abc")
    decision = client.decide(
        "home hero", unit="u1", eligible=("b", "a"), decision_key="k", context={"page": 1}
    )
    assert decision.id == "decision-k"
    assert decision.action == "b"
    assert decision.propensity == 0.5
    assert decision.mode == "policy"
    assert decision.policy == "nsd-adaptive"
    assert decision.reward_due_at == "2027-01-01T00:00:00Z"
    sent = service.requests[0]
    assert sent.path == "/v1/campaigns/home%20hero/decisions"
    assert sent.key == "Bearer ftk_abc"
    assert sent.body == {
        "unit": "u1",
        "eligible": ["b", "a"],
        "decision_key": "k",
        "context": {"page": 1},
    }
    assert "ftk" not in repr(client)


def test_each_decision_has_a_key_of_its_own(service: Service, make: Make) -> None:
    client = make(service.url)
    assert client.decide("c").id != client.decide("c").id
    assert all(request.body["decision_key"] for request in service.requests)


@pytest.mark.parametrize("fault", TROUBLE.values(), ids=TROUBLE)
def test_trouble_gives_the_fallback_in_time(service: Service, make: Make, fault: Fault) -> None:
    service.always = fault
    client = make(service.url, timeout=0.1, fallback="pick")
    client.decide("c")
    begun = time.monotonic()
    decision = client.decide("c")
    assert time.monotonic() - begun < PATIENCE
    assert (decision.action, decision.mode) == ("pick", "fallback")
    assert decision.id is decision.propensity is decision.policy is None


@pytest.mark.parametrize("fault", TROUBLE.values(), ids=TROUBLE)
def test_trouble_without_a_fallback_is_one_error(
    service: Service, make: Make, fault: Fault
) -> None:
    service.always = fault
    with pytest.raises(ServiceUnavailable, match="the service"):
        make(service.url, timeout=0.1).decide("c")


def test_a_service_that_is_not_there_is_trouble(service: Service, make: Make) -> None:
    client = make(service.url, timeout=2.0, fallback="pick")
    assert client.decide("c").mode == "policy"
    service.stop()
    assert client.decide("c").mode == "fallback"
    service.start()
    assert client.decide("c").mode == "policy"


def test_a_service_that_never_answers_is_trouble(make: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = make(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.1, fallback="pick")
        begun = time.monotonic()
        assert client.decide("c").mode == "fallback"
        assert 0.09 < time.monotonic() - begun < PATIENCE


@pytest.mark.parametrize("url", ["http://localhost:1", "http://[::1]:1", "http://127.0.0.1:1/a/b"])
def test_an_address_may_be_of_any_kind(make: Make, url: str) -> None:
    assert make(url, timeout=0.02, fallback="pick").decide("c").mode == "fallback"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 412, 413, 422])
def test_a_refusal_is_raised_only_without_a_fallback(
    service: Service, make: Make, status: int
) -> None:
    service.always = problem(status, "some-name", "there is no such campaign")
    with pytest.raises(ServiceRefused, match="there is no such campaign") as caught:
        make(service.url).decide("c")
    assert caught.value.status == status
    assert caught.value.type == "urn:foretell:problem:some-name"
    assert caught.value.detail == "there is no such campaign"
    assert len(service.requests) == 1
    client = make(service.url, fallback="pick")
    assert client.decide("c").mode == "fallback"
    assert client.fallbacks == 1
    assert len(service.requests) == 2, "what is refused is not tried again"


def test_a_refusal_says_what_is_wrong_with_each_field(service: Service, make: Make) -> None:
    errors = [{"field": "unit", "detail": "unit must be a text"}]
    body = json.dumps({"detail": "unit must be a text", "errors": errors}).encode()
    service.always = problem(422)._replace(body=body)
    with pytest.raises(ServiceRefused) as caught:
        make(service.url).decide("c")
    assert caught.value.errors == [FieldError("unit", "unit must be a text")]


@pytest.mark.parametrize("name", ["dropped", "lost answer", "503", "500 page", "429"])
def test_a_decision_is_tried_again_under_the_same_key(
    service: Service, make: Make, name: str
) -> None:
    service.faults.extend([TROUBLE[name]] * 2)
    decision = make(service.url, timeout=5.0, fallback="pick").decide("c")
    assert decision.mode == "policy"
    assert len(service.requests) == 3
    assert len({request.body["decision_key"] for request in service.requests}) == 1
    assert len(service.decisions) == 1


FALLBACKS: list[tuple[Any, Any, str]] = [
    ("of-client", None, "of-client"),
    ("of-client", "of-call", "of-call"),
    (None, "of-call", "of-call"),
    ({"c": "mapped"}, None, "mapped"),
    ("of-client", {"other": "x"}, "of-client"),
    (lambda campaign, eligible: f"{campaign}-{eligible[1]}", None, "c-b"),
]


@pytest.mark.parametrize(("of_client", "of_call", "action"), FALLBACKS)
def test_the_fallback_of_a_call_goes_before_that_of_the_client(
    service: Service, make: Make, of_client: Any, of_call: Any, action: str
) -> None:
    service.always = TROUBLE["500 page"]
    client = make(service.url, timeout=0.02, fallback=of_client)
    assert client.decide("c", eligible=["a", "b"], fallback=of_call).action == action


BAD: list[tuple[dict[str, Any], str]] = [
    ({"url": "localhost:8000"}, "got 'localhost:8000': http:// or https:// is missing in front"),
    ({"url": "localhost"}, "http:// or https:// is missing in front"),
    ({"url": "ftp://host"}, "an address like"),
    ({"url": None}, "no address of a service was given: name one, as in .*, or set FORETELL_URL"),
    ({"url": 5}, "an address like"),
    ({"url": "http://host?x=1"}, "an address like"),
    ({"url": "http://user:password@host"}, "give a key on its own"),
    ({"url": "http://a..b"}, "an address like"),
    ({"url": f"http://{'a' * 64}.com"}, "an address like"),
    ({"url": "http://localhost:0"}, "an address like"),
    ({"url": "http://localhost:99999"}, "an address like"),
    ({"url": f"http://localhost/{'a' * 2000}"}, "an address like"),
    ({"url": "http://a b"}, "an address like"),
    ({"timeout": 0}, "at most a day, got 0"),
    ({"timeout": float("inf")}, "at most a day, got inf"),
    ({"timeout": float("nan")}, "at most a day, got nan"),
    ({"timeout": "1"}, "at most a day, got '1'"),
    ({"timeout": None}, "at most a day, got None"),
    ({"key": "ftk_\n"}, "a key is made of"),
    ({"key": "ftk ä"}, "a key is made of"),
    ({"key": ""}, "a key is made of"),
    ({"key": 5}, "a key is made of"),
    ({"outbox": ""}, "the path of a file, got ''"),
    ({"outbox": 3}, "the path of a file, got 3"),
    ({"fallback": 5}, r"an action, a mapping .* or a function of \(campaign, eligible\), got 5"),
    ({"fallback": ""}, "fallback must be an action, .* got ''"),
    ({"fallback": ["a"]}, "fallback must be an action, .* got"),
    ({"fallback": {"c": 5}}, "fallback must be an action, .* got"),
]


@pytest.mark.parametrize(("settings", "message"), BAD)
def test_settings_that_cannot_be_used_are_refused(
    make: Make, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        make(**{"url": "http://localhost:1", **settings})


ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize("value", [object(), "\ud800", ENDLESS])
def test_what_is_no_json_is_refused(service: Service, make: Make, value: Any) -> None:
    with pytest.raises(InvalidInput, match="sent as JSON"):
        make(service.url).decide("c", context={"x": value})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"context": {1, 2}}, "context must be a mapping of names to values, got {1, 2}"),
        ({"context": "page"}, "context must be a mapping of names to values, got 'page'"),
        ({"eligible": "sale"}, "eligible must be a list of actions, got 'sale'"),
        ({"fallback": 5}, "fallback must be an action"),
    ],
)
def test_what_is_of_another_kind_is_refused_before_it_is_sent(
    service: Service, make: Make, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        make(service.url).decide("c", **arguments)
    assert service.requests == []
    assert make(service.url, fallback="pick").decide("c", **arguments).action == "pick"


@pytest.mark.parametrize("name", ["", "\ud800", "x" * 70_000, None, 5])
def test_what_can_be_no_campaign_is_refused(service: Service, make: Make, name: Any) -> None:
    client = make(service.url)
    with pytest.raises(InvalidInput, match="the name of the campaign must be a text") as caught:
        client.decide(name)
    assert len(str(caught.value)) < 300
    with pytest.raises(InvalidInput, match="the name of the campaign"):
        client.report(name)
    assert service.requests == []


@pytest.mark.parametrize("unit", [5, 0, "", b"u", ["u"], "x" * 201])
def test_what_can_be_no_unit_is_refused(service: Service, make: Make, unit: Any) -> None:
    with pytest.raises(InvalidInput, match="the unit must be a text of 1 to 200 characters, got"):
        make(service.url).decide("c", unit=unit)
    assert service.requests == []


def test_a_closed_client_says_so(service: Service, make: Make) -> None:
    client = make(service.url)
    client.close()
    client.close()
    with pytest.raises(ClientClosed, match="is closed"):
        client.decide("c")
    with pytest.raises(ClientClosed, match="is closed"):
        client.reward("d", 1.0)
