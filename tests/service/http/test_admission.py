"""A key has a share of the requests in flight, and budgets that refill by the second."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from foretell.service.http import Limits
from foretell.service.http.admission import MAX_HELD_BYTES, Admission
from foretell.service.model.errors import OverBudget, Overloaded
from foretell.service.model.events import Author
from foretell.service.model.keys import Caller
from tests.service.http.conftest import Served, check_problem
from tests.service.http.fake_engine import KEYS, FakeEngine

WEB, SHOP = (Caller(Author(name, name), frozenset()) for name in ("web", "shop"))


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1e6

    def __call__(self) -> float:
        return self.now


def test_a_key_has_its_share_and_all_keys_together_the_whole() -> None:
    admission = Admission(Limits(in_flight=3, in_flight_per_key=2))
    uses = [admission.enter(WEB), admission.enter(WEB)]
    with pytest.raises(Overloaded, match="2 requests of this key"):
        admission.enter(WEB)
    uses.append(admission.enter(SHOP))
    with pytest.raises(Overloaded, match="too many requests"):
        admission.enter(SHOP)
    admission.leave(uses.pop(0))
    admission.enter(SHOP)
    for use in uses:
        admission.leave(use)
    admission.enter(WEB)


def test_a_few_keys_leave_places_for_the_rest() -> None:
    admission = Admission(Limits(in_flight=1000, in_flight_per_key=500))
    let_in = []
    for name in ("one", "two", "three", "four"):
        let_in.append(0)
        with suppress(Overloaded):
            while True:
                admission.enter(Caller(Author(name, name), frozenset()))
                let_in[-1] += 1
    assert let_in == [500, 334, 111, 37]
    admission.enter(WEB)


def test_a_key_alone_has_all_places() -> None:
    admission = Admission(Limits(in_flight=9, in_flight_per_key=9))
    for _ in range(9):
        admission.enter(WEB)
    with pytest.raises(Overloaded):
        admission.enter(SHOP)


def test_a_budget_of_requests_is_kept_and_refills() -> None:
    clock = Clock()
    admission = Admission(Limits(key_requests=2), clock)
    taken = 0
    for _ in range(100):
        with suppress(OverBudget):
            admission.leave(admission.enter(WEB))
            taken += 1
        clock.now += 0.1
    assert 2 + 18 <= taken <= 2 + 20
    admission.enter(SHOP)


def test_bodies_that_are_not_whole_take_no_more_than_their_share_of_memory() -> None:
    admission = Admission(Limits())
    slow, quick = admission.enter(WEB), admission.enter(SHOP)
    slow.hold(MAX_HELD_BYTES)
    with pytest.raises(Overloaded, match="sent slowly"):
        quick.hold(1)
    quick.hold(-1)
    slow.hold(-MAX_HELD_BYTES)
    quick.hold(1)


def test_a_body_larger_than_the_budget_is_paid_for_later() -> None:
    clock = Clock()
    admission = Admission(Limits(key_bytes=1000), clock)
    use = admission.enter(WEB)
    use.take(6500)
    with pytest.raises(OverBudget, match="bytes of bodies, 1000 a second") as refused:
        admission.enter(WEB)
    assert refused.value.retry_after == 6
    clock.now += 5.4
    with pytest.raises(OverBudget):
        admission.enter(WEB)
    clock.now += 0.2
    admission.enter(WEB)


def test_a_slow_budget_lets_the_first_request_in() -> None:
    clock = Clock()
    admission = Admission(Limits(key_requests=0.1), clock)
    admission.enter(WEB)
    with pytest.raises(OverBudget) as refused:
        admission.enter(WEB)
    assert refused.value.retry_after <= 10
    clock.now += 20
    admission.enter(WEB)


def served(portal: Any, **limits: float) -> Served:
    return Served(FakeEngine(), dict(KEYS), portal, Limits(**limits))  # type: ignore[arg-type]


def test_over_its_budget_a_key_is_429_and_others_are_not(portal: Any) -> None:
    service = served(portal, key_requests=1e-6)
    service.decision()
    answer = service.call("POST", "/v1/campaigns/hero/decisions", "decide")
    assert answer.status_code == 201
    refused = service.call("POST", "/v1/campaigns/hero/decisions", "decide")
    check_problem(refused, 429, "over-budget")
    assert int(refused.headers["retry-after"]) > 1000
    assert service.call("GET", "/v1/campaigns", "read").status_code == 200
    for _ in range(3):
        assert service.call("GET", "/v1/campaigns", "admin").status_code == 200
    assert service.client.get("/livez").status_code == 200


def test_bytes_of_bodies_are_counted(portal: Any) -> None:
    service = served(portal, key_bytes=10)
    service.decision()
    path = "/v1/campaigns/hero/decisions"
    assert service.call("POST", path, "decide", json={"unit": "u" * 100}).status_code == 201
    check_problem(service.call("POST", path, "decide", json={}), 429, "over-budget")


def test_a_context_is_counted_and_decisions_without_one_go_on(portal: Any) -> None:
    service = served(portal, key_context=10)
    service.decision()
    path = "/v1/campaigns/hero/decisions"
    context = {"context": {"page": "x" * 1000}}
    assert service.call("POST", path, "decide", json=context).status_code == 201
    refused = service.call("POST", path, "decide", json=context)
    check_problem(refused, 429, "over-budget")
    assert "stored context" in refused.json()["detail"]
    assert service.call("POST", path, "decide", json={"unit": "u1"}).status_code == 201
