"""The OpenAPI document describes every operation."""

from __future__ import annotations

import json

import msgspec
import pytest

from foretell import protocol
from foretell.protocol.fields import MAX_BATCH_EVENTS
from foretell.service.http.openapi import problems_of
from foretell.service.http.operation import Operation
from foretell.service.http.routes import OPERATIONS
from tests.service.http.conftest import Served


def test_every_operation_is_described(served: Served) -> None:
    document = served.client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    for operation in OPERATIONS:
        path = document["paths"][operation.path.replace(":unit", "")]
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


def test_the_limit_of_a_batch_is_the_one_that_the_documentation_states() -> None:
    schema = msgspec.json.schema(protocol.EventBatch)["$defs"]["EventBatch"]["properties"]
    assert schema["events"]["maxItems"] == MAX_BATCH_EVENTS == 2000
    (batch,) = [one for one in OPERATIONS if one.name == "batch"]
    assert "2,000" in batch.summary
