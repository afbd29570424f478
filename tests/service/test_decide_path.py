"""A live decision passes few files on its way from the socket to the policy."""

from __future__ import annotations

import asyncio
import inspect
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import msgspec

import foretell
from foretell import protocol
from foretell.policies.registry import policy
from foretell.service.engine import Engine, maintenance
from foretell.service.http import app
from foretell.service.log.sqlite import watch

MAX_FILES = 20
SOURCE = Path(foretell.__file__).parent
POLICY = "ucb"
REQUEST = {"decision_key": "k", "unit": "u", "eligible": ["a", "b"], "context": {"x": 1}}
"""It uses all that a request can, so that it passes every file that one may pass."""
KEY = "ftk_the-key-of-the-decide-path"


class Trace:
    """The files of foretell that a request enters, in the order of the first entry.

    It enters them in its own task, and in the thread that writes the log. What other tasks do at
    the same time, such as the fold, is not the request's.
    """

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self.task: asyncio.Task[Any] | None = None
        self.loop_thread = threading.get_ident()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(SOURCE)) and self._is_of_request():
            self.files.setdefault(str(Path(name).relative_to(SOURCE)))

    def _is_of_request(self) -> bool:
        if self.task is None or threading.get_ident() != self.loop_thread:
            return self.task is not None
        return asyncio.current_task() is self.task

    @contextmanager
    def in_every_thread(self) -> Iterator[None]:
        """Watch this thread, and those that are started from here on."""
        before = sys.getprofile()
        threading.setprofile(self)
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(before)
            threading.setprofile(None)


async def decide(web: Any) -> tuple[int, dict[str, Any]]:
    """Ask for a decision through the web application, as uvicorn would."""
    path, body = "/v1/campaigns/c/decisions", msgspec.json.encode(REQUEST)
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [
            (b"authorization", f"Bearer {KEY}".encode()),
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
        ],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await web(scope, receive, send)
    answer = b"".join(message.get("body", b"") for message in sent)
    return sent[0]["status"], msgspec.json.decode(answer)


async def traced(path: Path) -> list[str]:
    """Return the files that one decision passes; what goes on in the background stands still."""
    trace = Trace()
    with (
        trace.in_every_thread(),
        mock.patch.object(maintenance, "TICK_SECONDS", 3600.0),
        mock.patch.object(watch, "LOOK_SECONDS", 3600.0),
    ):
        engine = await Engine.open(path, admin_key=KEY, compiled=False)
        try:
            new = protocol.NewCampaign("c", ["a", "b"], ["none", "click"], POLICY, sticky=True)
            await engine.create(new)
            web = app(engine)
            trace.task = asyncio.current_task()
            status, answer = await decide(web)
            trace.task = None
        finally:
            await engine.close()
    assert status == 201
    assert answer["action"] in ("a", "b")
    return list(trace.files)


def test_a_decision_passes_few_files_before_its_policy(tmp_path: Path) -> None:
    files = asyncio.run(traced(tmp_path / "a.db"))
    own = str(Path(inspect.getfile(type(policy(POLICY)))).relative_to(SOURCE))
    assert own in files, f"the policy was not asked: {files}"
    passed = files[: files.index(own)]
    listed = "\n".join(passed)
    assert len(passed) <= MAX_FILES, f"{len(passed)} files are passed before {own}:\n{listed}"


def test_the_page_on_the_architecture_names_the_files_in_this_order(tmp_path: Path) -> None:
    page = (SOURCE.parents[1] / "docs" / "explanation" / "architecture.md").read_text("utf-8")
    walk = page.partition("## 3. A live decision")[2].partition("\n## ")[0]
    named = re.findall(r"^\| `([\w/]+\.py)` \|", walk, flags=re.MULTILINE)
    assert named == asyncio.run(traced(tmp_path / "a.db"))
