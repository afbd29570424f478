"""Services to test: the real engine on every log, and a fake one that a test can break."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast, get_args

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from starlette.testclient import TestClient

from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.http import Limits, app
from foretell.service.http.operation import Operation
from foretell.service.log.memory import MemoryLog
from tests.service.engine_driver import LOG_ENGINES
from tests.service.http.fake_engine import KEYS, FakeEngine
from tests.service.http.log_place import log_place

JSON = {"Content-Type": "application/json"}
CAMPAIGN = {"name": "hero", "actions": ["a", "b"], "signals": ["none", "click"]}


class Served:
    """A service, its keys, and a client that speaks to it."""

    def __init__(
        self,
        engine: Engine | FakeEngine,
        keys: dict[protocol.Scope, str],
        portal: BlockingPortal,
        limits: Limits,
    ) -> None:
        self.engine = engine
        self.keys = keys
        self.client = TestClient(app(cast("Engine", engine), limits))
        self.client.portal = portal

    def call(self, method: str, path: str, scope: protocol.Scope = "admin", **more: Any) -> Any:
        """Send a request with the key of a scope."""
        headers = {"Authorization": f"Bearer {self.keys[scope]}", **more.pop("headers", {})}
        return self.client.request(method, path, headers=headers, **more)

    def decision(self) -> str:
        """Make the campaign if there is none, and a decision."""
        self.call("POST", "/v1/campaigns", json=CAMPAIGN)
        answer = self.call("POST", "/v1/campaigns/hero/decisions")
        assert answer.status_code == 201, answer.text
        return str(answer.json()["decision_id"])


SMALL = Limits(event=10_000, body=20_000, batch=500_000, in_flight=3)


@pytest.fixture(scope="session")
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as portal:
        yield portal


@pytest.fixture
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test that leaves a temporary file behind."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    yield
    assert list(scratch.iterdir()) == []


@pytest.fixture
def broken(portal: BlockingPortal) -> Served:
    """A service without rules, which a test may break."""
    return Served(FakeEngine(), dict(KEYS), portal, SMALL)


@pytest.fixture(params=["fake engine", *LOG_ENGINES])
def served(
    request: pytest.FixtureRequest, portal: BlockingPortal, tmp_path: Path
) -> Iterator[Served]:
    """A service without rules, and the real one on every kind of log."""
    if request.param == "fake engine":
        yield Served(FakeEngine(), dict(KEYS), portal, SMALL)
        return
    admin = "ftk_the-first-key-of-this-test"

    async def start(place: MemoryLog | Path | str) -> tuple[Engine, dict[protocol.Scope, str]]:
        engine = await Engine.open(place, admin_key=admin, compiled=False)
        keys: dict[protocol.Scope, str] = {"admin": admin}
        for scope in get_args(protocol.Scope)[:3]:
            keys[scope] = (await engine.make_key(protocol.NewKey(scope, [scope]))).key
        return engine, keys

    with log_place(request.param, tmp_path) as place:
        engine, keys = portal.call(start, place)
        yield Served(engine, keys, portal, SMALL)
        portal.call(engine.close)


def post(served: Served, content: Any, path: str = "/v1/campaigns", **headers: str) -> Any:
    return served.call("POST", path, content=content, headers={**JSON, **headers})


def check_problem(answer: Any, status: int, name: str) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["cache-control"] == "no-store"
    body = answer.json()
    assert body["type"] == f"urn:foretell:problem:{name}"
    assert body["status"] == status
    assert body["title"]
    assert body["detail"]


def send(
    served: Served, operation: Operation, headers: dict[str, str], decision: str | None = None
) -> Any:
    path = operation.path.replace("{unit:unit}", "u1")
    for name, value in {
        "campaign": "hero",
        "action": "a",
        "decision": decision or served.decision(),
        "key_id": "k1",
        "secret": "0",
        "evaluation": "e1",
    }.items():
        path = path.replace(f"{{{name}}}", value)
    more: dict[str, Any] = {}
    if operation.media != (b"application/json",):
        headers = {**headers, "Content-Type": operation.media[0].decode()}
        more["content"] = b'{"events": [{}]}' if operation.name == "batch" else b"nothing"
    elif operation.request is not None:
        more["json"] = operation.example
    return served.client.request(operation.method, path, headers=headers, **more)
