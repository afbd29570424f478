"""An odd event of a JSON batch is rejected alone, as if it were a line; no JSON is refused."""

from __future__ import annotations

import json

import pytest

from tests.service.http.conftest import Served, check_problem, post

BATCH = "/v1/events/batch"
ODD = {
    "half a pair": r'{"decision_id": "x", "signal": "\ud800"}',
    "half a pair as a name": r'{"\udfff": 1}',
    "half a pair alone": r'"\ud800"',
    "deep": '{"decision_id": "x", "signal": ' + "[" * 2000 + "]" * 2000 + "}",
    "deep, with texts": '{"a": ' + '["]}\\"", {"b": ' * 1500 + "1" + "}]" * 1500 + "}",
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_an_odd_event_is_rejected_alone_in_json_as_in_lines(served: Served, odd: str) -> None:
    good = json.dumps({"decision_id": served.decision(), "signal": "click"})
    large = json.dumps({"decision_id": "y", "value": 1e300})[:-3] + "0" * 500 + "}"
    events = [good, odd, large, odd, good]
    lines = post(
        served, "\n".join(events).encode(), BATCH, **{"Content-Type": "application/x-ndjson"}
    )
    whole = post(served, f'{{"events": [{" , ".join(events)}\n] }}'.encode(), BATCH)
    assert lines.status_code == whole.status_code == 200, whole.text
    wanted = [one["status"] for one in lines.json()["results"]]
    assert [one["status"] for one in whole.json()["results"]] == wanted
    assert wanted == ["accepted", "rejected", "rejected", "rejected", "accepted"]


@pytest.mark.parametrize("odd", ["half a pair", "deep"])
@pytest.mark.parametrize(
    "broken",
    [
        '{"events": [ODD, GOOD}',
        '{"events": [ODD, GOOD',
        '{"events": [GOOD ODD]}',
        '{"events": [ODD, ]}',
        '{"events": [ODD, NaN]}',
        '{"events": [ODD, -Infinity]}',
        '{"events": [ODD, "\t"]}',
        '{"events": [ODD]} GOOD',
        '{"events": [ODD], "more": 1}',
        '{"events": [ODD], "events": [GOOD]}',
    ],
)
def test_what_is_no_batch_stays_refused(served: Served, odd: str, broken: str) -> None:
    body = broken.replace("ODD", ODD[odd]).replace("GOOD", "{}").encode()
    check_problem(post(served, body, BATCH), 400, "malformed")
