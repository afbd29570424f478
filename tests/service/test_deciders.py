"""Several real servers on one log in PostgreSQL: together they are one service."""

from __future__ import annotations

import http.client
import os
import re
import signal
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from tests.service.log.postgres_server import QUICK, PostgresServer, drop_database, made_database
from tests.service.server_process import CAMPAIGN, Server, foretell

TIMING = QUICK | {"lease_seconds": 3.0}
AT_ONCE = {"signal_silence": "unknown", "reward_silence": "unknown"}
"""Outcomes enter when they come, and no window has to close."""


def started(stack: ExitStack, folder: Path, dsn: str, count: int) -> list[Server]:
    """Start servers at once."""

    def start(number: int) -> Server:
        own = folder / f"{number}"
        own.mkdir()
        return Server(own, "--db", dsn)

    with ThreadPoolExecutor() as pool:
        servers = list(pool.map(start, range(count)))
    for server in servers:
        stack.enter_context(server)
    return servers


@pytest.fixture
def dsn() -> Iterator[str]:
    dsn = made_database(**TIMING)
    yield dsn
    drop_database(dsn)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Server]]:
    """Three servers that were started at once on an empty database."""
    dsn = made_database(**TIMING)
    with ExitStack() as stack:
        yield started(stack, tmp_path_factory.mktemp("deciders"), dsn, 3)
    drop_database(dsn)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """The name of the campaign of a test."""
    return str(request.node.name).replace("_", "-")[:60]


def ask(server: Server, method: str, path: str, body: Any = None, status: int = 0) -> Any:
    got, answer = server.ask(method, path, body)
    assert got == status or (not status and got < 300), (got, answer)
    return answer


def create(server: Server, name: str, **more: Any) -> None:
    ask(server, "POST", "/v1/campaigns", CAMPAIGN | {"name": name} | AT_ONCE | more)


def decide(server: Server, name: str, **body: Any) -> Any:
    return ask(server, "POST", f"/v1/campaigns/{name}/decisions", body)


def at_once(*calls: Any) -> list[Any]:
    """Call several things at the same time."""
    with ThreadPoolExecutor(len(calls)) as pool:
        return [one.result() for one in [pool.submit(*call) for call in calls]]


def test_several_servers_are_one_service(servers: list[Server], name: str) -> None:
    create(servers[0], name)
    decisions = [decide(server, name)["decision_id"] for server in servers for _ in range(5)]
    for number, decision in enumerate(decisions):
        server = servers[(number + 1) % 3]
        ask(server, "POST", f"/v1/decisions/{decision}/signal", {"signal": "click"})
        ask(server, "POST", f"/v1/decisions/{decision}/reward", {"value": 1.0})
    for server in servers:
        report = ask(server, "GET", f"/v1/campaigns/{name}/report")
        assert sum(one["decisions"] for one in report["actions"]) == 15
    for server in servers:
        assert ask(server, "GET", f"/v1/decisions/{decisions[0]}")["signal"] == "click"


def test_what_is_sent_through_several_servers_at_once_counts_once(
    servers: list[Server], name: str
) -> None:
    """And all of them answer alike."""
    create(servers[0], name)

    def decide_with_key(server: Server, key: str) -> Any:
        return decide(server, name, decision_key=key)

    for number in range(15):
        answers = at_once(*((decide_with_key, server, f"k{number}") for server in servers))
        assert len({one["decision_id"] for one in answers}) == 1
        assert len({one["action"] for one in answers}) == 1
        path = f"/v1/decisions/{answers[0]['decision_id']}/reward"
        body = {"value": 1.0, "event_id": f"e{number}"}
        receipts = at_once(*((ask, server, "POST", path, body) for server in servers))
        assert sorted(one["status"] for one in receipts) == ["accepted", "duplicate", "duplicate"]
        assert {one["event_id"] for one in receipts} == {f"e{number}"}
    report = ask(servers[1], "GET", f"/v1/campaigns/{name}/report")
    assert sum(one["decisions"] for one in report["actions"]) == 15


def test_a_sticky_unit_keeps_its_action_through_every_server(
    servers: list[Server], name: str
) -> None:
    create(servers[0], name, sticky=True)

    def decide_for(server: Server, unit: str) -> Any:
        return decide(server, name, unit=unit)["action"]

    for number in range(10):
        actions = at_once(*((decide_for, server, f"u{number}") for server in servers))
        actions += [decide_for(server, f"u{number}") for server in servers]
        assert len(set(actions)) == 1


def test_a_change_is_in_force_everywhere_once_it_is_answered(
    servers: list[Server], name: str
) -> None:
    first, second, third = servers
    create(first, name)
    path = f"/v1/campaigns/{name}/decisions"
    for _ in range(3):
        ask(second, "POST", f"/v1/campaigns/{name}/pause")
        for server in servers:
            ask(server, "POST", path, {}, status=409)
        ask(third, "POST", f"/v1/campaigns/{name}/start")
        for server in servers:
            decide(server, name)
    made = ask(first, "POST", "/v1/keys", {"name": "k", "scopes": ["decide"]})
    headers = {"Authorization": f"Bearer {made['key']}"}
    for server in servers:
        assert server.ask("POST", path, {}, headers)[0] == 201
    ask(second, "DELETE", f"/v1/keys/{made['id']}")
    for server in servers:
        assert server.ask("POST", path, {}, headers)[0] == 401


def test_who_is_signed_in_to_the_dashboard_is_signed_in_on_every_server(
    servers: list[Server],
) -> None:
    """Until one signs out, on any of them."""

    def visit(server: Server, path: str, cookie: str = "", **form: str) -> tuple[int, str]:
        call = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=60)
        headers = {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
        call.request("POST" if form else "GET", path, urlencode(form) or None, headers)
        answer = call.getresponse()
        call.close()
        return answer.status, answer.getheader("set-cookie", "").partition(";")[0]

    first, second, third = servers
    _, cookie = visit(first, "/ui/sign-in", key=first.key)
    assert [visit(server, "/ui", cookie)[0] for server in servers] == [200, 200, 200]
    visit(second, "/ui/sign-out", cookie, token="")
    assert [visit(server, "/ui", cookie)[0] for server in (third, first)] == [303, 303]


def test_an_id_stays_valid_while_the_secret_is_changed(servers: list[Server], name: str) -> None:
    create(servers[0], name)
    decisions = [decide(servers[0], name)["decision_id"]]

    def decide_for_a_while(server: Server) -> list[str]:
        return [decide(server, name)["decision_id"] for _ in range(30)]

    found = at_once(
        (ask, servers[2], "POST", "/v1/secrets"),
        *((decide_for_a_while, server) for server in servers),
    )
    for decision in [*decisions, *(one for some in found[1:] for one in some)]:
        for server in servers[:2]:
            ask(server, "POST", f"/v1/decisions/{decision}/signal", {"signal": "click"})


def test_a_server_that_is_stopped_for_long_or_killed_takes_nothing_with_it(
    dsn: str, tmp_path: Path, name: str
) -> None:
    with ExitStack() as stack:
        first, second = started(stack, tmp_path, dsn, 2)
        create(first, name)
        decisions = [decide(one, name)["decision_id"] for one in (first, second) for _ in range(20)]
        os.kill(second.process.pid, signal.SIGSTOP)
        try:
            ask(first, "POST", f"/v1/campaigns/{name}/pause")  # which waits until it is sealed
        finally:
            os.kill(second.process.pid, signal.SIGCONT)
        statuses = statuses_until(second, name, 409)
        assert set(statuses) <= {409, 503}, "nothing is decided in a campaign that is paused"
        ask(second, "POST", f"/v1/campaigns/{name}/start")
        decisions += [decide(one, name)["decision_id"] for one in (first, second)]
        second.stop(signal.SIGKILL)
        for decision in decisions:
            ask(first, "POST", f"/v1/decisions/{decision}/signal", {"signal": "click"})
            ask(first, "POST", f"/v1/decisions/{decision}/reward", {"value": 1.0})
        assert statuses_until(first, name, 201)
        wait_for_rewards(first, name, len(decisions))
        assert first.logged().count("has stopped, and is sealed") == 2
        first.stop()
    verified = foretell("verify", "--db", dsn)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "Nothing is damaged" in verified.stdout  # who does not fold yet saves no state


def statuses_until(server: Server, name: str, status: int) -> list[int]:
    """Ask for decisions until one is answered so; return how all were."""
    found: list[int] = []
    while status not in found:
        assert len(found) < 500, found[-1]
        found.append(server.ask("POST", f"/v1/campaigns/{name}/decisions", {})[0])
        time.sleep(0.02)
    return found


def wait_for_rewards(server: Server, name: str, count: int) -> None:
    """Wait until so many rewards are folded: the stream of a dead server holds up nobody."""
    deadline = time.monotonic() + 30
    while True:
        report = ask(server, "GET", f"/v1/campaigns/{name}/report")
        if sum(one["observed"]["n"] for one in report["actions"] if one["observed"]) >= count:
            return
        assert time.monotonic() < deadline, report
        time.sleep(0.1)


def test_while_the_database_is_away_a_server_says_what_it_would_choose(
    tmp_path: Path, name: str
) -> None:
    """And goes on by itself when the database is back, with all that it has acknowledged."""
    with tempfile.TemporaryDirectory(prefix="pg-") as folder, ExitStack() as stack:
        database = PostgresServer(Path(folder), fsync="on")
        database.make()
        database.start()
        stack.callback(database.stop)
        (server,) = started(stack, tmp_path, database.dsn(), 1)
        create(server, name)
        decision = decide(server, name)["decision_id"]
        ready = ask(server, "GET", "/readyz")
        assert ready["deciders"] == 1
        assert "the loss of that disk loses" in ready["durability"]
        for crash in (signal.SIGQUIT, signal.SIGINT):
            database.stop(crash)
            status, problem = server.ask("POST", f"/v1/campaigns/{name}/decisions", {})
            assert (status, problem["type"]) == (503, "urn:foretell:problem:log-closed")
            assert problem["action"] in CAMPAIGN["actions"]
            path = f"/v1/decisions/{decision}/reward"
            assert server.ask("POST", path, {"value": 1.0, "event_id": "e"})[0] == 503
            status, problem = server.ask("GET", "/readyz")
            assert status == 503
            assert problem["detail"].startswith("the database server ")
            assert not re.search("postgresql|Errno|state|pg-", problem["detail"])
            assert re.search(r"the log is closed: the database .* \(.+\)", server.logged())
            database.start()
            statuses_until(server, name, 201)
            assert ask(server, "GET", f"/v1/decisions/{decision}")["decision_id"] == decision
        ask(server, "POST", path, {"value": 1.0, "event_id": "e"})
        assert ask(server, "GET", "/readyz")["status"] == "ok"
