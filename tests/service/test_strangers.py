"""Whoever knocks at a real server, with endless requests or with signals, it goes on serving."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from benchmarks.live_attack import attack
from tests.service.server_process import CAMPAIGN, Server

pytestmark = pytest.mark.slow

MIB = 1024
"""KiB of it."""


def memory(server: Server, field: str) -> int:
    """Return a field of what the system says about the memory of a server, in KiB."""
    status = Path(f"/proc/{server.process.pid}/status").read_text("utf-8")
    found = re.search(rf"^{field}:\s+(\d+) kB", status, flags=re.MULTILINE)
    assert found is not None
    return int(found[1])


def test_endless_requests_take_little_memory_and_stop_nobody(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        server.ask("POST", "/v1/campaigns/home-hero/decisions")
        port = urlsplit(server.url).port
        assert port is not None
        before = memory(server, "VmRSS")

        async def decide_meanwhile() -> int:
            attacking = asyncio.create_task(asyncio.to_thread(attack, port, 4.0))
            made = 0
            while not attacking.done():
                path = "/v1/campaigns/home-hero/decisions"
                status, _ = await asyncio.to_thread(server.ask, "POST", path)
                made += status == 201
            assert await attacking >= 10
            return made

        made = asyncio.run(decide_meanwhile())
        assert memory(server, "VmHWM") - before < 64 * MIB
        assert made > 0
        with socket.create_connection(("127.0.0.1", port)) as one:
            one.sendall(b"GET /metrics HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
            text = b"".join(iter(lambda: one.recv(65536), b"")).decode()
    assert 'foretell_requests_total{operation="none",status="431"}' in text
    assert 'foretell_requests_total{operation="none",status="414"}' in text
    assert server.logged().count("\n") < 10


def test_sighup_is_logged_and_stops_nothing(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        server.process.send_signal(signal.SIGHUP)
        assert server.ask("POST", "/v1/campaigns", CAMPAIGN)[0] == 201
        while "SIGHUP" not in server.logged():
            assert server.process.poll() is None
        assert server.stop() == 0


def test_an_access_log_has_a_line_of_json_for_each_request(tmp_path: Path) -> None:
    flags = ("--access-log", "--log-format", "json", "--log-level", "warning")
    with Server(tmp_path, *flags) as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN, {"X-Request-Id": "from-the-test"})
        server.ask("GET", "/v1/campaigns/home-hero/units/somebody")
    lines = [json.loads(line) for line in server.logged().splitlines()]
    made, refused = (line for line in lines if line["message"] == "request")
    assert made["request_id"] == "from-the-test"
    assert (made["operation"], made["key"], made["status"]) == ("create_campaign", "first", 201)
    assert made["bytes"] > 0
    assert made["seconds"] > 0
    assert refused["status"] == 405
    assert "somebody" not in server.logged()
    assert server.key not in server.logged()


def test_without_the_setting_no_request_is_logged(tmp_path: Path) -> None:
    with Server(tmp_path, "--log-level", "debug") as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
    assert "create_campaign" not in server.logged()
