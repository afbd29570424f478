"""Warm starts over HTTP: 202 for each part, and sentences for what cannot be used."""

from __future__ import annotations

from typing import Any

from foretell.protocol import HistoryPart
from foretell.protocol.warm_start import MAX_PART_ROWS
from foretell.service.model.checks.validation import field_errors
from tests.service.http.conftest import Served, check_problem

PATH = "/v1/campaigns/hero/history"
ROW: dict[str, Any] = {"action": "a", "signal": "click", "reward": 1.0}


def part(*rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "old", "rows": list(rows)} | more


def test_a_part_is_taken_with_202(served: Served) -> None:
    served.decision()
    begun = served.call("POST", PATH, json=part(ROW, ROW))
    assert (begun.status_code, begun.json()["status"]) == (202, "receiving")
    assert begun.json()["decisions"] == 2
    assert begun.headers["location"] == "/v1/campaigns/hero"
    ended = served.call("POST", PATH, json=part(ROW, part=2, last=True))
    assert (ended.status_code, ended.json()["status"]) == (202, "refitting")


def test_a_part_has_so_many_rows_and_no_more() -> None:
    (error,) = field_errors(HistoryPart, part(*[ROW] * (MAX_PART_ROWS + 1)))
    assert "a list of 1 to 2000 items" in error.detail


def test_what_cannot_be_used_is_refused_in_a_sentence(served: Served) -> None:
    served.decision()
    for wrong in (
        part(),
        part(ROW, part=0),
        part(ROW | {"propensity": 0.0}),
        part(ROW | {"colour": "red"}),
        part({"action": "a"}),
        part(ROW | {"action": "nothing"}),
    ):
        check_problem(served.call("POST", PATH, json=wrong), 422, "unusable")
    check_problem(served.call("POST", PATH, "read", json=part(ROW)), 403, "forbidden")
    check_problem(served.call("POST", "/v1/campaigns/no/history", json=part(ROW)), 404, "not-found")
