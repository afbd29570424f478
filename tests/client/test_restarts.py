"""A service that is killed and restarted under its clients has every event once in the end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

import foretell
from foretell.client import ServiceUnavailable
from tests.client.conftest import Make

KEY = "ftk_" + "0123456789abcdef" * 4
KILLS = 5


class Server:
    """A real server on one database and one port, as often as it is started."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.db = folder / "foretell.db"
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "foretell", "serve", f"--db={self.db}", f"--port={self.port}"],
            env={**os.environ, "FORETELL_ADMIN_KEY": KEY},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + 60
        while not self.ready():
            assert self.process.poll() is None, "the server ended"
            assert time.monotonic() < end, "the server did not start"
            time.sleep(0.05)

    def ready(self) -> bool:
        try:
            return httpx2.get(f"{self.url}/readyz").status_code == 200
        except httpx2.HTTPError:
            return False

    def kill(self) -> None:
        self.process.kill()
        assert self.process.wait() == -signal.SIGKILL

    def log(self, campaign: str) -> list[dict[str, Any]]:
        records: list[dict[str, Any]] = []
        after = 0
        while True:
            page = httpx2.get(
                f"{self.url}/v1/campaigns/{campaign}/events",
                params={"after": after, "limit": 1000},
                headers={"Authorization": f"Bearer {KEY}"},
                timeout=30,
            ).json()
            if not page["events"]:
                return records
            records += page["events"]
            after = page["next"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path)
    yield running
    running.kill()


@pytest.mark.slow
def test_every_event_is_there_once_after_kills(server: Server, make: Make, tmp_path: Path) -> None:
    with foretell.Client(server.url, key=KEY) as admin:
        admin.create_campaign(name="c", actions=["a", "b"], signals=["none", "click"])
    client = make(server.url, key=KEY, fallback="a", outbox=tmp_path / "outbox.db")
    over = threading.Event()
    modes: Counter[str] = Counter()
    sent: list[str] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            while not over.is_set():
                decision = client.decide("c", unit="u")
                modes[decision.mode] += 1
                if decision.id is None:
                    continue
                sent.append(client.signal(decision, "click"))
                sent.append(client.reward(decision.id, 0.5))
                sent.append(client.adjust(decision, sent[-1], 0.25))
        except BaseException as error:  # noqa: BLE001 - checked below
            failed.append(error)

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    try:
        for turn in range(KILLS):
            time.sleep(0.3 + 0.1 * turn)
            server.kill()
            time.sleep(0.1 * turn)
            server.start()
    finally:
        over.set()
        for worker in workers:
            worker.join()
    assert failed == []
    assert client.flush(60)
    assert client.rejected() == []
    log = server.log("c")
    counted = Counter(
        record["body"]["event_id"] for record in log if record["type"] in {"signal", "reward"}
    )
    assert counted == Counter(sent)
    assert len(sent) > 3 * KILLS
    keys = [record["body"]["key"] for record in log if record["type"] == "decision"]
    assert len(keys) == len(set(keys)) >= modes["policy"] > KILLS


@pytest.mark.slow
def test_without_a_fallback_only_trouble_is_raised(server: Server, make: Make) -> None:
    with foretell.Client(server.url, key=KEY) as admin:
        admin.create_campaign(name="c", actions=["a", "b"], signals=["none", "click"])
    client = make(server.url, key=KEY, timeout=2.0)
    assert client.decide("c").mode == "policy"
    server.kill()
    with pytest.raises(ServiceUnavailable, match="cannot be reached"):
        client.decide("c")
    server.start()
    assert client.decide("c").mode == "policy"
