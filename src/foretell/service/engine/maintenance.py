"""Maintenance: windows close, snapshots are kept, choices are compiled, the log is checked."""

from __future__ import annotations

import asyncio
import logging
import time
from time import monotonic

from foretell import protocol
from foretell.errors import ForetellError
from foretell.policies.draw import share_writer
from foretell.service.engine.runtime import Runtime
from foretell.service.engine.verify import verify_database
from foretell.service.log.sqlite.connection import driver_errors_wrapped
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.errors import Damaged
from foretell.service.model.snapshot import pack

logger = logging.getLogger("foretell.service")

TICK_SECONDS = 0.05
"""Seconds between two looks at the windows."""
SNAPSHOT_RECORDS = 10_000
"""Records after which snapshots are kept, so that a start reads few records."""
SNAPSHOT_SECONDS = 60.0
"""Seconds after which snapshots are kept, if there is any new record."""
COMPILED_SIZE = 100
"""Actions times signals from which on choosing is compiled."""
SCRUB_PAUSE_SECONDS = 0.005
"""How long a check of the log sleeps after each step, to leave the machine to requests."""


class _Stopping(Exception):
    """The server stops, and so does the check of the log."""


class Maintenance:
    """Background work, and the numbers that operators watch."""

    def __init__(self, runtime: Runtime, *, compiled: bool) -> None:
        """Maintain a server; `compiled` lets large campaigns use numba where it is installed."""
        self.runtime = runtime
        self.compiled = compiled
        self.damage: list[str] = []
        self.snapshot_head = 0
        self.snapshots: dict[int, int] = {}
        """The record of the newest snapshot of each campaign."""
        self.snapshot_time = monotonic()
        self.stopping = False

    async def tick_forever(self) -> None:
        """Close windows when nothing else happens, and keep snapshots."""
        while True:
            await asyncio.sleep(TICK_SECONDS)
            if self.runtime.closed is not None:
                continue
            try:
                self._tick()
            except ForetellError as error:
                self.note_damage(str(error))

    def _tick(self) -> None:
        now = self.runtime.clock.now()
        for active in self.runtime.by_number.values():
            active.campaign.advance(now, active.load)
        records = self.runtime.log.head - self.snapshot_head
        if records == 0:
            self.snapshot_time = monotonic()  # nothing is newer than the snapshots
        age = monotonic() - self.snapshot_time
        if records >= SNAPSHOT_RECORDS or (records > 0 and age > SNAPSHOT_SECONDS):
            self.keep_snapshots()

    async def compile_forever(self) -> None:
        """Compile campaigns as they become large, while requests are served."""
        while True:
            await self.compile_large()
            await asyncio.sleep(TICK_SECONDS)

    async def compile_large(self) -> None:
        """Compile every large campaign that is not compiled yet."""
        for active in filter(self._needs_compiling, list(self.runtime.by_number.values())):
            await self._compile(active)

    def _needs_compiling(self, active: ActiveCampaign) -> bool:
        large = len(active.config.actions) * len(active.config.signals) >= COMPILED_SIZE
        known = type(active.campaign.state) in active.decider.compiled
        return self.compiled and large and not known

    async def _compile(self, active: ActiveCampaign) -> None:
        """Let compiled code choose for a campaign, where numba is installed."""
        state = active.campaign.state
        try:
            from foretell.sim.compiled import compiled_choices

            active.decider.compiled[type(state)] = await asyncio.to_thread(compiled_choices, state)
        except ImportError:
            self.compiled = False
            logger.warning(
                "%s would choose faster with numba: pip install 'foretell[lab]'", active.config.name
            )
        except Exception:
            active.decider.compiled[type(state)] = share_writer(state)
            logger.exception("%s cannot be compiled, and goes on without", active.config.name)

    def load_snapshot_list(self) -> None:
        """Read which snapshots the log has; without a sound list, none is used."""
        try:
            self.snapshot_head, self.snapshots = self.runtime.log.snapshot_list()
        except Damaged as error:
            self.note_damage(f"{error}; every campaign is built from the log instead")
            self.snapshot_head, self.snapshots = 0, {}

    def keep_snapshots(self) -> None:
        """Keep a snapshot of every campaign that has new records."""
        log = self.runtime.log
        for active in self.runtime.by_number.values():
            if active.dirty:
                log.add_snapshot(active.number, active.campaign.seq, pack(active.campaign))
                self.snapshots[active.number] = active.campaign.seq
                active.dirty = False
        log.set_snapshot_list(log.head, self.snapshots)
        self.snapshot_head = log.head
        self.snapshot_time = monotonic()

    async def scrub_forever(self, seconds: float) -> None:
        """Check everything that is stored, slowly, again and again."""
        while True:
            await asyncio.sleep(seconds)
            try:
                damage = await asyncio.to_thread(self._scrub)
            except _Stopping:
                return
            except ForetellError as error:
                damage = [str(error)]
            for sentence in damage:
                self.note_damage(sentence)

    def _scrub(self) -> list[str]:
        path = self.runtime.path
        with driver_errors_wrapped(path):
            return verify_database(path, self._pause).damage

    def _pause(self, _: int) -> None:
        """Slow a check down in its own thread, and end it when the server stops."""
        if self.stopping:
            raise _Stopping
        time.sleep(SCRUB_PAUSE_SECONDS)

    def note_damage(self, sentence: str) -> None:
        """Log once what is damaged, and remember it."""
        if sentence not in self.damage:
            self.damage.append(sentence)
            logger.error("%s", sentence)

    def gauges(self) -> dict[str, float]:
        """Return the numbers that operators watch."""
        runtime = self.runtime
        committer = runtime.log.committer
        return {
            "log_head": runtime.log.head,
            "log_closed": float(runtime.closed is not None),
            "queued_records": committer.queued,
            "commits": committer.commits,
            "commit_seconds": committer.seconds,
            "snapshot_seq": self.snapshot_head,
            "snapshot_age_seconds": monotonic() - self.snapshot_time,
            "campaigns": len(runtime.by_number),
            "damage": len(self.damage),
        }

    def health(self) -> protocol.Health:
        """Return whether the log can be written."""
        closed = self.runtime.closed
        return protocol.Health("ok") if closed is None else protocol.Health("closed", closed)
