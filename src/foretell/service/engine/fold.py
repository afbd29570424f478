"""The fold: records of the tail become part of their campaigns' states, in the order of the log.

It runs beside the requests: an answer waits for its record to be durable, not for its fold. What a
record changes is a function of the log alone, so that every process that folds it comes to the
same state. Where several processes write the log, `shared_fold` says which of them folds what.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from functools import partial
from math import inf
from time import perf_counter

from foretell.errors import ForetellError
from foretell.service.engine.replay import (
    catch_up,
    close_windows,
    fold,
    fold_at_hand,
    prefetch,
    refit_from_log,
)
from foretell.service.engine.runtime import Runtime
from foretell.service.engine.shared_fold import SharedFold
from foretell.service.engine.turns import (
    LONG_TURN_SECONDS,
    TurnsBetweenRequests,
    in_thread_if_large,
)
from foretell.service.engine.waiting import archived_among
from foretell.service.log.errors import Damaged, LogClosed, StatesDiffer
from foretell.service.log.protocol import SavedState, Tail
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.campaign import Campaign
from foretell.service.model.events import SERVER, Configured, Feedback, Record
from foretell.service.model.snapshot import next_on_grid, pack, state_version

logger = logging.getLogger("foretell.service")

BUSY_SECONDS = 0.001
"""Where others take longer than this for their turn, requests are waiting."""
REST_FACTOR = 3
"""The fold then rests for so many times the time of its own turn."""
BEHIND_SECONDS = 0.5
"""A fold that has not come to the end of what it read after so long is behind: no more rests."""
RECORDS_PER_READ = 32
"""Records whose decisions are read in one go."""
RECORDS_PER_STEP = 512
"""Records of one campaign that are read at a time."""
RETRY_SECONDS = 0.2
"""Seconds after which the log is read again, if it could not be read."""
REPORT_SECONDS = 1.0
"""Seconds that a report waits for the fold at most."""


class Fold:
    """The one reader of the tail, which changes the states of the campaigns."""

    def __init__(self, runtime: Runtime) -> None:
        """Fold into the runtime's campaigns."""
        self.runtime = runtime
        self.position = 0
        """Every record below this seq is folded; of campaigns that others fold, every change."""
        self.on_alarm: Callable[[str], None] = logger.error
        """Called with a sentence when two processes come to different states."""
        self._moved = asyncio.Event()
        self._began = self._turn = perf_counter()
        self._shared: SharedFold | None = None

    async def run_until_replaced(self) -> None:
        """Follow the log until it was replaced; where it cannot be read, try again."""
        while not self.runtime.replaced:
            try:
                await self.follow()
            except LogClosed:
                if not self.runtime.replaced:
                    await asyncio.sleep(RETRY_SECONDS)
            except Exception:
                logger.exception("the log could not be followed, and is followed again")
                await asyncio.sleep(RETRY_SECONDS)

    async def follow(self, until: int | None = None) -> None:
        """Follow the log, up to a seq or for ever."""
        async for tail in self._tail():
            self._check_same_log(self.runtime.restores)
            await self._take(tail)
            if until is not None and self.position >= until:
                return

    def _check_same_log(self, restores: int) -> None:
        """Refuse to go on with what was read from a log that another has replaced since."""
        if self.runtime.log.restores != restores:
            raise LogClosed("the log was replaced while it was read: read it again")

    def _tail(self) -> AsyncIterator[Tail]:
        log = self.runtime.log
        if log.sharing is None:
            return log.tail(self.position - 1)
        self._shared = SharedFold(self.runtime, self, log.sharing)
        return log.sharing.tail(self.position - 1, self._shared.folded)

    async def reached(
        self, seq: int, seconds: float | None = None, active: ActiveCampaign | None = None
    ) -> bool:
        """Wait until every record below a seq is folded, at most so many seconds.

        Of a campaign that another process folds only changes count, unless it is named. Raises
        `LogClosed` when the log closes meanwhile: nothing is folded until it opens again. So does
        a log that is replaced: its campaigns are others then.
        """
        restores = self.runtime.restores
        deadline = inf if seconds is None else perf_counter() + seconds
        if active is not None:
            active.wanted = max(active.wanted, seq)
        while self.position < seq or (active is not None and not active.has_reached(seq)):
            self._check_same_log(restores)
            left = deadline - perf_counter()
            if left <= 0:
                return False
            closed = self.runtime.log.closed
            if closed is not None:
                raise LogClosed(f"the log cannot be read ({closed}): look again soon")
            self._moved.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left, RETRY_SECONDS)):
                    await self._moved.wait()
        return True

    async def _take(self, tail: Tail) -> None:
        self._began = self._turn = perf_counter()
        for active in list(self.runtime.by_number.values()):
            if active.rebuilt is not None:
                await self._go_on(active, active.rebuilt)
        by_campaign: dict[int, list[Record]] = {}
        for record in tail.records:
            by_campaign.setdefault(record.campaign, []).append(record)
        for number, records in by_campaign.items():
            if number == SERVER:
                for record in records:
                    self.runtime.apply_server_event(record)
            else:
                await self._take_for_campaign(number, records)
        if self._shared is not None:
            await self._shared.share_out(tail.upto)
        for active in list(self.runtime.by_number.values()):
            await self._end_item(active, tail.upto)
        self._check_same_log(self.runtime.restores)
        awaited = (one.awaited for one in self.runtime.by_number.values())
        self.position = min([tail.upto, *(seq for seq in awaited if seq is not None)])
        self.runtime.folded = self.position
        self.runtime.log.note_seen(self.position)
        self._moved.set()

    async def _take_for_campaign(self, number: int, records: list[Record]) -> None:
        """Fold what is new of one campaign; campaigns know nothing of each other."""
        active = self.runtime.by_number.get(number)
        if active is None:
            active = await self._create(records[0])
            records = records[1:]
        new = [record for record in records if record.seq >= active.campaign.position]
        if active.folding:
            await self.guarded(active, self._fold_all(active, new))
        elif new and self._shared is not None:
            self._shared.note_changes(active, new)

    async def _create(self, record: Record) -> ActiveCampaign:
        event = record.event
        if not isinstance(event, Configured):  # that is the first record of every campaign
            raise Damaged("the first configuration of campaign", record.campaign)
        size = len(event.config.actions) * len(event.config.signals)
        active = await in_thread_if_large(size, _created, record, event)
        active.folding = self.runtime.log.sharing is None
        self.runtime.register(active)
        return active

    async def bring_up(self, active: ActiveCampaign, upto: int) -> None:
        """Fold the records of a campaign that the tail has left out, up to a seq."""
        log, number = self.runtime.log, active.number
        found, after = RECORDS_PER_STEP, active.campaign.position - 1
        while found == RECORDS_PER_STEP and active.damage is None:
            if log.sharing is None:
                records = await log.records(after, upto, RECORDS_PER_STEP, number)
            else:
                records = await log.sharing.records_of(number, after, upto, RECORDS_PER_STEP)
            await self._fold_all(active, records)
            found = len(records)
            after = records[-1].seq if records else after
            if active.awaited is not None:
                return
        await self._close(active, upto)

    async def _go_on(self, active: ActiveCampaign, rebuilt: Campaign) -> None:
        """Go on with a campaign that had stopped, and was built again from the log."""
        stopped, active.damage, active.rebuilt = active.damage, None, None
        active.take_over(rebuilt)
        await self.guarded(active, self.bring_up(active, self.position))
        active.folding = self.runtime.log.sharing is None
        if active.damage is None:
            logger.warning("%s goes on, built again from the log: %s", active.config.name, stopped)

    async def guarded(self, active: ActiveCampaign, work: Coroutine[None, None, None]) -> None:
        """Fold for a campaign; if what it needs is damaged, this campaign alone stops."""
        try:
            async with active.state_lock:
                await work
        except LogClosed:
            raise
        except ForetellError as error:
            active.damage = error
            logger.error("%s stops: %s", active.config.name, error)  # noqa: TRY400  (one line)
        except Exception as error:
            active.damage = ForetellError(f"the campaign cannot be folded ({error!r})")
            logger.exception("%s stops", active.config.name)

    async def _fold_all(self, active: ActiveCampaign, records: list[Record]) -> None:
        if active.damage is not None:
            return
        if active.config.status == "stopped":  # what is archived is told to no model
            about = {record.decision for record in records if isinstance(record.event, Feedback)}
            archived = await archived_among(about, self.runtime.log)
            records = [record for record in records if record.decision not in archived]
        for first in range(0, len(records), RECORDS_PER_READ):
            coming = records[first : first + RECORDS_PER_READ]
            saves = active.save_due or active.publish_due
            if not saves and active.campaign.apply_early(coming):
                active.count_folded(len(coming))
                await self._end_long_turn()
            elif not await self._fold_each(active, coming):
                return
        active.campaign.tell()

    async def _fold_each(self, active: ActiveCampaign, records: list[Record]) -> bool:
        """Fold records one by one; return whether to go on: not while a refit is awaited."""
        await prefetch(active.campaign, records, self.runtime.log)
        for record in records:
            if active.save_due or active.publish_due:
                await self._save(active, record.seq)
            event = record.event
            if isinstance(event, Configured) and event.refit_from is not None:
                if self._shared is not None and self._shared.awaits(active, record, event):
                    return False
                active.campaign.tell()
                await self._replace(active, record, event)
            else:
                if not fold_at_hand(active.campaign, record):
                    await fold(active.campaign, record, self.runtime.log)
                active.folded(event)
            active.count_folded(1)
            if perf_counter() - self._turn > LONG_TURN_SECONDS:
                active.campaign.tell()
                await self._end_long_turn()
        active.campaign.tell()
        return True

    async def _end_long_turn(self) -> None:
        """Let others go on after a long turn; leave them most of the time if requests are waiting.

        What is durable is answered, and a fold that lags a little catches up when there is less to
        do; one that is behind takes its turn, so that no load keeps it from what it must learn.
        """
        ended = perf_counter()
        if ended - self._turn <= LONG_TURN_SECONDS:
            return
        await asyncio.sleep(0)
        if perf_counter() - ended > BUSY_SECONDS and ended - self._began < BEHIND_SECONDS:
            await asyncio.sleep(REST_FACTOR * (ended - self._turn))
        self._turn = perf_counter()

    async def _end_item(self, active: ActiveCampaign, upto: int) -> None:
        """Close the windows that are due, and ready a campaign for its next decision."""
        if active.folding:
            await self.guarded(active, self._close(active, upto))
        try:
            renewed = active.decider.renew(active.overlay, partial(secrets.randbits, 64))
        except Exception:  # whoever asks for a decision is told; nobody else waits for this table
            logger.exception("no table can be made for %s", active.config.name)
        else:
            if renewed:
                await self._end_long_turn()

    async def _close(self, active: ActiveCampaign, upto: int) -> None:
        if active.damage is None:
            campaign, closed = active.campaign, sum(active.campaign.cursors)
            if active.save_due or active.publish_due:
                await self._save(active, upto)
            if not campaign.close_windows(upto):
                await close_windows(campaign, active.number, upto, self.runtime.log)
            campaign.tell()
            if sum(campaign.cursors) != closed:
                active.overlay.changed()

    async def _replace(self, active: ActiveCampaign, record: Record, event: Configured) -> None:
        """Put a refit in place of the state: as of its position, and the records since."""
        log, number = self.runtime.log, active.number
        assert event.refit_from is not None  # noqa: S101  (that is what makes it a refit)
        campaign = self.runtime.refits.pop(number, None)
        if campaign is None or campaign.last_refit.position != event.refit_from:
            campaign = await refit_from_log(
                log, number, event.config, event.refit_from, turns=TurnsBetweenRequests()
            )
        await catch_up(campaign, number, record.seq, log)
        await asyncio.sleep(0)  # what follows gets a turn of its own
        campaign.apply(record)
        replaced = active.campaign
        active.replace(campaign)
        logger.info("%s was refit: %s", event.config.name, event.why)
        while replaced.cache.forget(RECORDS_PER_STEP):  # noqa: ASYNC110  (all at once takes long)
            await asyncio.sleep(0)

    async def _save(self, active: ActiveCampaign, before: int) -> None:
        """Save a campaign's state at the next moment at which states are saved, once it is due."""
        campaign = active.campaign
        grid = next_on_grid(campaign.position)
        if grid > before or not campaign.whole:  # windows may be closed that are due after it
            return
        await close_windows(campaign, active.number, grid, self.runtime.log)
        campaign.tell()
        await self.save_now(active)

    async def save_now(self, active: ActiveCampaign) -> None:
        """Save a campaign's state, which stands where states are saved.

        It becomes bytes in a thread: nobody but the fold changes it, and the fold waits.
        """
        campaign, version = active.campaign, state_version(active.config)
        restores = self.runtime.restores
        state = SavedState(campaign.position, version, await asyncio.to_thread(pack, campaign))
        self._check_same_log(restores)
        publish, active.publish_due = active.publish_due, False
        try:
            if active.save_due or not publish:
                active.save_due, active.saved, active.unsaved = False, campaign.position, 0
                await self.runtime.log.save_state(active.number, state)
            if publish and self._shared is not None:
                await self._shared.publish(active, state)
        except StatesDiffer as error:
            self.on_alarm(str(error))


def _created(record: Record, event: Configured) -> ActiveCampaign:
    """Return the campaign that its first configuration makes."""
    campaign = Campaign(event.config)
    campaign.apply(record)
    return ActiveCampaign(record.campaign, campaign, record.recorded_at)
