"""The demonstration in a process of its own, and what its campaigns are to say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from typing import Any

from tests.service.server_process import environment

EXPECTED = {
    "bookshop-front": "healthy",
    "app-feed": "misleading signal",
    "checkout": "rewards stopped",
    "gift-finder": "learning",
}
"""What the report of each campaign is to say, from the start."""


class Demo:
    """`foretell demo-live`; its four campaigns go on until it is stopped."""

    def __init__(self, seed: int) -> None:
        """Start it, and wait until it says where it is."""
        command = [sys.executable, "-m", "foretell", "demo-live", "--port", "0"]
        self.process = subprocess.Popen(
            [*command, "--seed", str(seed)],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        assert self.process.stdout is not None
        said = self.process.stdout.readline() + self.process.stdout.readline()
        found = re.search(r"(http://\S+)/ui\s+Key:\s+(\S+)", said)
        assert found, said
        self.url, self.key = found[1], found[2]

    def read(self, path: str) -> Any:
        """Ask the API."""
        request = urllib.request.Request(  # noqa: S310  (it is our own server)
            f"{self.url}/v1{path}", headers={"Authorization": f"Bearer {self.key}"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            return json.load(answer)

    def statuses(self) -> dict[str, str]:
        """Return what the report of each campaign says."""
        return {name: self.read(f"/campaigns/{name}/report")["status"] for name in EXPECTED}

    def stop(self) -> None:
        """Stop it, and the service with it."""
        self.process.terminate()
        self.process.wait(timeout=60)
        if self.process.stdout is not None:
            self.process.stdout.close()
