"""Metrics count requests, decisions and feedback."""

from __future__ import annotations

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
    assert sum(v for k, v in samples.items() if k[0] == "foretell_feedback_total") == 1
    assert samples["foretell_queued_records",] >= 0
