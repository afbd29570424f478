"""Each scope can do what it may and nothing else, no key is ever shown, and a crowd is refused."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, get_args

import pytest

from foretell import protocol
from foretell.service.http.operation import Operation
from foretell.service.http.routes import OPERATIONS
from tests.service.http.conftest import SMALL, Served, check_problem, send
from tests.service.http.fake_engine import FakeEngine

SCOPES: tuple[protocol.Scope, ...] = get_args(protocol.Scope)

KEYED = [one for one in OPERATIONS if one.scope is not None]

ADMINS_ONLY = {"list_keys", "list_secrets", "get_server_events", "backup"}
"""What is read by nobody else."""
MAY: dict[str, set[str]] = {
    "decide": {"decide"},
    "feedback": {"signal", "reward", "void", "batch"},
    "read": {
        one.name
        for one in OPERATIONS
        if one.method == "GET" and one.scope and one.name not in ADMINS_ONLY
    },
    "admin": {one.name for one in KEYED},
}


def test_the_scopes_are_those_of_the_contract() -> None:
    for scope, names in MAY.items():
        assert names == {one.name for one in KEYED if scope in (one.scope, "admin")}


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("operation", KEYED, ids=lambda one: one.name)
def test_a_scope_does_what_it_may_and_nothing_else(
    broken: Served, operation: Operation, scope: protocol.Scope
) -> None:
    answer = send(broken, operation, {"Authorization": f"Bearer {broken.keys[scope]}"})
    if operation.name in MAY[scope]:
        assert answer.status_code not in {401, 403}, answer.text
        assert answer.status_code < 500
    else:
        assert answer.status_code == 403
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["type"] == "urn:foretell:problem:forbidden"


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_without_a_key_only_the_open_operations_answer(
    broken: Served, operation: Operation
) -> None:
    answer = send(broken, operation, {})
    if operation.scope is None:
        assert answer.status_code == 200
    else:
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert answer.json()["type"] == "urn:foretell:problem:unauthorized"


@pytest.mark.parametrize(
    "sent",
    ["", "Bearer", "Bearer ", "Basic ftk_admin", "ftk_admin", "Bearer ftk_adminn", "Bearer \xff"],
)
def test_a_wrong_key_is_401(served: Served, sent: str) -> None:
    headers = {"Authorization": sent.encode("latin-1")}
    assert served.client.get("/v1/campaigns", headers=headers).status_code == 401  # type: ignore[arg-type]


def test_the_scheme_may_be_written_in_any_case(served: Served) -> None:
    headers = {"Authorization": f"bEARER {served.keys['read']}"}
    assert served.client.get("/v1/campaigns", headers=headers).status_code == 200


def test_the_key_is_looked_at_before_the_body(broken: Served) -> None:
    def body() -> Any:
        yield b"{"
        raise AssertionError("the body was read")

    answer = broken.client.post("/v1/campaigns", content=body())
    assert answer.status_code == 401


def test_a_revoked_key_is_refused(served: Served) -> None:
    made = served.call("POST", "/v1/keys", json={"name": "x", "scopes": ["read"]}).json()
    headers = {"Authorization": f"Bearer {made['key']}"}
    assert served.client.get("/v1/campaigns", headers=headers).status_code == 200
    gone = served.call("DELETE", f"/v1/keys/{made['id']}")
    assert (gone.status_code, gone.content) == (204, b"")
    assert "content-type" not in gone.headers
    assert served.client.get("/v1/campaigns", headers=headers).status_code == 401
    assert served.call("DELETE", f"/v1/keys/{made['id']}").status_code == 404


def test_keys_are_in_no_answer_and_no_log(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    made = served.call("POST", "/v1/keys", json={"name": "x", "scopes": ["read"]}).json()
    served.keys["read"] = made["key"]
    decision = served.decision()
    texts = []
    for operation in OPERATIONS:
        for key in served.keys.values():
            answer = send(served, operation, {"Authorization": f"Bearer {key}"}, decision)
            texts.append(answer.text + str(answer.headers))
    by_mistake = served.call("DELETE", f"/v1/keys/{served.keys['admin']}")
    assert by_mistake.status_code == 404
    secrets = [*served.keys.values()]
    texts.append(by_mistake.text)
    assert not any(secret in text for secret in secrets for text in texts)
    ours = [one.getMessage() for one in caplog.records if not one.name.startswith("httpx")]
    assert not any(secret in line for secret in secrets for line in ours)


def test_more_requests_than_are_allowed_at_once_are_429(
    broken: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, go_on, full = [], asyncio.Event(), asyncio.Event()

    async def wait(self: FakeEngine, name: str) -> protocol.CampaignReport:
        inside.append(name)
        if len(inside) == SMALL.in_flight:
            full.set()
        await go_on.wait()
        return await report(self, name)

    report = FakeEngine.report
    monkeypatch.setattr(FakeEngine, "report", wait)
    broken.decision()
    portal = broken.client.portal
    assert portal is not None

    async def crowd() -> tuple[list[int], Any]:
        from httpx2 import ASGITransport, AsyncClient

        headers = {"Authorization": f"Bearer {broken.keys['read']}"}
        transport = ASGITransport(broken.client.app)
        async with AsyncClient(transport=transport, base_url="http://test") as client:
            path = "/v1/campaigns/hero/report"
            first = [asyncio.ensure_future(client.get(path, headers=headers)) for _ in range(3)]
            await full.wait()
            refused = await client.get(path, headers=headers)
            alive = await client.get("/livez")
            go_on.set()
            codes = [(await one).status_code for one in first] + [alive.status_code]
            monkeypatch.setattr(FakeEngine, "report", report)
            codes.append((await client.get(path, headers=headers)).status_code)
            return codes, refused

    codes, refused = portal.call(crowd)
    check_problem(refused, 429, "overloaded")
    assert int(refused.headers["retry-after"]) >= 1
    assert codes == [200] * 5
