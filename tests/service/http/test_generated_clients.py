"""Clients that are generated from the OpenAPI document work against a real server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.node_tools import run_tool
from tests.service.server_process import CAMPAIGN, KEY, Server

pytestmark = pytest.mark.slow
FILES = {
    "POST /v1/events/batch",
    "GET /v1/campaigns/{campaign}/export",
    "GET /v1/backup",
    "POST /v1/restore",
}
"""Operations that take or give files of kinds that openapi-python-client does not know."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server")) as running:
        assert running.ask("POST", "/v1/campaigns", CAMPAIGN)[0] == 201
        yield running


@pytest.fixture(scope="module")
def document(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The OpenAPI document, as a server gives it."""
    path = tmp_path_factory.mktemp("document") / "openapi.json"
    path.write_text(json.dumps(server.ask("GET", "/openapi.json")[1]), "utf-8")
    return path


def test_redocly_has_nothing_to_say(document: Path) -> None:
    linted = run_tool("redocly", "lint", "--format=json", document.name, cwd=document.parent)
    said = json.loads(linted.stdout[linted.stdout.index("{") :])
    assert said["problems"] == []
    assert linted.returncode == 0


@pytest.fixture(scope="module")
def generated(document: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Python client, as openapi-python-client writes it; what it printed."""
    folder = tmp_path_factory.mktemp("python")
    command = [str(Path(sys.executable).with_name("openapi-python-client")), "generate"]
    command += ["--path", str(document), "--meta", "none"]
    command += ["--output-path", str(folder / "foretell_api")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    sys.path.insert(0, str(folder))
    try:
        yield ran.stdout + ran.stderr
    finally:
        sys.path.remove(str(folder))
        for name in [one for one in sys.modules if one.partition(".")[0] == "foretell_api"]:
            del sys.modules[name]


def call(module: str, **arguments: Any) -> Any:
    """Call an operation of the generated client."""
    return import_module(f"foretell_api.api.{module}").sync(**arguments)


def model(name: str, **fields: Any) -> Any:
    """Make a body of the generated client."""
    return getattr(import_module("foretell_api.models"), name)(**fields)


def test_the_python_client_has_every_operation(generated: str, document: Path) -> None:
    """Of some it leaves out a file: a batch as lines of JSON is another way to send the same."""
    assert set(re.findall(r"WARNING parsing (.*) within", generated)) == FILES
    for methods in json.loads(document.read_text("utf-8"))["paths"].values():
        for one in methods.values():
            import_module(f"foretell_api.api.{one['tags'][0].lower()}.{one['operationId']}")


def test_the_python_client_works(generated: str, server: Server) -> None:
    client = import_module("foretell_api").AuthenticatedClient(base_url=server.url, token=KEY)
    with client:
        asked = model("DecisionRequest", unit="u1")
        made = call("decisions.decide", client=client, campaign="home-hero", body=asked)
        assert made.action in CAMPAIGN["actions"]
        seen = model("SignalReport", signal="click", event_id="click-1")
        receipt = call("feedback.signal", client=client, decision=made.decision_id, body=seen)
        assert (receipt.status.value, receipt.event_id) == ("accepted", "click-1")
        earned = model("RewardReport", value=1.0, event_id="order-1")
        receipt = call("feedback.reward", client=client, decision=made.decision_id, body=earned)
        assert receipt.status.value == "accepted"
        event = model("FeedbackItem", decision_id=made.decision_id, value=1.0, event_id="order-1")
        forged = model("FeedbackItem", decision_id="nobody's", value=1.0)
        batch = model("EventBatch", events=[event, forged])
        receipts = call("feedback.batch", client=client, body=batch).results
        assert [one.status.value for one in receipts] == ["duplicate", "rejected"]
        report = call("reports.get_report", client=client, campaign="home-hero")
        assert report.counts.decisions == 1
        assert report.uplift is None
        history = call("decisions.get_decision", client=client, decision=made.decision_id)
        assert [one.event_id for one in history.events][1:] == ["click-1", "order-1"]
        wrong = model("SignalReport", signal="cilck")
        problem = call("feedback.signal", client=client, decision=made.decision_id, body=wrong)
        assert (problem.status, problem.type_) == (422, "urn:foretell:problem:unusable")
        assert "'click'" in problem.detail


TYPES = """
import type { components } from "./foretell.js";
type Type = components["schemas"];

export const least: Type["NewCampaign"] = { name: "a", actions: ["a", "b"], signals: ["none"] };
export const signal: Type["SignalReport"] = { signal: "click" };
export const patch: Type["CampaignPatch"] = { typical_delay: null };
export const uncut: Type["Receipt"] = { status: "accepted" };
export const key = (made: Type["MadeKey"]): string | null => made.expires_at;
export const history = (view: Type["CampaignView"]): string[] => view.history.map((one) => one.id);

// @ts-expect-error: a signal must be named
export const silent: Type["SignalReport"] = {};
// @ts-expect-error: a campaign needs actions
export const idle: Type["NewCampaign"] = { name: "a", signals: ["none"] };
// @ts-expect-error: there is no such kind
export const odd: Type["FeedbackItem"] = { decision_id: "d", kind: "bonus" };
// @ts-expect-error: it may be left out
export const cut: boolean = uncut.clipped;
"""


def test_typescript_knows_which_fields_may_be_left_out(document: Path, tmp_path: Path) -> None:
    made = run_tool("openapi-typescript", str(document), "-o", "foretell.ts", cwd=tmp_path)
    assert made.returncode == 0, made.stdout + made.stderr
    (tmp_path / "types.ts").write_text(TYPES, "utf-8")
    flags = ["--strict", "--noEmit", "--module", "nodenext", "--lib", "es2022", "--skipLibCheck"]
    checked = run_tool("tsc", *flags, "types.ts", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout
