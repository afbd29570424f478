"""A real server in a process of its own, as a user starts it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.error import HTTPError

KEY = "ftk_the-admin-key-of-the-tests"
CAMPAIGN = {"name": "home-hero", "actions": ["a", "b"], "signals": ["none", "click"]}


def environment(**more: str) -> dict[str, str]:
    """Return the environment without what sets foretell up."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FORETELL_")}
    return kept | more


def foretell(
    *arguments: str,
    cwd: Path | None = None,
    answer: str = "",
    variables: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "foretell", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        input=answer,
        timeout=120,
        env=environment(**(variables or {})),
    )


class Server:
    """`foretell serve` in a folder; leaving the block stops it."""

    program: tuple[str, ...] = ("-m", "foretell")
    """What Python runs."""

    def __init__(self, folder: Path, *arguments: str, **variables: str) -> None:
        """Start it, and wait until it says where it is."""
        variables.setdefault("FORETELL_ADMIN_KEY", KEY)
        self.key = variables["FORETELL_ADMIN_KEY"]
        self.errors = folder / "server.log"
        with self.errors.open("a") as errors:
            self.process = subprocess.Popen(
                [sys.executable, *self.program, "serve", "--port", "0", *arguments],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=folder,
                env=environment(**variables),
            )
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()
        found = re.search(r"at (http://\S+)", self.said)
        if found is None:
            self.process.wait()
            self.process.stdout.close()
            raise AssertionError(f"it did not start: {self.logged()}")
        self.url = found[1]

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        """Send a request; give the status and what was answered."""
        request = urllib.request.Request(  # noqa: S310  (it is our own server)
            self.url + path,
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
            | (headers or {}),
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
                status, content = answer.status, answer.read()
        except HTTPError as error:
            with error:
                status, content = error.code, error.read()
        return status, json.loads(content) if content else None

    def stop(self, with_signal: int = signal.SIGTERM) -> int:
        """Send a signal, wait for the end, and give the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(with_signal)
        code = self.process.wait(timeout=60)
        if self.process.stdout is not None and not self.process.stdout.closed:
            self.said += self.process.stdout.read()
            self.process.stdout.close()
        return code

    def logged(self) -> str:
        """Return what it has logged."""
        return self.errors.read_text("utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
