"""A real server on a disk that hangs: what needs no disk answers, and what does is bounded."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.service.server_process import CAMPAIGN, Server

pytestmark = pytest.mark.slow

DECIDE = "/v1/campaigns/home-hero/decisions"
HANGING_DISK = """
import os, time
import apsw

def wait():
    while os.path.exists("hang"):
        time.sleep(0.01)

class HangingDisk(apsw.VFS):
    def __init__(self):
        super().__init__("hanging", "unix", makedefault=True)

    def xOpen(self, name, flags):
        return HangingFile("unix", name, flags)

class HangingFile(apsw.VFSFile):
    def xWrite(self, data, offset):
        wait()
        super().xWrite(data, offset)

    def xSync(self, flags):
        wait()
        super().xSync(flags)

disk = HangingDisk()
from foretell.service import server
from foretell.service.log.sqlite import watch
watch.STALL_SECONDS = 2.0
server.CLOSE_SECONDS = 2.0
from foretell.cli import main
main()
"""


class HangingServer(Server):
    """A server whose disk neither writes nor syncs while there is a file `hang`."""

    program = ("-c", HANGING_DISK)


@contextmanager
def hanging(folder: Path) -> Iterator[None]:
    (folder / "hang").touch()
    try:
        yield
    finally:
        (folder / "hang").unlink()


class Asked(threading.Thread):
    """A request that waits for the disk."""

    def __init__(self, server: Server, method: str, path: str, body: Any = None) -> None:
        super().__init__()
        self._arguments = server, method, path, body
        self.status = 0
        self.answer: Any = None
        self.start()

    def run(self) -> None:
        server, method, path, body = self._arguments
        self.status, self.answer = server.ask(method, path, body)


def what_needs_no_disk(server: Server) -> list[int]:
    """Ask for all that is in memory; whoever waited for the disk would never answer."""
    with urlopen(f"{server.url}/metrics", timeout=30) as answer:  # noqa: S310  (it is our own server)
        statuses = [answer.status]
    for path in ("/livez", "/docs", "/openapi.json"):
        with urlopen(f"{server.url}{path}", timeout=30) as answer:  # noqa: S310
            statuses.append(answer.status)
    campaign = "/v1/campaigns/home-hero"
    asked = ("/v1/campaigns", campaign, f"{campaign}/report", f"{campaign}/signals", "/v1/keys")
    return statuses + [server.ask("GET", path)[0] for path in asked]


def test_a_disk_that_hangs_holds_up_only_what_needs_it(tmp_path: Path) -> None:
    with HangingServer(tmp_path) as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        made = server.ask("POST", DECIDE)[1]["decision_id"]
        with hanging(tmp_path):
            waiting = [Asked(server, "POST", DECIDE, {"decision_key": str(n)}) for n in range(3)]
            assert set(what_needs_no_disk(server)) == {200}
            for one in waiting:
                one.join()
                assert one.status == 503
                assert re.search(r"has not answered for \d+ s", one.answer["detail"])
                assert "send the same again" in one.answer["detail"]
            status, problem = server.ask("GET", "/readyz")
            assert (status, "has not answered" in problem["detail"]) == (503, True)
            assert server.ask("POST", DECIDE)[0] == 503
            assert set(what_needs_no_disk(server)) == {200}
        for _ in range(3000):
            if server.ask("GET", "/readyz")[0] == 200:
                break
        again = {server.ask("POST", DECIDE, {"decision_key": str(n)})[0] for n in range(3)}
        assert again <= {200, 201}
        assert server.ask("GET", f"/v1/decisions/{made}")[0] == 200
        counts = server.ask("GET", "/v1/campaigns/home-hero/report")[1]["counts"]
        assert counts["decisions"] == 4
    assert "the log is open again: the disk answers" in server.logged()


@pytest.mark.parametrize("with_signal", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_server_whose_disk_hangs(tmp_path: Path, with_signal: int) -> None:
    with HangingServer(tmp_path, "--drain-seconds", "1") as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        made = [server.ask("POST", DECIDE)[1]["decision_id"] for _ in range(5)]
        with hanging(tmp_path):
            waiting = Asked(server, "POST", DECIDE)
            assert set(what_needs_no_disk(server)) == {200}
            assert server.stop(with_signal) == 1
            waiting.join()
        assert waiting.status == 503
    assert "loses nothing that was acknowledged" in server.logged()
    with Server(tmp_path) as again:
        assert all(again.ask("GET", f"/v1/decisions/{one}")[0] == 200 for one in made)
