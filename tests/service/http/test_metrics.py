"""Metrics count requests, decisions and feedback."""

from __future__ import annotations

import json

from prometheus_client.parser import text_string_to_metric_families

from tests.service.http.conftest import Served


def test_metrics_count_requests_decisions_and_feedback(served: Served) -> None:
    decision = served.decision()
    served.call("POST", f"/v1/decisions/{decision}/reward", json={"value": 1.0})
    served.call("POST", f"/v1/decisions/{decision}/signal", json={})
    served.call("GET", "/nothing")
    text = served.client.get("/metrics").text
    samples = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert samples["foretell_requests_total", "201", "decide"] == 1
    assert samples["foretell_requests_total", "422", "signal"] == 1
    assert samples["foretell_requests_total", "404", "none"] == 1
    assert samples["foretell_request_seconds_count", "decide"] == 1
    assert samples["foretell_request_seconds_sum", "decide"] > 0
    assert samples["foretell_request_seconds_bucket", "+Inf", "decide"] == 1
    assert sum(v for k, v in samples.items() if k[0] == "foretell_decisions_total") == 1
    assert samples["foretell_feedback_total", "accepted"] == 1
    assert samples["foretell_feedback_total", "rejected"] == 1
    assert samples["foretell_queued_records",] >= 0


def test_rejected_events_of_a_batch_are_counted(served: Served) -> None:
    decision = served.decision()
    reward = {"decision_id": decision, "value": 1.0}
    unknown = {"decision_id": decision, "signal": "unknown"}
    bad = [unknown, {"decision_id": "x"}, {"value": 1}, 7, None]
    served.call("POST", "/v1/events/batch", json={"events": [reward, *bad]})
    lines = "\n".join(json.dumps(one) for one in [reward, *bad]) + "\n{cut off"
    ndjson = {"Content-Type": "application/x-ndjson"}
    served.call("POST", "/v1/events/batch", content=lines, headers=ndjson)
    text = served.client.get("/metrics").text
    assert 'foretell_feedback_total{verdict="accepted"} 2.0' in text
    assert 'foretell_feedback_total{verdict="rejected"} 11.0' in text


def test_a_report_that_is_refused_is_counted_as_rejected(served: Served) -> None:
    decision = served.decision()
    for path, body in (
        (f"/v1/decisions/{decision}/signal", {"signal": "unknown"}),
        (f"/v1/decisions/{decision}/reward", {"value": "many"}),
        ("/v1/decisions/nobody/reward", {"value": 1.0}),
    ):
        assert served.call("POST", path, json=body).status_code in {404, 422}
    served.call("POST", f"/v1/decisions/{decision}/reward", "read", json={"value": 1.0})
    assert 'verdict="rejected"} 3.0' in served.client.get("/metrics").text
