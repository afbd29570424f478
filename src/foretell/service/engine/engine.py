"""The engine: the life of a server, from opening its log to closing it.

If a record cannot be written, it was not taken in: every request is refused until the disk takes
records again, and then the campaigns are read again from what is on disk.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import Coroutine
from functools import partial
from math import inf
from time import monotonic
from typing import Self

from foretell import protocol
from foretell.errors import InvalidInput
from foretell.service.engine.admin import Admin
from foretell.service.engine.clock import Clock
from foretell.service.engine.ingest import Ingest
from foretell.service.engine.maintenance import Maintenance
from foretell.service.engine.queries import Queries
from foretell.service.engine.recovery import load_campaigns
from foretell.service.engine.runtime import SERVER, Runtime
from foretell.service.log.record import NO_ROUND
from foretell.service.log.sqlite.backup import read_meta
from foretell.service.log.sqlite.campaign_reader import last_seq
from foretell.service.log.sqlite.lock import Lock
from foretell.service.log.sqlite.log import SqliteLog
from foretell.service.log.sqlite.restore import (
    check_copy,
    remove_staged,
    replace_database,
    stage_copy,
)
from foretell.service.model.events import KeyMade, SecretMade
from foretell.service.model.keys import key_event, new_key

logger = logging.getLogger("foretell.service")

REOPEN_SECONDS = 0.5
"""Seconds between two attempts to open the log again."""
REPEAT_WARNING_SECONDS = 60.0
"""Seconds after which the warning that they fail is repeated."""


class Engine:
    """A decision service without its web face. Make one with `await Engine.open(path)`."""

    def __init__(
        self, runtime: Runtime, lock: Lock, *, relaxed: bool, vfs: str | None, compiled: bool
    ) -> None:
        """Put the parts together; `open` also reads the log."""
        self.runtime = runtime
        self.maintenance = Maintenance(runtime, compiled=compiled)
        self.ingest = Ingest(runtime)
        self.admin = Admin(runtime, self.maintenance)
        self.queries = Queries(runtime)
        self.first_key: str | None = None
        self.tasks: list[asyncio.Task[None]] = []
        self._lock = lock
        self._relaxed = relaxed
        self._vfs = vfs
        self._restoring = asyncio.Lock()
        self._close_when_failing(runtime.log)
        self._bind_methods()

    def _bind_methods(self) -> None:
        """Offer the methods of the parts as the engine's own, without a call in between."""
        self.identify = self.runtime.identify
        self.decide = self.ingest.decide
        self.signal = self.ingest.signal
        self.reward = self.ingest.reward
        self.batch = self.ingest.batch
        self.create = self.admin.create
        self.campaigns = self.admin.campaigns
        self.campaign = self.admin.campaign
        self.patch = self.admin.patch
        self.set_status = self.admin.set_status
        self.add_action = self.admin.add_action
        self.patch_action = self.admin.patch_action
        self.refit = self.admin.refit
        self.erase = self.admin.erase
        self.make_key = self.admin.make_key
        self.revoke_key = self.admin.revoke_key
        self.rotate = self.admin.rotate
        self.keys = self.admin.keys
        self.report = self.queries.report
        self.timeseries = self.queries.timeseries
        self.signals = self.queries.signals
        self.changes = self.queries.changes
        self.delays = self.queries.delays
        self.history = self.queries.history
        self.record_page = self.queries.record_page
        self.export = self.queries.export
        self.backup = self.queries.backup
        self.gauges = self.maintenance.gauges
        self.health = self.maintenance.health

    @classmethod
    async def open(
        cls,
        path: str | os.PathLike[str],
        *,
        durability: str = "full",
        time_scale: float | None = None,
        admin_key: str | None = None,
        vfs: str | None = None,
        compiled: bool = True,
        scrub_seconds: float = 3600.0,
    ) -> Self:
        """Open a database, making it where there is none, and bring every campaign up to date.

        At the first start `first_key` is the key made; `admin_key` sets it instead. `compiled`
        lets large campaigns use numba where it is installed.
        """
        name, relaxed = os.fspath(path), durability == "relaxed"
        if admin_key is not None:
            key_event(0, admin_key, "first", ("admin",))  # refused before anything is made
        lock, log = Lock(name), None
        try:
            log = SqliteLog(name, vfs=vfs, relaxed=relaxed)
            runtime = Runtime(name, log, _clock_of(log, name, time_scale))
            runtime.closed = "the server is starting"
            engine = cls(runtime, lock, relaxed=relaxed, vfs=vfs, compiled=compiled)
            load_campaigns(runtime, engine.maintenance)
            await engine._first_start(admin_key)
            await engine.maintenance.compile_large()
        except BaseException:
            if log is not None:
                log.abandon()
            lock.undo()
            raise
        runtime.closed = None
        engine._start(engine.maintenance.tick_forever())
        engine._start(engine.maintenance.compile_forever())
        engine._start(engine.maintenance.scrub_forever(scrub_seconds))
        return engine

    async def _first_start(self, admin_key: str | None) -> None:
        """Make the first secret and the first key, where there are none."""
        runtime = self.runtime
        key = admin_key or new_key()
        first = key_event(runtime.clock.now(), key, "first", ("admin",))
        if not runtime.secrets:
            made = SecretMade(runtime.clock.now(), 0, secrets.token_bytes(32))
            runtime.append_server_event(made)
        about_server = runtime.log.records_about(SERVER, NO_ROUND)
        if not any(isinstance(record.event, KeyMade) for record in about_server):
            runtime.append_server_event(first)
            self.first_key = None if admin_key else key
        await runtime.durable()

    def _start(self, work: Coroutine[None, None, None]) -> None:
        """Run something in the background until the engine closes."""
        self.tasks.append(asyncio.create_task(work))

    def _open_log(self) -> None:
        runtime = self.runtime
        runtime.log = SqliteLog(runtime.path, vfs=self._vfs, relaxed=self._relaxed)
        self._close_when_failing(runtime.log)
        runtime.clock = _clock_of(runtime.log, runtime.path, None)

    def _close_when_failing(self, log: SqliteLog) -> None:
        log.on_fail = log.committer.on_fail = partial(self._close_log, log)

    def _close_log(self, log: SqliteLog, error: Exception) -> None:
        """Refuse every request until records can be written again."""
        if self.runtime.closed is None and self.runtime.log is log:
            self.runtime.closed = str(error)
            logger.error("the log is closed: %s", error)
            self._start(self._reopen_forever())

    async def _reopen_forever(self) -> None:
        runtime = self.runtime
        warned = -inf
        while runtime.closed is not None:
            await asyncio.sleep(REOPEN_SECONDS)
            await runtime.log.committer.idle()
            runtime.log.abandon()
            try:
                self._open_log()
                runtime.log.set_meta("reopened", runtime.clock.now())
                await runtime.durable()
                load_campaigns(runtime, self.maintenance)
            except Exception as error:  # noqa: BLE001  (whatever it is, it is tried again)
                if monotonic() - warned >= REPEAT_WARNING_SECONDS:
                    warned = monotonic()
                    logger.warning("the log is still closed: %s", error)
            else:
                runtime.closed = None
                logger.warning("the log is open again at record %d", runtime.log.head)

    async def restore(self, copy: str) -> protocol.Restored:
        """Replace the database by a copy while running, once the copy is checked and written."""
        runtime = self.runtime
        async with self._restoring:
            await asyncio.to_thread(check_copy, copy)
            runtime.check_open()
            if read_meta(copy, "time_scale") != runtime.log.meta("time_scale"):
                raise InvalidInput(
                    "the copy and this server run at different speeds of the clock, "
                    "and one is a test: restore it to a database of its own"
                )
            staged = await asyncio.to_thread(stage_copy, copy, runtime.path)
            try:
                runtime.check_open()
                await self._replace_log(staged)
            finally:
                remove_staged(staged)
        runtime.check_open()
        return protocol.Restored(runtime.log.head)

    async def _replace_log(self, staged: str) -> None:
        """Close the log and go on with the staged one; if that fails, with the same as before."""
        runtime = self.runtime
        heads = runtime.log.head, last_seq(staged)
        runtime.closed = "a copy is being restored"
        try:
            await runtime.log.close()
            kept = replace_database(staged, runtime.path)
            logger.warning(
                "restored: the last record was %d and is now %d; the old database is in %s",
                *heads,
                kept,
            )
            self.maintenance.damage.clear()
        finally:
            self._reopen_now()

    def _reopen_now(self) -> None:
        """Read what is on disk; if that fails, try again until it can be read."""
        runtime = self.runtime
        runtime.log.abandon()
        try:
            self._open_log()
            load_campaigns(runtime, self.maintenance)
        except Exception as error:  # noqa: BLE001  (whatever it is, it is tried again)
            runtime.closed = None
            self._close_log(runtime.log, error)
        else:
            runtime.closed = None

    async def close(self) -> None:
        """Finish what is under way, keep snapshots, and close the database."""
        runtime, maintenance = self.runtime, self.maintenance
        maintenance.stopping = True
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        if runtime.closed is None:
            runtime.closed = "the server is stopping"
            if runtime.log.head > maintenance.snapshot_head:
                maintenance.keep_snapshots()
            await runtime.log.close()
        else:
            runtime.log.abandon()
        self._lock.release()


def _clock_of(log: SqliteLog, path: str, scale: float | None) -> Clock:
    """Return the clock of a log, which goes on after its last record at the log's own speed."""
    marked = log.meta("time_scale")
    if scale is not None and marked is None and log.head > 0:
        raise InvalidInput(
            f"{path!r} runs at the speed of the clock: time_scale needs a database of its own"
        )
    if scale is not None and marked is not None and scale != marked:
        raise InvalidInput(
            f"{path!r} runs at {marked:g} times the speed of the clock, got {scale:g}: "
            f"leave time_scale out, or take another database"
        )
    clock = Clock(log.last_at, scale or marked or 1.0, log.meta("time_origin"))
    if scale is not None and log.head == 0:
        log.set_meta("time_scale", float(scale))
        log.set_meta("time_origin", clock.origin)
    return clock
