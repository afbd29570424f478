"""The engine: the life of a server, from opening its log to closing it.

If a record cannot be written, nothing was taken in: until the disk takes records again every
request is refused, and then the campaigns are read again from what is on disk.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from functools import partial
from math import inf
from time import monotonic

from foretell import protocol
from foretell.errors import InvalidInput
from foretell.service.engine.admin import Administration
from foretell.service.engine.clock import Clock
from foretell.service.engine.ingest import Intake
from foretell.service.engine.queries import Reading
from foretell.service.engine.recovery import fold, rebuild, whole
from foretell.service.engine.runtime import SERVER
from foretell.service.log.record import NO_ROUND
from foretell.service.log.sqlite.backup import meta_of
from foretell.service.log.sqlite.campaign_view import last_seq
from foretell.service.log.sqlite.lock import Lock
from foretell.service.log.sqlite.log import Log
from foretell.service.log.sqlite.reader import Record
from foretell.service.log.sqlite.restore import check_copy, discard, made_ready, put_in_place
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.campaign import Campaign
from foretell.service.model.decider import Decider
from foretell.service.model.errors import Damaged
from foretell.service.model.events import Created, KeyMade, Refitted, SecretMade
from foretell.service.model.keys import Keyring, key_event, new_key
from foretell.service.model.snapshot import unpack

logger = logging.getLogger("foretell.service")

REOPEN_SECONDS = 0.5
"""Seconds between two tries to write again."""
SAY_SECONDS = 60.0
"""Seconds after which it is said again that they are in vain."""


class Engine(Intake, Administration, Reading):
    """A decision service without its web face. Make one with `await Engine.open(path)`."""

    def __init__(self, path: str, *, relaxed: bool, vfs: str | None, compiled: bool) -> None:
        """Prepare; `open` reads the log."""
        super().__init__(path)
        self.relaxed = relaxed
        self.vfs = vfs
        self.compiled = compiled
        self.first_key: str | None = None
        self._lock: Lock | None = None
        self._restoring = asyncio.Lock()

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
    ) -> Engine:
        """Open a database, making it where there is none, and bring every campaign up to date.

        At the first start `first_key` is the key made; `admin_key` sets it instead. `compiled`
        lets large campaigns use numba where it is installed.
        """
        engine = cls(os.fspath(path), relaxed=durability == "relaxed", vfs=vfs, compiled=compiled)
        if admin_key is not None:
            key_event(0, admin_key, "first", ("admin",))  # before anything is made
        engine._lock = Lock(engine.path)
        engine.closed = "the server is starting"
        try:
            engine._open_log()
            engine._set_clock(time_scale)
            engine._load()
            await engine._first_start(admin_key)
            for active in filter(engine.to_compile, engine.by_number.values()):
                await engine.compile(active)
        except BaseException:
            engine._abandon_log()
            engine._lock.undo()
            raise
        engine.closed = None
        engine.later(engine.tick_forever())
        engine.later(engine.compile_forever())
        engine.later(engine.scrub_forever(scrub_seconds))
        return engine

    def _open_log(self) -> None:
        self.log = Log(self.path, vfs=self.vfs, relaxed=self.relaxed)
        self.log.on_fail = self.log.committer.on_fail = partial(self._close_log, self.log)

    def _abandon_log(self) -> None:
        if hasattr(self, "log"):
            self.log.abandon()

    def _set_clock(self, scale: float | None) -> None:
        marked = self.log.meta("time_scale")
        if scale is not None and marked is None and self.log.head > 0:
            raise InvalidInput(
                f"{self.path!r} runs at the speed of the clock: "
                f"time_scale needs a database of its own"
            )
        if scale is not None and marked is not None and scale != marked:
            raise InvalidInput(
                f"{self.path!r} runs at {marked:g} times the speed of the clock, got {scale:g}: "
                f"leave time_scale out, or take another database"
            )
        self.clock = Clock(self.log.last_at, scale or marked or 1.0, self.log.meta("time_origin"))
        if scale is not None and self.log.head == 0:
            self.log.set_meta("time_scale", float(scale))
            self.log.set_meta("time_origin", self.clock.origin)

    async def _first_start(self, admin_key: str | None) -> None:
        key = admin_key or new_key()
        first = key_event(self.clock.now(), key, "first", ("admin",))
        if not self.secrets:
            made = SecretMade(self.clock.now(), 0, secrets.token_bytes(32))
            self.append_server_record(made)
        if not any(isinstance(one.event, KeyMade) for one in self.log.about(SERVER, NO_ROUND)):
            self.append_server_record(first)
            self.first_key = None if admin_key else key
        await self.durable()

    def _load(self) -> None:
        """Bring everything to where the log is."""
        self.keyring, self.secrets = Keyring(), {}
        self.by_name, self.by_number = {}, {}
        for record in self.log.about(SERVER, NO_ROUND):
            self.know(record.event)
        try:
            self.snapshot_head, self.snapshots = self.log.kept()
        except Damaged as error:
            self.note_damage(f"{error}; every campaign is built from the log instead")
            self.snapshot_head, self.snapshots = 0, {}
        number = 1
        upgraded = []
        while records := self.log.about(number, NO_ROUND):
            created = records[0].event
            assert isinstance(created, Created)  # noqa: S101  (a campaign begins so)
            campaign = self._from_snapshot(number)
            if campaign is None:
                upgraded.append(number)
                campaign = whole(rebuild(self.log, number))
            self.register(
                ActiveCampaign(
                    number,
                    campaign,
                    Decider(created.config.seed),
                    created.recorded_at,
                    records[-1].seq,
                    self.log.counts(number),
                )
            )
            number += 1
        for record in self.log.scan(self.snapshot_head):
            self._replay(record)
        for active in self.by_number.values():
            active.look_up()
        for number in upgraded:
            self.refit_now(self.by_number[number], "foretell has changed")

    def _from_snapshot(self, number: int) -> Campaign | None:
        """Return a campaign as its snapshot has it, else built from the log alone.

        None is one whose policy has changed since the snapshot.
        """
        if number not in self.snapshots:
            return whole(rebuild(self.log, number))
        try:
            return unpack(self.log.snapshot_at(number, self.snapshots[number]))
        except Damaged as error:
            self.note_damage(f"{error}; its campaign is built from the log instead")
            return whole(rebuild(self.log, number))

    def _replay(self, record: Record) -> None:
        active = self.by_number.get(record.campaign)
        if active is None or record.seq <= active.campaign.seq:
            return
        if isinstance(record.event, Refitted):
            active.campaign = whole(rebuild(self.log, active.number))
        else:
            fold(active.campaign, record, self.log)
        active.dirty = True

    def _close_log(self, log: Log, error: Exception) -> None:
        """Refuse everything until records can be written again."""
        if self.closed is None and self.log is log:
            self.closed = str(error)
            logger.error("the log is closed: %s", error)
            self.later(self._reopen_forever())

    async def _reopen_forever(self) -> None:
        said = -inf
        while self.closed is not None:
            await asyncio.sleep(REOPEN_SECONDS)
            await self.log.committer.idle()
            self._abandon_log()
            try:
                self._open_log()
                self._set_clock(None)
                self.log.set_meta("reopened", self.clock.now())
                await self.durable()
                self._load()
            except Exception as error:  # noqa: BLE001  (whatever it is, it is tried again)
                if monotonic() - said >= SAY_SECONDS:
                    said = monotonic()
                    logger.warning("the log is still closed: %s", error)
            else:
                self.closed = None
                logger.warning("the log is open again at record %d", self.log.head)

    async def restore(self, copy: str) -> protocol.Restored:
        """Put a copy in place of the database, while running, once it is checked and beside it."""
        async with self._restoring:
            await asyncio.to_thread(check_copy, copy)
            self.must_write()
            if meta_of(copy, "time_scale") != self.log.meta("time_scale"):
                raise InvalidInput(
                    "the copy and this server run at different speeds of the clock, "
                    "and one is a test: restore it to a database of its own"
                )
            part = await asyncio.to_thread(made_ready, copy, self.path)
            try:
                self.must_write()
                await self._replace_log(part)
            finally:
                discard(part)
        self.must_write()
        return protocol.Restored(self.log.head)

    async def _replace_log(self, part: str) -> None:
        """Close the log, and go on with another; where nothing can be changed, with the same."""
        heads = self.log.head, last_seq(part)
        self.closed = "a copy is being restored"
        try:
            await self.log.close()
            kept = put_in_place(part, self.path)
            logger.warning(
                "restored: the log stood at record %d, now at record %d; what was there is in %s",
                *heads,
                kept,
            )
            self.damage.clear()
        finally:
            self._go_on()

    def _go_on(self) -> None:
        """Read what is on disk; if that fails, it is tried again until it can be read."""
        self._abandon_log()
        try:
            self._open_log()
            self._set_clock(None)
            self._load()
        except Exception as error:  # noqa: BLE001  (whatever it is, it is tried again)
            self.closed = None
            self._close_log(self.log, error)
        else:
            self.closed = None

    async def close(self) -> None:
        """Finish what is under way, keep snapshots, and let go of the database."""
        self.stopping = True
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        if self.closed is None:
            self.closed = "the server is stopping"
            if self.log.head > self.snapshot_head:
                self.keep_snapshots()
            await self.log.close()
        else:
            self._abandon_log()
        if self._lock is not None:
            self._lock.release()
