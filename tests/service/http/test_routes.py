"""Addresses and methods: what is there, what is not, and what caches may keep."""

from __future__ import annotations

from foretell.service.http.routes import OPERATIONS
from tests.service.http.conftest import CAMPAIGN, Served, check_problem


def test_unknown_addresses_are_404_and_wrong_methods_405(served: Served) -> None:
    for path in ("/", "/v1", "/v1/nothing", "/v1/campaigns/", "/livez/", "/V1/campaigns"):
        check_problem(served.call("GET", path), 404, "not-found")
    answer = served.call("PUT", "/v1/campaigns")
    check_problem(answer, 405, "wrong-method")
    assert answer.headers["allow"] == "GET, HEAD, POST"
    answer = served.call("GET", "/v1/events/batch")
    check_problem(answer, 405, "wrong-method")
    assert answer.headers["allow"] == "POST"


def test_nothing_is_kept_by_caches(served: Served) -> None:
    served.call("POST", "/v1/campaigns", json=CAMPAIGN)
    for operation in OPERATIONS:
        path = operation.path.replace("{campaign}", "hero").replace("{unit:unit}", "u")
        answer = served.call(operation.method, path)
        assert answer.headers["cache-control"] == "no-store", path
