"""What a server does beside its requests: windows close, snapshots are kept, the log is checked."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from time import monotonic

import apsw

from foretell import protocol
from foretell.errors import ForetellError
from foretell.policies.draw import share_writer
from foretell.service.engine.runtime import Core
from foretell.service.engine.verify import verify_database
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.snapshot import pack

logger = logging.getLogger("foretell.service")

TICK = 0.05
"""Seconds between two looks at the windows."""
SNAPSHOT_RECORDS = 10_000
"""Records after which the campaigns are kept as they are, so that a start reads few records."""
SNAPSHOT_SECONDS = 60.0
"""Seconds after which they are, if there is any new record."""
LARGE = 100
"""Actions times signals from which on choosing is compiled."""


class _Stopping(Exception):
    """The server stops, and so does what runs beside it."""


class Upkeep(Core):
    """The work that nobody asks for."""

    def __init__(self, path: str) -> None:
        """Look after the database of this name."""
        super().__init__()
        self.path = path
        self.compiled = True
        self.damage: list[str] = []
        self.snapshot_head = 0
        self.snapshots: dict[int, int] = {}
        """The record of the newest snapshot of each campaign."""
        self.snapshot_time = monotonic()
        self.tasks: list[asyncio.Task[None]] = []
        self.stopping = False

    async def tick_forever(self) -> None:
        """Close windows when nothing else happens, and keep snapshots."""
        while True:
            await asyncio.sleep(TICK)
            if self.closed is not None:
                continue
            try:
                now = self.clock.now()
                for active in self.by_number.values():
                    active.campaign.advance(now, active.load)
                records = self.log.head - self.snapshot_head
                if records == 0:
                    self.snapshot_time = monotonic()  # nothing is newer than what is kept
                waited = monotonic() - self.snapshot_time
                if records >= SNAPSHOT_RECORDS or (records > 0 and waited > SNAPSHOT_SECONDS):
                    self.keep_snapshots()
            except (ForetellError, apsw.Error) as error:
                self.note_damage(str(error))

    async def compile_forever(self) -> None:
        """Look for campaigns to compile, beside everything else."""
        while True:
            for active in filter(self.to_compile, list(self.by_number.values())):
                await self.compile(active)
            await asyncio.sleep(TICK)

    def to_compile(self, active: ActiveCampaign) -> bool:
        """Return whether a campaign is to be compiled, and is not yet."""
        large = len(active.config.actions) * len(active.config.signals) >= LARGE
        known = type(active.campaign.state) in active.decider.compiled
        return self.compiled and large and not known

    async def compile(self, active: ActiveCampaign) -> None:
        """Let a campaign be chosen for by compiled code, where numba is installed."""
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

    def later(self, work: Coroutine[None, None, None]) -> None:
        """Do something beside everything else."""
        self.tasks.append(asyncio.create_task(work))

    def keep_snapshots(self) -> None:
        """Keep every campaign that has changed as it is now."""
        for active in self.by_number.values():
            if active.dirty:
                self.log.add_snapshot(active.number, active.campaign.seq, pack(active.campaign))
                self.snapshots[active.number] = active.campaign.seq
                active.dirty = False
        self.log.keep_list(self.log.head, self.snapshots)
        self.snapshot_head = self.log.head
        self.snapshot_time = monotonic()

    async def scrub_forever(self, seconds: float) -> None:
        """Check everything that is stored, slowly, again and again."""
        while True:
            await asyncio.sleep(seconds)
            try:
                found = await asyncio.to_thread(verify_database, self.path, self._breathe)
                damage = found.damage
            except _Stopping:
                return
            except (ForetellError, apsw.Error) as error:
                damage = [str(error)]
            for sentence in damage:
                self.note_damage(sentence)

    def _breathe(self, _: int) -> None:
        """Go slowly in a thread beside the loop, and no further once the server stops."""
        if self.stopping:
            raise _Stopping
        time.sleep(0.005)

    def note_damage(self, sentence: str) -> None:
        """Say once what is damaged, and remember it."""
        if sentence not in self.damage:
            self.damage.append(sentence)
            logger.error("%s", sentence)

    def gauges(self) -> dict[str, float]:
        """Return what operations look at."""
        committer = self.log.committer
        return {
            "log_head": self.log.head,
            "log_closed": float(self.closed is not None),
            "queued_records": committer.queued,
            "commits": committer.commits,
            "commit_seconds": committer.seconds,
            "snapshot_seq": self.snapshot_head,
            "snapshot_age_seconds": monotonic() - self.snapshot_time,
            "campaigns": len(self.by_number),
            "damage": len(self.damage),
        }

    def health(self) -> protocol.Health:
        """Return whether the log can be written."""
        return (
            protocol.Health("ok") if self.closed is None else protocol.Health("closed", self.closed)
        )
