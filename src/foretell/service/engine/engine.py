"""The engine: the life of a server, from opening its log to closing it."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Coroutine
from contextlib import suppress
from typing import Self

from foretell import protocol
from foretell.errors import ForetellError
from foretell.service.engine.access import Access
from foretell.service.engine.admin import Admin
from foretell.service.engine.decisions import Decisions
from foretell.service.engine.evaluations import Evaluations
from foretell.service.engine.feedback import FeedbackIntake
from foretell.service.engine.fold import Fold
from foretell.service.engine.history_imports import HistoryImports
from foretell.service.engine.maintenance import Maintenance
from foretell.service.engine.measurements import Measurements
from foretell.service.engine.queries import Queries
from foretell.service.engine.recovery import load_campaigns, refit_outdated
from foretell.service.engine.replay import close_windows
from foretell.service.engine.runtime import READING_AGAIN, Runtime
from foretell.service.log.open import open_log
from foretell.service.log.protocol import Log
from foretell.service.model.events import Author, moment
from foretell.service.model.keys import check_key
from foretell.service.model.snapshot import next_on_grid

logger = logging.getLogger("foretell.service")

RESTORING = "a copy is being restored"
RELOAD_SECONDS = 0.5
"""Seconds between two attempts to read a copy that is in place."""
SETTLE_SECONDS = 10.0
"""Seconds that the end of a server waits for the fold at most."""


SHARED_SETTLE_SECONDS = 1.0
"""The same, where others write too: what is not folded here is folded by them."""


class Engine:
    """A decision service without its web face. Make one with `await Engine.open(path)`."""

    def __init__(self, log: Log, *, compiled: bool) -> None:
        """Put the parts together; `open` also reads the log."""
        self.runtime = Runtime(log)
        self.fold = Fold(self.runtime)
        self.measurements = Measurements(self.runtime)
        self.maintenance = Maintenance(
            self.runtime, self.fold, self.measurements, compiled=compiled
        )
        self.fold.on_alarm = self.maintenance.note_damage
        self.decisions = Decisions(self.runtime)
        self.feedback_intake = FeedbackIntake(self.runtime)
        self.admin = Admin(self.runtime, self.fold)
        self.access = Access(self.runtime)
        self.queries = Queries(self.runtime, self.fold)
        self.jobs = Evaluations(self.runtime, self.fold, compiled=compiled)
        self.imports = HistoryImports(self.runtime, self.fold)
        self.first_key: str | None = None
        self.admin_key_taken = False
        """Whether the key that was given has become the first of a new database."""
        self.tasks: list[asyncio.Task[None]] = []
        self._folding: asyncio.Task[None] | None = None
        self._restoring = asyncio.Lock()
        self._bind_methods()

    def _bind_methods(self) -> None:
        """Offer the methods of the parts as the engine's own, without a call in between."""
        self.identify = self.runtime.identify
        self.caller_of = self.runtime.caller_of
        self.campaign_of = self.runtime.campaign_of
        self.decide = self.decisions.decide
        self.feedback = self.feedback_intake.feedback
        self.batch = self.feedback_intake.batch
        self.create = self.admin.create
        self.campaigns = self.admin.campaigns
        self.campaign = self.admin.campaign
        self.patch = self.admin.patch
        self.set_status = self.admin.set_status
        self.add_action = self.admin.add_action
        self.patch_action = self.admin.patch_action
        self.refit = self.admin.refit
        self.erase = self.admin.erase
        self.import_history = self.imports.import_history
        self.make_key = self.access.make_key
        self.revoke_key = self.access.revoke_key
        self.rotate = self.access.rotate
        self.retire_secret = self.access.retire_secret
        self.secrets = self.access.secrets
        self.keys = self.access.keys
        self.open_session = self.access.open_session
        self.session_caller = self.access.session_caller
        self.close_session = self.access.close_session
        self.report = self.queries.report
        self.all_reports = self.queries.all_reports
        self.validity = self.queries.validity
        self.timeseries = self.queries.timeseries
        self.signals = self.queries.signals
        self.changes = self.queries.changes
        self.delays = self.queries.delays
        self.history = self.queries.history
        self.record_page = self.queries.record_page
        self.latest_decisions = self.queries.latest_decisions
        self.latest_changes = self.queries.latest_changes
        self.server_page = self.queries.server_page
        self.export = self.queries.export
        self.backup = self.queries.backup
        self.evaluate = self.jobs.evaluate
        self.evaluation = self.jobs.evaluation
        self.evaluations = self.jobs.evaluations
        self.scratch_folder = self.runtime.log.scratch_folder
        self.copy_kind = self.runtime.log.copy_kind
        self.gauges = self.maintenance.gauges
        self.health = self.maintenance.health
        self.campaign_numbers = self.measurements.campaigns

    def unread_feedback(self) -> int:
        """Return how many events were rejected that name no decision of this service."""
        return self.feedback_intake.unread

    @property
    def time_scale(self) -> float:
        """How many times as fast as the machine's clock log time runs: 1, but in a test."""
        return self.runtime.log.time_scale

    @classmethod
    async def open(
        cls,
        location: str | os.PathLike[str] | Log,
        *,
        durability: str = "full",
        time_scale: float | None = None,
        admin_key: str | None = None,
        vfs: str | None = None,
        compiled: bool = True,
        scrub_seconds: float = 3600.0,
    ) -> Self:
        """Open a log, making it where there is none, and bring every campaign up to date.

        At the first start `first_key` is the key made; `admin_key` sets it instead. `compiled`
        lets large campaigns use numba where it is installed.
        """
        if admin_key is not None:
            check_key(admin_key)  # refused before anything is made
        if isinstance(location, (str, os.PathLike)):
            name = os.fspath(location)
            log = await open_log(name, durability=durability, time_scale=time_scale, vfs=vfs)
        else:
            log = location
        engine = cls(log, compiled=compiled)
        try:
            engine.runtime.stopped = "the server is starting"
            await load_campaigns(engine.runtime, engine.fold, engine.maintenance)
            engine._follow()
            first = await engine.access.first_start(admin_key)
            if log.sharing is not None:  # another that starts too may have made the first key
                await engine.fold.reached(log.now(), SETTLE_SECONDS)
            engine.first_key = None if admin_key else first
            engine.admin_key_taken = bool(admin_key) and first is not None
            await refit_outdated(engine.runtime, engine.fold)
            await engine.maintenance.compile_large()
        except BaseException:
            await engine._stop_folding()
            await log.close()
            raise
        engine.runtime.stopped = None
        engine.imports.resume()
        engine._start(engine.maintenance.tick_forever())
        engine._start(engine.maintenance.compile_forever())
        engine._start(engine.measurements.measure_forever())
        engine._start(engine.maintenance.scrub_forever(scrub_seconds))
        engine._start(engine.maintenance.rebuild_forever())
        return engine

    def _start(self, work: Coroutine[None, None, None]) -> None:
        """Run something in the background until the engine closes."""
        self.tasks.append(asyncio.create_task(work))

    def _follow(self) -> None:
        self._folding = asyncio.create_task(self._fold_until_replaced())

    async def _fold_until_replaced(self) -> None:
        """Fold; once the log holds other records than those that were read, read it again."""
        await self.fold.run_until_replaced()
        if not self._restoring.locked():  # whoever restores a copy also reads it
            self.runtime.stopped = READING_AGAIN
            self._start(self._reload_when_open())

    async def settled(self) -> None:
        """Wait until all that is in the log is folded, and every window closed that is due."""
        await self.fold.reached(self.runtime.log.now(), SETTLE_SECONDS)

    async def restore(self, copy: str, by: Author | None = None) -> protocol.Restored:
        """Replace the log by a copy while running, once the copy is checked and written.

        The log itself keeps no record of it, so that it stays the same as the copy: who asked for
        it, and which keys are valid again, is logged.
        """
        runtime = self.runtime
        async with self._restoring:
            runtime.check_open()
            before, keys = runtime.log.restores, {one.id for one in self.keys()}
            try:
                await runtime.log.restore(copy)
                await self._reload()
            except BaseException:
                if runtime.log.restores != before:  # the copy is in place: nothing else is true
                    runtime.stopped = RESTORING
                    self._start(self._reload_when_open())
                raise
        runtime.check_open()
        revived = [f"{one.name} ({one.id})" for one in self.keys() if one.id not in keys]
        logger.warning(
            "a copy was restored by %s; keys that are valid again: %s",
            "a command" if by is None else f"the key {by.name} ({by.id})",
            ", ".join(revived) or "none",
        )
        return protocol.Restored(str(runtime.log.head()))

    async def _reload(self) -> None:
        """Read everything again from the log, and refuse requests meanwhile."""
        self.runtime.stopped = self.runtime.stopped or RESTORING
        await self.imports.stop()
        await self.admin.stop()
        await self._stop_folding()
        self.maintenance.damage.clear()
        await load_campaigns(self.runtime, self.fold, self.maintenance)
        self._follow()
        self.runtime.stopped = None
        self.imports.resume()

    async def _reload_when_open(self) -> None:
        """Read everything again, once the log can be read; until then requests are refused."""
        while self.runtime.stopped is not None:
            await asyncio.sleep(RELOAD_SECONDS)
            if self.runtime.log.closed is None:
                try:
                    await self._reload()
                except ForetellError as error:
                    logger.warning("the log cannot be read again yet: %s", error)

    async def close(self) -> None:
        """Finish what is under way, save states, and close the log."""
        runtime, maintenance = self.runtime, self.maintenance
        maintenance.stopping = True
        await self.jobs.stop()
        await self.imports.stop()
        await self.admin.stop()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        if runtime.closed is None:
            await maintenance.write_counts()
            runtime.keyring.note_uses(moment(runtime.log.head()))
            await runtime.write_uses()
            await self._settle_and_save()
        else:
            await self._stop_folding()
        await runtime.log.close()

    async def _stop_folding(self) -> None:
        if self._folding is not None:
            self._folding.cancel()
            await asyncio.gather(self._folding, return_exceptions=True)

    async def _settle_and_save(self) -> None:
        """Take in nothing more, fold all that is in the log, and save the states after it.

        A record that is not folded must not be below the position of a saved state.
        """
        log, folded = self.runtime.log, False
        self.runtime.stopped = "the server is stopping"
        with suppress(ForetellError):
            await log.append([])  # returns when all that is under way is durable
            if log.sharing is not None:
                await self._save_when_reached()
            else:
                folded = await self.fold.reached(log.now(), SETTLE_SECONDS)
        await self._stop_folding()
        if folded:
            await self._save_states(next_on_grid(log.now()))

    async def _save_when_reached(self) -> None:
        """Let the fold save every state where it comes by: others may write up to there."""
        for active in self.runtime.by_number.values():
            active.save_due |= active.unsaved > 0
        await self.fold.reached(next_on_grid(self.runtime.log.now()) + 1, SHARED_SETTLE_SECONDS)

    async def _save_states(self, position: int) -> None:
        """Save the state of every campaign that has new records, at the end of the log."""
        for active in self.runtime.by_number.values():
            if active.unsaved and active.damage is None and not active.refitting:
                try:
                    await close_windows(active.campaign, active.number, position, self.runtime.log)
                    await self.fold.save_now(active)
                except ForetellError as error:
                    logger.warning("%s was not saved: %s", active.config.name, error)
