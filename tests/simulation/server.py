"""A server under simulation: the application over the engine, on virtual time and a virtual disk.

Nothing of the service is replaced but what touches the world: clocks, randomness, the disk under
the database, and the thread that commits, which takes its turns in the event loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import msgspec

from foretell.service.engine import Engine, maintenance
from foretell.service.http import ShutdownMiddleware
from foretell.service.http import app as application
from foretell.service.log.sqlite import database, tail, watch
from foretell.service.log.sqlite.log import SqliteLog
from foretell.service.log.sqlite.writer import Job, Writer
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.events import moment
from foretell.service.model.outcome import WINDOW_GRID
from tests.simulation.virtual_time import SECOND, VirtualTime
from tests.torture.book import FEEDBACK
from tests.torture.disk import Disk
from tests.torture.power_cuts import abandon, set_checkpoint
from tests.torture.server import KEY
from tests.torture.verbs import Body, NoAnswer, Refused
from tests.torture.web import answer_of, request_of

TICK_SECONDS = 2.0
"""How often background work looks around: hours pass, and each tick of them takes time."""
NEVER_SECONDS = 1e12


class _NoThread:
    """In place of a thread that is never started."""

    def __init__(self, **_: Any) -> None: ...

    def start(self) -> None: ...

    def join(self) -> None: ...


class InlineWriter(Writer):
    """The writer, whose thread takes its turns in the event loop."""

    virtual: VirtualTime
    """Set for each simulation."""
    campaigns: Callable[[], dict[int, ActiveCampaign]] = dict
    """Returns the campaigns of the server that lives."""

    def __init__(self, *args: Any, **options: Any) -> None:
        with mock.patch.object(threading, "Thread", _NoThread):
            super().__init__(*args, **options)
        self._turn: asyncio.TimerHandle | None = None
        self._ended = asyncio.Event()

    async def stop(self) -> None:
        self._hand_over()
        self._queue.put(None)
        self._plan()
        await self._ended.wait()

    def _hand_over(self) -> None:
        super()._hand_over()
        self._plan()

    def _plan(self) -> None:
        if self._turn is None and not self._ended.is_set():
            rng = self.virtual.rng
            wait = rng.choice((0.0, 0.0005, 0.003, rng.random() * 0.05))
            self._turn = self._loop.call_later(wait, self._take_turn)

    def _take_turn(self) -> None:
        """Write one group, as the thread would."""
        self._turn = None
        if self._queue.empty():
            return
        jobs, ending = self._take()
        if ending:
            self._ended.set()
        if jobs and self.virtual.rng.random() < 0.4:
            self._go_to_a_close(jobs[0])
        try:
            if jobs:
                self._write(jobs)
        except Exception as error:  # noqa: BLE001  (as the thread does)
            self._ended.set()
            self._call_loop(self._on_fail, error)
        if not self._queue.empty():
            self._plan()

    def _go_to_a_close(self, job: Job) -> None:
        """Go to a moment at which windows close, so that a record shares its microsecond.

        If the record is about a decision whose window is open, that is the close of its window.
        """
        now = moment(self._appender.stamps.now())
        wait = -now % WINDOW_GRID
        draft = job.drafts[0] if job.drafts else None
        active = None if draft is None else self.campaigns().get(draft.campaign)
        if draft is not None and draft.decision and active is not None:
            dues = active.campaign.rules.dues(moment(draft.decision))
            ahead = [due - now for due in dues if 0 <= due - now < SECOND]
            wait = self.virtual.rng.choice(ahead or [wait])
        self.virtual.advance(wait)


class SlowDisk(Disk):
    """A disk whose operations take time, now and then a lot."""

    def __init__(self, path: Path, virtual: VirtualTime) -> None:
        self.virtual = virtual
        self.slow = virtual.rng.choice((0.0, 0.0, 0.01, 0.1))
        """The share of operations that take up to a second."""
        super().__init__(path)

    def step(self, operation: str, path: str) -> None:
        rng = self.virtual.rng
        if rng.random() < self.slow:
            self.virtual.advance(rng.randrange(SECOND))
        super().step(operation, path)


@contextmanager
def simulated(virtual: VirtualTime) -> Iterator[None]:
    """Let servers be simulated."""
    with ExitStack() as patches:
        for owner, name, value in (
            (InlineWriter, "virtual", virtual),
            (InlineWriter, "campaigns", InlineWriter.campaigns),
            (database, "Writer", InlineWriter),
            (tail, "TICK_SECONDS", TICK_SECONDS),
            (maintenance, "TICK_SECONDS", TICK_SECONDS),
            (maintenance, "SAVE_RECORDS", 25),
            (database, "REOPEN_SECONDS", 15.0),
            (watch, "LOOK_SECONDS", 15.0),
        ):
            create = name == "virtual"
            patches.enter_context(mock.patch.object(owner, name, value, create=create))
        yield


class Given(NamedTuple):
    """A receipt, and where the log ended when it was asked for and when it was given."""

    receipt: Body
    before: int
    after: int


class Server:
    """One life of a server, from its start to its end, whichever that is."""

    def __init__(self, path: Path, virtual: VirtualTime, disk: Disk | None = None) -> None:
        self.path = path
        self.virtual = virtual
        self.disk = disk or SlowDisk(path, virtual)
        self.disk.on_cut = self._cut
        self.dead = asyncio.Event()
        self.image: Path | None = None
        """Where the platter's content is put when the power goes."""
        self.loss: Any = "none"
        self.tasks: set[asyncio.Task[None]] = set()
        self.engine: Engine | None = None
        self.receipts: list[Given] = []

    async def start(self) -> None:
        """Open the database and serve."""
        self.engine = await Engine.open(
            self.path,
            vfs=self.disk.name,
            admin_key=KEY,
            compiled=False,
            scrub_seconds=NEVER_SECONDS,
        )
        set_checkpoint(self.engine, self.virtual.rng.choice((10, 40, 1000)))
        runtime = self.engine.runtime
        InlineWriter.campaigns = staticmethod(lambda: runtime.by_number)
        self.app = ShutdownMiddleware(application(self.engine))

    def _cut(self) -> None:
        if self.image is not None:
            self.disk.image(self.image, self.loss, self.virtual.rng)
        self.dead.set()

    async def drained(self) -> None:
        """Wait until no request is under way."""
        while self.tasks:
            await asyncio.wait(set(self.tasks))

    async def stop(self) -> None:
        """End as a server does that is asked to."""
        await self.drained()
        assert self.engine is not None
        await self.engine.close()
        self.disk.unregister()

    async def bury(self) -> None:
        """Let go of what a dead server has left in memory."""
        self.disk.cut()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        if self.engine is not None:
            await abandon(self.engine)
        self.disk.unregister()

    async def ask(self, verb: str, body: Body) -> Any:
        """Send a request, and wait for the answer however long it takes."""
        before = log_of(self).head()
        status, answer = await self._request(*request_of(verb, body))
        if verb in {"patch", "refit"} and status == 202:
            await self._refitted(f"/v1/campaigns/{body['campaign']}")
        if status == 200 and verb in {"batch", *FEEDBACK}:
            after, read = log_of(self).head(), msgspec.json.decode(answer)
            found = read["results"] if verb == "batch" else [read]
            self.receipts += [Given(one, before, after) for one in found]
        return answer_of(verb, body, status, answer)

    async def _request(self, method: str, path: str, media: str, content: bytes) -> Any:
        done = asyncio.get_running_loop().create_future()
        done.add_done_callback(_look_away)
        task = asyncio.create_task(self._answer(method, path, media, content, done))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return await done

    async def _refitted(self, campaign: str) -> None:
        """Wait until a refit is in force: its 202 promised nothing yet."""
        while True:
            status, answer = await self._request("GET", campaign, "application/json", b"")
            if status != 200:
                raise NoAnswer
            if (refit := msgspec.json.decode(answer)["refit"]) is None:
                return
            if refit["status"] == "failed":
                raise Refused(409, refit["detail"])
            await asyncio.sleep(0.002)

    async def _answer(
        self, method: str, path: str, media: str, content: bytes, done: asyncio.Future[Any]
    ) -> None:
        status, parts, received = [0], [], [False]

        async def receive() -> dict[str, Any]:
            if received[0]:
                await asyncio.Event().wait()
            received[0] = True
            return {"type": "http.request", "body": content, "more_body": False}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                status[0] = message["status"]
            else:
                parts.append(message.get("body", b""))

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": b"",
            "headers": [
                (b"authorization", f"Bearer {KEY}".encode()),
                (b"content-type", media.encode()),
                (b"content-length", b"%d" % len(content)),
            ],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8000),
        }
        try:
            await self.app(scope, receive, send)
        except BaseException:
            if not done.done():
                done.set_exception(NoAnswer())
            raise
        finally:
            answered = status[0] and not self.dead.is_set()
            if not done.done():
                if answered:
                    done.set_result((status[0], b"".join(parts)))
                else:
                    done.set_exception(NoAnswer())


class Network:
    """Between clients and whichever server lives now: requests and answers come late, or never."""

    def __init__(self, virtual: VirtualTime) -> None:
        self.virtual = virtual
        self.server: Server | None = None
        self.lost = 0.0
        """The share of requests, and of answers, that are lost."""
        self.requests = self.unanswered = 0
        self.receipts: list[Given] = []
        """Every receipt that was given."""
        self.trace: list[Any] = []

    async def call(self, verb: str, body: Body) -> Any:
        """Ask the server; raise `NoAnswer` where nobody knows what came of it."""
        rng = self.virtual.rng
        self.requests += 1
        try:
            answer = await self._call(verb, body)
        except NoAnswer:
            self.unanswered += 1
            self.trace.append((self.virtual.now, verb, "no answer"))
            raise
        except Refused as refused:
            self.trace.append((self.virtual.now, verb, refused.status))
            raise
        self.trace.append((self.virtual.now, verb, str(answer)))
        await asyncio.sleep(rng.random() * 0.01)
        return answer

    async def _call(self, verb: str, body: Body) -> Any:
        rng, server = self.virtual.rng, self.server
        await asyncio.sleep(rng.random() * 0.01)
        if server is None or server.dead.is_set() or rng.random() < self.lost:
            await asyncio.sleep(1.0)
            raise NoAnswer
        patience = rng.choice((0.02, 2.0, 30.0)) if self.lost else 300.0
        asked = asyncio.create_task(server.ask(verb, body))
        died = asyncio.create_task(server.dead.wait())
        await asyncio.wait([asked, died], timeout=patience, return_when="FIRST_COMPLETED")
        died.cancel()
        if server.dead.is_set() or not asked.done() or rng.random() < self.lost:
            asked.cancel()
            asked.add_done_callback(_look_away)
            raise NoAnswer
        return await asked


def _look_away(task: asyncio.Future[Any]) -> None:
    if not task.cancelled():
        task.exception()


def log_of(server: Server) -> SqliteLog:
    """Return the log of a server that lives."""
    assert server.engine is not None
    log = server.engine.runtime.log
    assert isinstance(log, SqliteLog)
    return log
