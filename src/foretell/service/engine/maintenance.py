"""Maintenance: states are saved, choices compiled, the log checked, stopped campaigns rebuilt."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from time import monotonic
from typing import Any

from foretell import protocol
from foretell.errors import DamagedFile
from foretell.policies.draw import share_writer
from foretell.policies.verbs import draw_values, has, value_verb_of
from foretell.service.engine.fold import Fold
from foretell.service.engine.measurements import Measurements
from foretell.service.engine.replay import rebuild
from foretell.service.engine.runtime import Runtime
from foretell.service.engine.turns import Progress, in_thread
from foretell.service.engine.verify import verify_log
from foretell.service.log.errors import LogClosed
from foretell.service.log.protocol import LogReader
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.campaign import Campaign
from foretell.service.model.events import moment
from foretell.sim.replayer import import_compiled

logger = logging.getLogger("foretell.service")

TICK_SECONDS = 0.05
"""Seconds between two looks at what is to be done."""
SAVE_RECORDS = 10_000
"""Records of a campaign after which its state is saved, so that a start reads few records."""
SAVE_SECONDS = 60.0
"""Seconds after which states are saved, if there is any new record."""
COMPILED_SIZE = 100
"""Actions times signals from which on choosing is compiled."""
SCRUB_PAUSE_SECONDS = 0.005
"""How long a check of the log sleeps after each step, to leave the machine to requests."""
REBUILD_SECONDS, MOST_REBUILD_SECONDS = 5.0, 300.0
"""Seconds after which a campaign that has stopped is built again, and at most."""


class _Stopping(Exception):
    """The server stops, and so does whatever reads the log."""


class Maintenance:
    """Background work, and the numbers that operators watch."""

    def __init__(
        self, runtime: Runtime, fold: Fold, measurements: Measurements, *, compiled: bool
    ) -> None:
        """Maintain a server; `compiled` lets large campaigns use numba where it is installed."""
        self.runtime = runtime
        self.fold = fold
        self.measurements = measurements
        self.compiled = compiled
        self.damage: list[str] = []
        self.stopping = False
        self._saved_at = monotonic()

    async def tick_forever(self) -> None:
        """Let states be saved, and count what leaves no record."""
        while True:
            await asyncio.sleep(TICK_SECONDS)
            if self.runtime.closed is None:
                self.runtime.keyring.note_uses(moment(self.runtime.log.head()))
                if self._let_states_be_saved():
                    await self.runtime.write_uses()
                await self.write_counts()

    def _let_states_be_saved(self) -> bool:
        """Mark the campaigns whose states are to be saved; return whether a minute has passed."""
        due = monotonic() - self._saved_at > SAVE_SECONDS
        for active in self.runtime.by_number.values():
            active.save_due |= active.unsaved >= SAVE_RECORDS or (due and active.unsaved > 0)
        if due:
            self._saved_at = monotonic()
        return due

    async def write_counts(self) -> None:
        """Write down the counts of what leaves no record, as far as they can be written now."""
        for active in list(self.runtime.by_number.values()):
            with suppress(LogClosed):
                await self.runtime.write_counts(active)

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
        state = active.campaign.state
        known = type(state) in active.decider.compiled or has(draw_values, state)
        return self.compiled and large and not known

    async def _compile(self, active: ActiveCampaign) -> None:
        """Let compiled code choose for a campaign, where numba is installed."""
        state = active.campaign.state
        try:
            active.decider.compiled[type(state)] = await asyncio.to_thread(_compiled, state)
        except ImportError:
            self.compiled = False
            logger.warning(
                "%s would choose faster with numba: pip install 'foretell[lab]'", active.config.name
            )
        except Exception:
            plain = value_verb_of(type(state)) or share_writer(state)
            active.decider.compiled[type(state)] = plain
            logger.exception("%s cannot be compiled, and goes on without", active.config.name)

    async def scrub_forever(self, seconds: float) -> None:
        """Check everything that is stored, slowly, again and again."""
        while True:
            await asyncio.sleep(seconds)
            try:
                damage = await asyncio.to_thread(self._scrub)
            except _Stopping:
                return
            except DamagedFile as error:
                damage = [str(error)]
            except Exception as error:  # noqa: BLE001  (whatever it is, no damage was found)
                logger.warning("the log could not be checked, and is checked again: %s", error)
                continue
            for sentence in damage:
                self.note_damage(sentence)

    def _scrub(self) -> list[str]:
        with self.runtime.log.reader() as log:
            return asyncio.run(verify_log(log, self._pause)).damage

    def _pause(self, read: int) -> None:
        """Slow a check down in its own thread, and end it when the server stops."""
        self._end_when_stopping(read)
        time.sleep(SCRUB_PAUSE_SECONDS)

    def _end_when_stopping(self, _: int) -> None:
        if self.stopping:
            raise _Stopping

    async def rebuild_forever(self) -> None:
        """Build campaigns that have stopped again from the log: it may be readable by now.

        That is tried again and again, after a longer time as long as there are any.
        """
        wait = REBUILD_SECONDS
        while True:
            await asyncio.sleep(wait)
            actives = self.runtime.by_number.values()
            stopped = [one for one in actives if one.damage is not None and one.rebuilt is None]
            for active in stopped:
                active.rebuilt = await in_thread(self._rebuilt, active.number)
            wait = min(2 * wait, MOST_REBUILD_SECONDS) if stopped else REBUILD_SECONDS

    def _rebuilt(self, number: int) -> Campaign | None:
        """Return a campaign as the log alone says; None where that cannot be read, either."""
        try:
            with self.runtime.log.reader() as log:
                return asyncio.run(_rebuild_whole(log, number, self._end_when_stopping))
        except Exception:  # noqa: BLE001  (it was logged when the campaign stopped)
            return None

    def note_damage(self, sentence: str) -> None:
        """Log once what is damaged, and remember it."""
        if sentence not in self.damage:
            self.damage.append(sentence)
            logger.error("%s", sentence)

    def gauges(self) -> dict[str, float]:
        """Return the numbers that operators watch; a place in the log is told as its time."""
        runtime = self.runtime
        log, head = runtime.log.gauges(), runtime.log.head()
        unsaved = [
            max(moment(active.saved), active.created_at)
            for active in runtime.by_number.values()
            if active.unsaved
        ]
        return {
            "log_head_seconds": moment(head) / 1e6,
            "log_closed": float(runtime.closed is not None),
            "queued_records": log.queued,
            "commits": log.commits,
            "commit_seconds": log.commit_seconds,
            "clock_ahead_seconds": log.clock_ahead_seconds,
            "tail_lag_seconds": log.tail_lag_seconds,
            "fold_lag_seconds": max(0, moment(head) - moment(self.fold.position)) / 1e6,
            "state_age_seconds": max(0, moment(head) - min(unsaved, default=moment(head))) / 1e6,
            "database_bytes": self.measurements.stored_bytes,
            "deciders": runtime.log.condition().writers,
            "campaigns": len(runtime.by_number),
            "parked_events": sum(
                active.campaign.counters.parked for active in runtime.by_number.values()
            ),
            "damage": len(self.damage)
            + sum(active.damage is not None for active in runtime.by_number.values()),
        }

    def health(self) -> protocol.Health:
        """Return whether the log can be written, and how far the fold has come."""
        closed, gauges = self.runtime.closed, self.gauges()
        condition = self.runtime.log.condition()
        return protocol.Health(
            "ok" if closed is None else "closed",
            closed or "",
            gauges["fold_lag_seconds"],
            gauges["clock_ahead_seconds"],
            condition.writers,
            condition.durability,
        )


async def _rebuild_whole(log: LogReader, number: int, progress: Progress) -> Campaign | None:
    """Build a campaign from the log; None where the log does not hold all of it any more."""
    if any(number in one.campaigns for one in await log.archives()):
        return None
    return await rebuild(log, number, log.head(), progress)


def _compiled(state: Any) -> Any:
    """Return what writes values, or shares, for states like this one, compiled."""
    compiled = import_compiled()
    return compiled.compiled_values(state) or compiled.compiled_choices(state)
