"""The service describes itself: metrics, the OpenAPI document, its page, the problems."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from foretell import protocol
from foretell.service.http.openapi import problems_of
from foretell.service.http.operation import Operation
from foretell.service.http.table import OPERATIONS
from foretell.service.model import errors as problems
from tests.service.http.conftest import Served

ROOT = Path(__file__).parents[3]


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
    assert samples["foretell_log_head",] >= 3


def test_every_operation_is_described(served: Served) -> None:
    document = served.client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    for operation in OPERATIONS:
        path = document["paths"][operation.path.replace(":path", "")]
        described = path[operation.method.lower()]
        assert described["operationId"] == operation.name
        assert bool(described["security"]) == (operation.scope is not None)
        assert ("requestBody" in described) == (operation.request is not None)
        statuses = {str(one.status) for one in operation.answers}
        statuses |= {str(one.status) for one in problems_of(operation)}
        assert set(described["responses"]) == statuses
        for status, answer in described["responses"].items():
            if status >= "400":
                assert list(answer["content"]) == ["application/problem+json"]
            if status in {"429", "503"}:
                assert "Retry-After" in answer["headers"]
    names = [one.name for one in OPERATIONS]
    assert len(names) == len(set(names))


def test_schemas_carry_the_limits() -> None:
    schema = msgspec.json.schema(protocol.NewCampaign)["$defs"]["NewCampaign"]["properties"]
    assert schema["name"]["pattern"].startswith("^[A-Za-z0-9]")
    assert schema["actions"]["minItems"] == 2


@pytest.mark.parametrize(
    "operation", [one for one in OPERATIONS if one.example is not None], ids=lambda one: one.name
)
def test_every_example_can_be_read(operation: Operation) -> None:
    decoded = msgspec.json.decode(json.dumps(operation.example), type=operation.request)
    for event in getattr(decoded, "events", []):
        msgspec.json.decode(event, type=protocol.FeedbackItem)


class Links(HTMLParser):
    """The anchors of a page, its links, and what it would load."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: set[str] = set()
        self.loads: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name == "href":
                self.links.add(value or "")
            elif name in {"src", "srcset", "action"}:
                self.loads.add(value or "")
        if tag in {"script", "link", "iframe"}:
            self.loads.add(tag)


def test_the_page_shows_every_operation_and_loads_nothing(served: Served) -> None:
    answer = served.client.get("/docs")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    page = Links()
    page.feed(answer.text)
    assert not page.loads
    assert "url(" not in answer.text
    assert len(page.ids) == len(set(page.ids))
    assert {one.name for one in OPERATIONS} <= set(page.ids)
    for link in page.links - {"/openapi.json"}:
        assert link.startswith("#")
        assert link[1:] in page.ids, link
    assert answer.text.count("curl http") == len(OPERATIONS)


def kinds_of_problems() -> list[type[problems.RequestProblem]]:
    return [
        one
        for one in vars(problems).values()
        if isinstance(one, type)
        and issubclass(one, problems.RequestProblem)
        and one is not problems.RequestProblem
    ]


def test_every_problem_is_documented_with_its_status() -> None:
    text = (ROOT / "docs" / "problems.md").read_text("utf-8")
    written = dict(re.findall(r"^\| `([a-z-]+)` \| (\d{3}) \|", text, re.MULTILINE))
    assert written == {one.name: str(one.status) for one in kinds_of_problems()}
