"""The second reading of a body finds an error exactly where the parser refuses."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell import protocol
from foretell.service.model.checks import validation
from foretell.service.model.checks.validation import MAX_ERRORS, field_errors, refuse_json
from foretell.service.model.errors import Malformed, RequestProblem, Unusable

BODIES: dict[type[protocol.RequestBody], dict[str, Any]] = {
    protocol.NewCampaign: {"name": "c", "actions": ["a", "b"], "signals": ["none"]},
    protocol.CampaignPatch: {"explore": 0.5},
    protocol.NewAction: {"action": "a"},
    protocol.ActionPatch: {"status": "paused"},
    protocol.DecisionRequest: {"unit": "u"},
    protocol.SignalReport: {"signal": "click"},
    protocol.RewardReport: {"value": 1.0},
    protocol.VoidReport: {},
    protocol.FeedbackItem: {"decision_id": "d", "value": 1.0},
    protocol.NewKey: {"name": "k", "scopes": ["read"]},
}
VALUES = st.recursive(
    st.sampled_from(
        [None, True, 0, -1, 1.5, 2, 10**400, 1e9, "", "a", "a/b", "a\n", "x" * 501, "paused",
         "read", "default", "running", "60", "reward", "2026-01-01T00:00:00Z"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)  # fmt: skip


def refused(kind: Any, body: bytes) -> RequestProblem | None:
    """Read a body as a request is read; return what is raised."""
    try:
        msgspec.json.Decoder(kind).decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        with pytest.raises(RequestProblem) as caught:
            refuse_json(kind, body, error)
        return caught.value
    return None


@settings(max_examples=150, derandomize=True, deadline=None)
@given(data=st.data())
def test_it_agrees_with_the_parser(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(BODIES, key=str)))
    names = st.sampled_from([*kind.__struct_fields__, "explor", "x"])
    body = {**BODIES[kind], **data.draw(st.dictionaries(names, VALUES, max_size=3))}
    for name in data.draw(st.sets(st.sampled_from(sorted(body) or ["x"]), max_size=1)):
        body.pop(name, None)
    problem = refused(kind, json.dumps(body).encode())
    errors = field_errors(kind, body)
    assert (problem is not None) == bool(errors), (body, problem, errors)
    if problem is not None:
        assert isinstance(problem, Unusable)
        assert problem.errors[: len(errors)] == errors, "rules beyond types come after these"
        for error in errors:
            assert error.detail in str(problem)
            assert error.field.partition("[")[0].partition(".")[0] in error.detail
            assert ": " in error.detail, "what to do"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "the body is empty: send JSON"),
        (b" \n", "the body is empty: send JSON"),
        (b"{", "ends before its JSON does: send all of it"),
        (b'{"value" 1}', "no JSON from character 9 on, at '1}': mend what writes it"),
        (b'{"value": NaN}', "NaN is no JSON: send a finite number"),
        (b'{"value": "x", "kind": -Infinity}', "-Infinity is no JSON: send a finite number"),
        (b'{"event_id": "\xff"}', "no UTF-8 at byte 14: encode it as UTF-8"),
        (b'{"event_id": "\\ud800"}', "half of a surrogate pair: mend it"),
        (b'{"value":' + b"[" * 100_000, "too many arrays and objects inside each other"),
    ],
)
def test_what_is_no_json_is_said_in_words(body: bytes, said: str) -> None:
    problem = refused(protocol.RewardReport, body)
    assert isinstance(problem, Malformed)
    assert said in str(problem)


def test_no_more_words_are_looked_up_than_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """To look for the nearest name takes long, and all others wait."""
    looked_up = []

    def unknown(name: str, *_: object) -> str:
        looked_up.append(name)
        return f"there is no field {name!r}"

    monkeypatch.setattr(validation, "_unknown", unknown)
    body = json.dumps(BODIES[protocol.NewCampaign] | {f"x{n}": 1 for n in range(5000)}).encode()
    assert refused(protocol.NewCampaign, body) is not None
    assert len(looked_up) <= MAX_ERRORS + 1


def test_of_many_errors_the_first_ones_are_named() -> None:
    body = json.dumps({**BODIES[protocol.NewCampaign], "actions": [3] * 5000}).encode()
    problem = refused(protocol.NewCampaign, body)
    assert problem is not None
    assert len(problem.errors) == MAX_ERRORS
    assert str(problem).startswith("more than 20 things are wrong: actions[0] must be a name")


@pytest.mark.parametrize("body", [b"[]", b"3", b"null", b'"x"', b"[{}]"])
def test_a_body_that_is_no_object_is_told_its_fields(body: bytes) -> None:
    problem = refused(protocol.NewAction, body)
    assert problem is not None
    assert "the body must be an object, got" in str(problem)
    assert "its fields are action" in str(problem)


def test_a_window_is_said_to_be_in_seconds() -> None:
    (error,) = field_errors(protocol.CampaignPatch, {"signal_window": "1h"})
    assert error.detail == (
        "signal_window must be a number of seconds above 0 and at most 316,224,000, got '1h': "
        "send a number"
    )
