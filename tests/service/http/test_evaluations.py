"""Evaluations over HTTP: begun with 202, read by their id, and listed."""

from __future__ import annotations

from tests.service.http.conftest import Served, check_problem


def test_an_evaluation_is_begun_read_and_listed(served: Served) -> None:
    served.decision()
    served.call("PATCH", "/v1/campaigns/hero", json={"explore": 0.2})
    path = "/v1/campaigns/hero/evaluations"
    begun = served.call("POST", path, json={"policy": "ucb"})
    assert (begun.status_code, begun.json()["status"]) == (202, "running")
    assert begun.headers["location"] == f"{path}/{begun.json()['id']}"
    read = served.call("GET", begun.headers["location"], "read").json()
    assert (read["id"], read["policy"]) == (begun.json()["id"], begun.json()["policy"])
    listed = served.call("GET", path, "read").json()["evaluations"]
    assert [one["id"] for one in listed] == [read["id"]]


def test_only_an_admin_begins_one_and_strangers_are_refused(served: Served) -> None:
    served.decision()
    path = "/v1/campaigns/hero/evaluations"
    check_problem(served.call("POST", path, "read", json={"policy": "ucb"}), 403, "forbidden")
    check_problem(served.call("POST", path, json={"policy": "ubc"}), 422, "unusable")
    check_problem(served.call("POST", path, json={}), 422, "unusable")
    check_problem(served.call("GET", f"{path}/none", "read"), 404, "not-found")
