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
from uvicorn.server import ServerState

import foretell
from foretell import protocol
from foretell.policies.registry import policy
from foretell.service import server
from foretell.service.engine import Engine, maintenance
from foretell.service.log.sqlite import watch
from foretell.service.settings import Settings
from tests.service.http.raw_server import one_answer

MAX_FILES = 20
SOURCE = Path(foretell.__file__).parent
CONNECTION = str(SOURCE / "service" / "http" / "connection.py")
POLICY = "ucb"
REQUEST = {"decision_key": "k", "unit": "u", "eligible": ["a", "b"], "context": {"x": 1}}
"""It uses all that a request can, so that it passes every file that one may pass."""
KEY = "ftk_the-key-of-the-decide-path"


class Trace:
    """The files of foretell that a request enters, in the order of the first entry.

    It enters them where its connection is called back, in the task that answers it, and in the
    thread that writes the log. What other tasks do at the same time, such as the fold, is not the
    request's.
    """

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self.tasks: set[asyncio.Task[Any]] | None = None
        """The tasks of requests, while there is one to trace."""
        self.loop_thread = threading.get_ident()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(SOURCE)) and self._is_of_request(frame):
            self.files.setdefault(str(Path(name).relative_to(SOURCE)))

    def _is_of_request(self, frame: FrameType | None) -> bool:
        if self.tasks is None or threading.get_ident() != self.loop_thread:
            return self.tasks is not None
        task = asyncio.current_task()
        if task is not None:
            return task in self.tasks
        while frame is not None and frame.f_code.co_filename != CONNECTION:
            frame = frame.f_back
        return frame is not None

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


async def decide(port: int) -> tuple[int, dict[str, Any]]:
    """Ask for a decision over a socket of its own, byte by byte."""
    body = msgspec.json.encode(REQUEST)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        b"POST /v1/campaigns/c/decisions HTTP/1.1\r\nHost: here\r\n"
        b"Authorization: Bearer %s\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (KEY.encode(), len(body), body)
    )
    answer = await one_answer(reader)
    writer.close()
    assert answer is not None
    return answer.status, msgspec.json.decode(answer.body)


def writer_rests() -> bool:
    """Return whether the thread that writes the log waits for something to write."""
    (thread,) = (one for one in threading.enumerate() if one.name == "log")
    assert thread.ident is not None
    return sys._current_frames()[thread.ident].f_code.co_name == "_take"


async def traced(path: Path) -> list[str]:
    """Return the files that one decision passes; what goes on in the background stands still."""
    trace = Trace()
    with (
        trace.in_every_thread(),
        mock.patch.object(maintenance, "TICK_SECONDS", 3600.0),
        mock.patch.object(watch, "LOOK_SECONDS", 3600.0),
    ):
        engine = await Engine.open(path, admin_key=KEY, compiled=False)
        config, state = server._config(engine, Settings(db=str(path))), ServerState()
        config.load()
        protocol_of: Any = config.http_protocol_class
        listening = await asyncio.get_running_loop().create_server(
            lambda: protocol_of(config=config, server_state=state, app_state={}), "127.0.0.1", 0
        )
        try:
            new = protocol.NewCampaign("c", ["a", "b"], ["none", "click"], POLICY, sticky=True)
            await engine.create(new)
            await engine.settled()
            while not writer_rests():  # noqa: ASYNC110  (it is a thread, and sets no event)
                await asyncio.sleep(0.001)
            trace.tasks = state.tasks
            status, answer = await decide(listening.sockets[0].getsockname()[1])
            trace.tasks = None
        finally:
            listening.close()
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
