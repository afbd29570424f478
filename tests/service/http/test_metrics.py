"""Metrics count requests, decisions and feedback, by campaign, and say what they are."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from foretell.service.engine.measurements import CampaignNumbers, Overdue
from foretell.service.http.metric_catalogue import CATALOGUE
from foretell.service.http.metrics import MOST_CAMPAIGNS, Metrics
from tests.service.engine_driver import LOG_ENGINES
from tests.service.http.conftest import Served

Samples = dict[tuple[str, ...], float]


def samples_of(text: str) -> Samples:
    """Return every sample by its name and the values of its labels, in the order of their names."""
    return {
        (sample.name, *(sample.labels[label] for label in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scraped(served: Served) -> Samples:
    return samples_of(served.client.get("/metrics").text)


def test_metrics_count_requests_decisions_and_feedback(served: Served) -> None:
    decision = served.decision()
    served.call("POST", f"/v1/decisions/{decision}/reward", json={"value": 1.0})
    served.call("POST", f"/v1/decisions/{decision}/signal", json={})
    served.call("GET", "/nothing")
    samples = scraped(served)
    assert samples["foretell_requests_total", "decide", "201"] == 1
    assert samples["foretell_requests_total", "signal", "422"] == 1
    assert samples["foretell_requests_total", "none", "404"] == 1
    assert samples["foretell_request_seconds_count", "decide"] == 1
    assert samples["foretell_request_seconds_sum", "decide"] > 0
    assert samples["foretell_request_seconds_bucket", "+Inf", "decide"] == 1
    assert sum(v for k, v in samples.items() if k[:2] == ("foretell_decisions_total", "hero")) == 1
    assert samples["foretell_feedback_total", "hero", "accepted"] == 1
    assert samples["foretell_feedback_total", "none", "rejected"] == 1
    assert samples["foretell_campaigns", "running"] == 1
    assert samples["foretell_queued_records",] >= 0


def test_a_decision_that_is_answered_again_counts_once(served: Served) -> None:
    served.decision()
    for status in (201, 200, 200):
        body = {"decision_key": "visit-1"}
        assert served.call("POST", "/v1/campaigns/hero/decisions", json=body).status_code == status
    decisions = [value for key, value in scraped(served).items() if "decisions_total" in key[0]]
    assert sum(decisions) == 2


def test_rejected_events_of_a_batch_are_counted(served: Served) -> None:
    decision = served.decision()
    reward = {"decision_id": decision, "value": 1.0}
    unknown = {"decision_id": decision, "signal": "unknown"}
    bad = [unknown, {"decision_id": "x"}, {"value": 1}, 7, None]
    served.call("POST", "/v1/events/batch", json={"events": [reward, *bad]})
    lines = "\n".join(json.dumps(one) for one in [reward, *bad]) + "\n{cut off"
    ndjson = {"Content-Type": "application/x-ndjson"}
    served.call("POST", "/v1/events/batch", content=lines, headers=ndjson)
    samples = scraped(served)
    assert samples["foretell_feedback_total", "hero", "accepted"] == 2
    assert samples["foretell_feedback_total", "hero", "rejected"] == 2
    assert samples["foretell_feedback_total", "none", "rejected"] == 9


def test_a_report_that_is_refused_is_counted_as_rejected(served: Served) -> None:
    decision = served.decision()
    for path, body in (
        (f"/v1/decisions/{decision}/signal", {"signal": "unknown"}),
        (f"/v1/decisions/{decision}/reward", {"value": "many"}),
        ("/v1/decisions/nobody/reward", {"value": 1.0}),
    ):
        assert served.call("POST", path, json=body).status_code in {404, 422}
    served.call("POST", f"/v1/decisions/{decision}/reward", "read", json={"value": 1.0})
    samples = scraped(served)
    assert samples["foretell_feedback_total", "hero", "rejected"] == 1
    assert samples["foretell_feedback_total", "none", "rejected"] == 2


@pytest.mark.parametrize("served", LOG_ENGINES, indirect=True)
def test_a_campaign_says_what_it_waits_for_and_when_it_last_heard(served: Served) -> None:
    decision = served.decision()
    served.decision()
    served.call("POST", f"/v1/decisions/{decision}/reward", json={"value": 1.0})
    correction = {"kind": "retract", "target": "not-here", "event_id": "refund"}
    served.call("POST", f"/v1/decisions/{decision}/reward", json=correction)
    served.call("GET", "/v1/campaigns/hero/report")  # waits for the fold
    samples = scraped(served)
    assert samples["foretell_open_windows", "hero", "signal"] == 2
    assert samples["foretell_open_windows", "hero", "reward"] == 2
    assert samples["foretell_parked_events", "hero"] == 1
    heard = {
        kind: samples.get(("foretell_last_event_timestamp_seconds", "hero", kind), None)
        for kind in ("decision", "signal", "reward")
    }
    assert heard["signal"] is None
    assert heard["decision"] is not None
    assert heard["reward"] is not None
    assert heard["decision"] < heard["reward"]
    assert samples["foretell_overdue", "hero", "reward"] == 0
    assert samples["foretell_deciders",] == 1


def test_every_metric_follows_the_rules_of_prometheus_for_names_and_says_what_it_is() -> None:
    for metric in CATALOGUE:
        assert metric.name.startswith("foretell_")
        assert metric.name.endswith("_total") == (metric.kind == "counter"), metric.name
        assert len(metric.about.split()) > 2, metric.name
        assert metric.about.endswith("."), metric.name
    assert len({metric.about for metric in CATALOGUE}) == len(CATALOGUE)


class ManyCampaigns:
    """An engine with more campaigns than there are labels for."""

    def __init__(self, count: int) -> None:
        self.names = ["other", "none", *(f"c{number}" for number in range(count))]
        self.stopped = set(self.names[2:12])

    def gauges(self) -> dict[str, float]:
        return {}

    def unread_feedback(self) -> int:
        return 7

    def campaign_numbers(self) -> list[CampaignNumbers]:
        return [
            CampaignNumbers(
                name,
                "stopped" if name in self.stopped else "running",
                Counter(accepted=1),
                {"signal": 2, "reward": 3},
                4,
                {"decision": float(number)},
                Overdue(),
            )
            for number, name in enumerate(self.names)
        ]


def test_the_label_of_a_campaign_is_bounded_and_nothing_is_lost() -> None:
    engine: Any = ManyCampaigns(MOST_CAMPAIGNS + 50)
    metrics = Metrics(engine)
    for name in engine.names:
        metrics.decisions[name, "policy"] += 1
    samples = samples_of(asyncio.run(metrics.text()).decode())
    labels = {key[1] for key in samples if key[0] == "foretell_parked_events"}
    assert len(labels) == MOST_CAMPAIGNS + 1
    assert labels.isdisjoint(engine.stopped), "running campaigns come first"
    count = len(engine.names)
    for name, each in (
        ("foretell_decisions_total", 1),
        ("foretell_parked_events", 4),
        ("foretell_open_windows", 5),
    ):
        assert sum(value for key, value in samples.items() if key[0] == name) == each * count
    assert samples["foretell_feedback_total", "none", "rejected"] == 7
    assert samples["foretell_last_event_timestamp_seconds", "other", "decision"] == count - 1


def test_a_label_stays_when_its_campaign_stops() -> None:
    engine: Any = ManyCampaigns(MOST_CAMPAIGNS + 50)
    metrics = Metrics(engine)
    before = set(samples_of(asyncio.run(metrics.text()).decode()))
    engine.stopped = set(engine.names[100:])
    assert set(samples_of(asyncio.run(metrics.text()).decode())) == before


def test_the_build_and_the_process_are_there(served: Served) -> None:
    text = served.client.get("/metrics").text
    assert 'foretell_build_info{python="3.' in text
    samples = samples_of(text)
    assert samples["process_resident_memory_bytes",] > 1e6
    assert samples["process_start_time_seconds",] > 1e9
