"""The OpenAPI document describes every operation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import re2

from foretell import field_texts, protocol
from foretell.protocol.fields import MAX_BATCH_EVENTS
from foretell.service.http.openapi import openapi_document, problems_of
from foretell.service.http.operation import Operation
from foretell.service.http.routes import OPERATIONS
from tests.service.http.conftest import Served

DOCUMENT = openapi_document(OPERATIONS)
STRUCTS = DOCUMENT["components"]["schemas"]


def parts(value: Any) -> Iterator[dict[str, Any]]:
    """Return every object in a document, at any depth."""
    if isinstance(value, dict):
        yield value
    for one in value.values() if isinstance(value, dict) else value:
        if isinstance(one, dict | list):
            yield from parts(one)


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


@pytest.mark.parametrize("name", STRUCTS)
def test_every_field_is_described(name: str) -> None:
    assert STRUCTS[name]["description"]
    for field, schema in STRUCTS[name].get("properties", {}).items():
        assert schema["description"].endswith("."), f"write a text under {name}.{field}"


def test_every_parameter_is_described() -> None:
    found = [one for one in parts(DOCUMENT["paths"]) if "in" in one]
    assert len(found) > 40
    assert [one["name"] for one in found if not one.get("description")] == []


def test_every_pattern_can_be_read_without_looking_ahead() -> None:
    patterns = {part["pattern"] for part in parts(DOCUMENT) if isinstance(part.get("pattern"), str)}
    assert patterns == {"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"}
    for pattern in patterns:
        assert re2.compile(pattern).search("home-hero")


@pytest.mark.parametrize("name", STRUCTS)
def test_a_field_is_required_where_it_must_be_sent_or_always_comes(name: str) -> None:
    kind: type[msgspec.Struct] = getattr(protocol, name)
    fields = msgspec.structs.fields(kind)
    always = [one.encode_name for one in fields if one.required]
    if not issubclass(kind, protocol.RequestBody) and not kind.__struct_config__.omit_defaults:
        always = [one.encode_name for one in fields]
    assert STRUCTS[name].get("required", []) == always


def test_no_schema_has_what_a_generator_misreads() -> None:
    """To some a default makes a field required, and a tuple or a schema that is false fails."""
    for part in parts(DOCUMENT):
        assert not {"default", "prefixItems"} & set(part)
        assert part.get("items", {}) is not False


@pytest.mark.parametrize(("root_path", "url"), [("", "/"), ("/foretell", "/foretell")])
def test_a_client_learns_where_the_service_is(root_path: str, url: str) -> None:
    (server,) = openapi_document(OPERATIONS, root_path)["servers"]
    assert server["url"] == url


def test_a_service_without_its_source_describes_itself_without_texts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def away(_: object) -> str:
        raise OSError

    field_texts._texts_of_module.cache_clear()
    monkeypatch.setattr("inspect.getsource", away)
    try:
        made = openapi_document(OPERATIONS)
    finally:
        field_texts._texts_of_module.cache_clear()
    assert made["paths"].keys() == DOCUMENT["paths"].keys()
    assert made["components"]["schemas"]["Receipt"]["required"] == ["status"]
