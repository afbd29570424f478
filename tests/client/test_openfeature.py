"""Flags of the real OpenFeature SDK are decisions of a real server, and what is tracked arrives."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from openfeature import api
from openfeature.client import OpenFeatureClient
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.flag_evaluation import FlagEvaluationDetails, Reason
from openfeature.track import TrackingEventDetails

from foretell.client.openfeature import ForetellProvider
from foretell.client.recent_decisions import RecentDecisions
from foretell.errors import InvalidInput
from tests.client.fake_service import Service, problem
from tests.service.server_process import KEY, Server

SIGNALS = ["none", "click"]
CAMPAIGNS = {
    "hero": ["sale", "new"],
    "dark-mode": ["on", "off"],
    "page-size": ["10", "20"],
    "price-factor": ["0.9", "1.1"],
    "banner": ["red", "blue"],
}
VALUES = {"banner": {"red": {"colour": "#f00"}, "blue": {"colour": "#00f"}}}
USER = EvaluationContext("u1")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("openfeature")) as running:
        for name, actions in CAMPAIGNS.items():
            body = {"name": name, "actions": actions, "signals": SIGNALS, "reward_range": [0, 100]}
            assert running.ask("POST", "/v1/campaigns", body)[0] == 201
        yield running


@pytest.fixture
def provider(server: Server) -> Iterator[ForetellProvider]:
    made = ForetellProvider(server.url, key=KEY, timeout=30.0, values=VALUES)
    api.set_provider_and_wait(made)
    yield made
    api.shutdown()
    api.clear_providers()


@pytest.fixture
def flags(provider: ForetellProvider) -> OpenFeatureClient:
    return api.get_client()


def events_of(server: Server, decision: object) -> list[tuple[Any, ...]]:
    """Return what the log has about a decision: the id and content of each event."""
    history = server.ask("GET", f"/v1/decisions/{decision}")[1]
    return [
        (one["type"], one["event_id"], one.get("signal", one.get("value")))
        for one in history["events"][1:]
    ]


Ask = Callable[[OpenFeatureClient, str, str, Any], FlagEvaluationDetails[Any]]


def ask(flags: OpenFeatureClient, kind: str, flag: str, default: Any) -> FlagEvaluationDetails[Any]:
    return getattr(flags, f"get_{kind}_details")(flag, default, USER)


def ask_async(
    flags: OpenFeatureClient, kind: str, flag: str, default: Any
) -> FlagEvaluationDetails[Any]:
    async def asked() -> FlagEvaluationDetails[Any]:
        try:
            return await getattr(flags, f"get_{kind}_details_async")(flag, default, USER)
        finally:
            assert isinstance(flags.provider, ForetellProvider)
            await flags.provider.close_async()

    return asyncio.run(asked())


@pytest.mark.parametrize("how", [ask, ask_async])
@pytest.mark.parametrize(
    ("kind", "flag", "default", "values"),
    [
        ("string", "hero", "", {"sale": "sale", "new": "new"}),
        ("boolean", "dark-mode", False, {"on": True, "off": False}),
        ("integer", "page-size", 5, {"10": 10, "20": 20}),
        ("float", "price-factor", 1.0, {"0.9": 0.9, "1.1": 1.1}),
        ("float", "page-size", 5.0, {"10": 10.0, "20": 20.0}),
        ("object", "banner", {}, VALUES["banner"]),
    ],
)
def test_a_flag_is_a_decision(
    server: Server,
    flags: OpenFeatureClient,
    how: Ask,
    kind: str,
    flag: str,
    default: Any,
    values: dict[str, Any],
) -> None:
    found = how(flags, kind, flag, default)
    assert (found.error_code, found.reason) == (None, Reason.SPLIT)
    assert found.value == values[str(found.variant)]
    made = server.ask("GET", f"/v1/decisions/{found.flag_metadata['decision_id']}")[1]
    assert (made["campaign"], made["action"]) == (flag, found.variant)
    assert made["propensity"] == found.flag_metadata["propensity"]
    assert made["mode"] == found.flag_metadata["mode"]
    assert made["reward_due_at"] == found.flag_metadata["reward_due_at"]


@pytest.mark.parametrize("how", [ask, ask_async])
def test_what_is_tracked_is_in_the_log_under_the_decision(
    server: Server, provider: ForetellProvider, flags: OpenFeatureClient, how: Ask
) -> None:
    decision = how(flags, "string", "hero", "").flag_metadata["decision_id"]
    flags.track("click", USER, TrackingEventDetails(attributes={"flag_key": "hero"}))
    named: dict[str, Any] = {"event_id": f"order-{how.__name__}", "decision_id": decision}
    for _ in range(2):
        flags.track("order", details_of_nobody(), TrackingEventDetails(12.5, dict(named)))
    assert provider.client.flush(30)
    (signal, reward) = events_of(server, decision)
    assert (signal[0], signal[2]) == ("signal", "click")
    assert reward == ("reward", f"order-{how.__name__}", 12.5)
    assert (provider.dropped, provider.client.rejected()) == (0, [])


def details_of_nobody() -> EvaluationContext:
    """Return the context of another process, weeks later: the decision's id is enough."""
    return EvaluationContext()


def test_a_value_of_the_wrong_type_is_the_default_and_was_never_shown(
    server: Server, provider: ForetellProvider, flags: OpenFeatureClient
) -> None:
    before = server.ask("GET", "/v1/campaigns/hero/report")[1]["counts"]["voided"]
    found = flags.get_integer_details("hero", 7, USER)
    assert (found.value, found.error_code) == (7, ErrorCode.TYPE_MISMATCH)
    assert "must be a whole number" in str(found.error_message)
    assert provider.client.flush(30)
    assert server.ask("GET", "/v1/campaigns/hero/report")[1]["counts"]["voided"] == before + 1


def test_what_is_refused_is_an_error_or_a_disabled_flag(
    server: Server, flags: OpenFeatureClient
) -> None:
    unknown = flags.get_string_details("nowhere", "x", USER)
    assert (unknown.value, unknown.error_code) == ("x", ErrorCode.FLAG_NOT_FOUND)
    assert unknown.reason == Reason.ERROR
    wrong = EvaluationContext("u1", {"eligible": ["nothing"]})
    assert flags.get_string_details("hero", "x", wrong).error_code == ErrorCode.INVALID_CONTEXT
    assert flags.get_string_details("not a name", "x", USER).error_code is not None
    assert server.ask("POST", "/v1/campaigns/banner/pause", None)[0] == 200
    paused = flags.get_object_details("banner", {}, USER)
    assert (paused.value, paused.reason, paused.error_code) == ({}, Reason.DISABLED, None)
    assert "paused" in str(paused.flag_metadata["detail"])
    assert server.ask("POST", "/v1/campaigns/banner/start", None)[0] == 200


def test_attributes_name_what_is_eligible_and_which_question_it_is(
    flags: OpenFeatureClient,
) -> None:
    context = EvaluationContext("u1", {"eligible": ["new"], "decision_key": "visit-1", "age": 40})
    first, again = (flags.get_string_details("hero", "", context) for _ in range(2))
    assert first.value == "new"
    assert first.flag_metadata["decision_id"] == again.flag_metadata["decision_id"]


def test_a_wrong_key_is_an_error(server: Server) -> None:
    provider = ForetellProvider(server.url, key="ftk_wrong", timeout=30.0)
    found = provider.resolve_string_details("hero", "x", USER)
    assert (found.value, found.error_code) == ("x", ErrorCode.GENERAL)
    assert "401" in str(found.error_message)
    provider.shutdown()
    closed = provider.resolve_string_details("hero", "x", USER)
    assert closed.error_code == ErrorCode.PROVIDER_NOT_READY


def test_a_service_that_does_not_answer_is_the_default_and_is_counted() -> None:
    provider = ForetellProvider("http://127.0.0.1:9", key=KEY, timeout=0.2)
    for found in (
        provider.resolve_boolean_details("hero", True, USER),
        asyncio.run(provider.resolve_boolean_details_async("hero", True, USER)),
    ):
        assert (found.value, found.reason, found.error_code) == (True, Reason.DEFAULT, None)
        assert found.flag_metadata["mode"] == "fallback"
    assert provider.fallbacks == 2
    provider.shutdown()


@pytest.mark.parametrize(
    ("action", "value", "reason"),
    [("on", True, Reason.STALE), ("sale", False, Reason.DEFAULT)],
)
def test_what_the_policy_would_take_is_taken_where_it_can_be(
    service: Service, action: str, value: bool, reason: Reason
) -> None:
    said = {"type": "urn:foretell:problem:log-closed", "title": "No", "action": action}
    service.always = problem(503)._replace(body=json.dumps(said).encode())
    provider = ForetellProvider(service.url, key=KEY, timeout=1.0)
    found = provider.resolve_boolean_details("dark-mode", False, USER)
    assert (found.value, found.reason, found.error_code) == (value, reason, None)
    assert found.flag_metadata["mode"] == "fallback"
    assert "decision_id" not in found.flag_metadata
    provider.shutdown()


def test_what_is_about_no_known_decision_is_dropped_and_counted(
    provider: ForetellProvider, flags: OpenFeatureClient
) -> None:
    flags.track("click", EvaluationContext("nobody"))
    assert provider.dropped == 1
    for flag in ("hero", "page-size"):
        assert flags.get_string_details(flag, "", EvaluationContext("u9")).error_code is None
    flags.track("click", EvaluationContext("u9"))
    assert provider.dropped == 2
    flags.track("click", EvaluationContext("u9"), TrackingEventDetails(float("nan")))
    assert provider.dropped == 3


def test_the_unit_that_was_longest_not_seen_is_forgotten() -> None:
    recent = RecentDecisions(units=2)
    for unit in ("u1", "u2", "u1", "u3"):
        recent.keep(unit, "hero", f"decision of {unit}")
    assert recent.find("u1", "hero") == "decision of u1"
    with pytest.raises(InvalidInput, match="no flag was resolved lately"):
        recent.find("u2", "hero")


def test_without_the_sdk_the_extra_is_named(tmp_path: Path) -> None:
    script = "import sys\nsys.modules['openfeature'] = None\nimport foretell.client.openfeature\n"
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert "install it with pip install 'foretell[openfeature]'" in ran.stderr
