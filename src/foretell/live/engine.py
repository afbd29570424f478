"""The engine: the life of a server, from opening its log to closing it.

If a line cannot be written, nothing was taken in: until the disk takes lines again every request
is refused, and then the campaigns are read again from what is on disk.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import time
from collections.abc import Coroutine
from time import monotonic

import apsw

from foretell.errors import ForetellError, InvalidInput
from foretell.live import api
from foretell.live.administration import Administration
from foretell.live.campaign import Campaign
from foretell.live.chooser import Chooser
from foretell.live.clock import Clock
from foretell.live.core import SERVER
from foretell.live.events import Created, KeyMade, Refolded, SecretMade
from foretell.live.intake import Intake
from foretell.live.keyring import Keyring, key_event, new_key
from foretell.live.loading import fold, rebuild, whole
from foretell.live.problems import Damaged
from foretell.live.reading import Reading
from foretell.live.running import Running
from foretell.live.snapshot import pack, unpack
from foretell.live.store.copies import put_in_place, verified
from foretell.live.store.lines import Stored
from foretell.live.store.lock import Lock
from foretell.live.store.log import Log
from foretell.live.store.record import NO_ROUND

logger = logging.getLogger("foretell.live")

TICK = 0.05
"""Seconds between two looks at the windows."""
SNAPSHOT_LINES = 10_000
"""Lines after which the campaigns are kept as they are, so that a start reads few lines."""
SNAPSHOT_SECONDS = 60.0
"""Seconds after which they are, if there is any new line."""
LARGE = 100
"""Actions times signals from which on choosing is compiled."""
REOPEN_SECONDS = 0.5
"""Seconds between two tries to write again."""


class Engine(Intake, Administration, Reading):
    """A decision service without its web face. Make one with `await Engine.open(path)`."""

    def __init__(self, path: str, *, relaxed: bool, vfs: str | None, compiled: bool) -> None:
        """Prepare; `open` reads the log."""
        super().__init__()
        self.path = path
        self.relaxed = relaxed
        self.vfs = vfs
        self.compiled = compiled
        self.first_key: str | None = None
        self.damage: list[str] = []
        self.snapshot_head = 0
        self.snapshot_time = monotonic()
        self._lock: Lock | None = None
        self._tasks: list[asyncio.Task[None]] = []

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
        engine._lock = Lock(engine.path)
        try:
            engine._open_log()
            engine._set_clock(time_scale)
            engine._load()
            await engine._first_start(admin_key)
            for live in engine.numbers.values():
                await engine.compile(live)
        except BaseException:
            engine._abandon_log()
            engine._lock.release()
            raise
        engine._tasks = [
            asyncio.create_task(engine._tick_forever()),
            asyncio.create_task(engine._scrub_forever(scrub_seconds)),
        ]
        return engine

    def _open_log(self) -> None:
        self.log = Log(self.path, vfs=self.vfs, relaxed=self.relaxed)
        self.log.committer.on_fail = self._close_log

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
        self.clock = Clock(self.log.last_at, scale or marked or 1.0, self.log.meta("time_origin"))
        if scale is not None and self.log.head == 0:
            self.log.set_meta("time_scale", float(scale))
            self.log.set_meta("time_origin", self.clock.origin)

    async def _first_start(self, admin_key: str | None) -> None:
        if not self.secrets:
            made = SecretMade(self.clock.now(), 0, secrets.token_bytes(32))
            self.server_line(made)
        if not any(isinstance(one.event, KeyMade) for one in self.log.about(SERVER, NO_ROUND)):
            key = admin_key or new_key()
            self.server_line(key_event(self.clock.now(), key, "first", ("admin",)))
            self.first_key = None if admin_key else key
        await self.durable()

    def _load(self) -> None:
        """Bring everything to where the log is."""
        self.keyring, self.secrets = Keyring(), {}
        self.running, self.numbers = {}, {}
        for stored in self.log.about(SERVER, NO_ROUND):
            self.know(stored.event)
        number = 1
        upgraded = []
        while lines := self.log.about(number, NO_ROUND):
            created = lines[0].event
            assert isinstance(created, Created)  # noqa: S101  (a campaign begins so)
            campaign = self._from_snapshot(number)
            if campaign is None:
                upgraded.append(number)
                campaign = whole(rebuild(self.log, number))
            self.register(
                Running(
                    number,
                    campaign,
                    Chooser(created.setup.seed),
                    created.at,
                    lines[-1].seq,
                    self.log.counts(number),
                )
            )
            number += 1
        self.snapshot_head = self.log.meta("snapshot") or 0
        for stored in self.log.scan(self.snapshot_head):
            self._replay(stored)
        for live in self.numbers.values():
            live.look_up()
        for number in upgraded:
            self.refold_now(self.numbers[number], "the policies changed with foretell")

    def _from_snapshot(self, number: int) -> Campaign | None:
        """Give a campaign as its snapshot has it, else built from the log alone.

        None is one whose policy has changed since the snapshot.
        """
        try:
            found = self.log.snapshot(number)
        except Damaged as error:
            self._note_damage(f"{error}; its campaign is built from the log instead")
            found = None
        return whole(rebuild(self.log, number)) if found is None else unpack(found[1])

    def _replay(self, stored: Stored) -> None:
        live = self.numbers.get(stored.campaign)
        if live is None or stored.seq <= live.campaign.seq:
            return
        if isinstance(stored.event, Refolded):
            live.campaign = whole(rebuild(self.log, live.number))
        else:
            fold(live.campaign, stored, self.log)
        live.dirty = True

    async def _tick_forever(self) -> None:
        """Close windows when nothing else happens, and keep snapshots."""
        while True:
            await asyncio.sleep(TICK)
            if self.closed is not None:
                continue
            try:
                now = self.clock.now()
                for live in self.numbers.values():
                    live.campaign.advance(now, live.load)
                lines = self.log.head - self.snapshot_head
                waited = monotonic() - self.snapshot_time
                if lines >= SNAPSHOT_LINES or (lines > 0 and waited > SNAPSHOT_SECONDS):
                    self.keep_snapshots()
            except (ForetellError, apsw.Error) as error:
                self._note_damage(str(error))

    async def compile(self, live: Running) -> None:
        """Let a large campaign be chosen for by compiled code, where numba is installed."""
        setup = live.setup
        if not self.compiled or len(setup.actions) * len(setup.signals) < LARGE:
            return
        try:
            from foretell.sim.compiled import compiled_choices
        except ImportError:
            logger.warning(
                "%s is large, and chooses faster with numba: pip install 'foretell[lab]'",
                setup.name,
            )
            return
        live.chooser.fill = await asyncio.to_thread(compiled_choices, live.campaign.state)

    def later(self, work: Coroutine[None, None, None]) -> None:
        """Do something beside everything else."""
        self._tasks.append(asyncio.create_task(work))

    def keep_snapshots(self) -> None:
        """Keep every campaign that has changed as it is now."""
        for live in self.numbers.values():
            if live.dirty:
                self.log.add_snapshot(live.number, live.campaign.seq, pack(live.campaign))
                live.dirty = False
        self.log.set_meta("snapshot", self.log.head)
        self.snapshot_head = self.log.head
        self.snapshot_time = monotonic()

    async def _scrub_forever(self, seconds: float) -> None:
        """Check everything that is stored, slowly, again and again."""
        while True:
            await asyncio.sleep(seconds)
            try:
                found = await asyncio.to_thread(verified, self.path, lambda: time.sleep(0.002))
                damage = found.damage
            except (ForetellError, apsw.Error) as error:
                damage = [str(error)]
            for sentence in damage:
                self._note_damage(sentence)

    def _note_damage(self, sentence: str) -> None:
        if sentence not in self.damage:
            self.damage.append(sentence)
            logger.error("%s", sentence)

    def _close_log(self, error: Exception) -> None:
        """Refuse everything until lines can be written again."""
        if self.closed is None:
            self.closed = str(error)
            logger.error("the log is closed: %s", error)
            self.later(self._reopen_forever())

    async def _reopen_forever(self) -> None:
        while self.closed is not None:
            await asyncio.sleep(REOPEN_SECONDS)
            self._abandon_log()
            try:
                self._open_log()
                self.log.set_meta("reopened", self.clock.now())
                await self.durable()
                self._load()
            except (ForetellError, apsw.Error, OSError) as error:
                logger.warning("the log is still closed: %s", error)
            else:
                self.closed = None
                logger.warning("the log is open again at line %d", self.log.head)

    def health(self) -> api.Health:
        """Tell whether the log can be written."""
        return api.Health("ok") if self.closed is None else api.Health("closed", self.closed)

    def gauges(self) -> dict[str, float]:
        """Give what operations look at."""
        committer = self.log.committer
        return {
            "log_head": self.log.head,
            "log_closed": float(self.closed is not None),
            "queued_lines": committer.queued,
            "commits": committer.commits,
            "commit_seconds": committer.seconds,
            "snapshot_line": self.snapshot_head,
            "snapshot_age_seconds": monotonic() - self.snapshot_time,
            "campaigns": len(self.numbers),
            "damage": len(self.damage),
        }

    async def restore(self, copy: str) -> api.Restored:
        """Put a checked copy in place of the database, while running."""
        found = await asyncio.to_thread(verified, copy)
        if found.damage:
            raise InvalidInput(f"the copy cannot be used: {found.damage[0]}")
        self.must_write()
        self.closed = "a copy is being restored"
        await self.log.close()
        try:
            put_in_place(copy, self.path)
        finally:
            self._open_log()
            self.clock.last = max(self.clock.last, self.log.last_at)
            self._load()
            self.closed = None
        return api.Restored(self.log.head)

    async def close(self) -> None:
        """Finish what is under way, keep snapshots, and let go of the database."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.closed is None:
            self.closed = "the server is stopping"
            if self.log.head > self.snapshot_head:
                self.keep_snapshots()
            await self.log.close()
        if self._lock is not None:
            self._lock.release()
