"""The fold where several processes write the log: one folds a campaign, the others take it over.

A campaign that another process folds is at a position of its own here. It comes further in two
ways, which lead to the same bytes: a state that is published is taken over, or its records are
folded here as well. They are folded

- when its configuration is changed, which must be in force at once;
- when a report is asked for, which must know all that is in the log;
- when this process is the one that folds it.

A refit is made by the process that was asked for it, which also publishes the result; the others
wait for that, and refit themselves only where nothing comes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from foretell.errors import ForetellError
from foretell.service.engine.runtime import Runtime
from foretell.service.log.errors import StatesDiffer
from foretell.service.log.protocol import SavedState
from foretell.service.log.sharing import FoldSharing
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.events import Configured, Imported, Record
from foretell.service.model.snapshot import next_on_grid, unpack

if TYPE_CHECKING:
    from foretell.service.engine.fold import Fold

logger = logging.getLogger("foretell.service")

RETRY_SECONDS = 1.0
"""Seconds after which a state is published that could not be published before."""


class SharedFold:
    """Which campaigns are folded here, and where the others come from."""

    def __init__(self, runtime: Runtime, fold: Fold, sharing: FoldSharing) -> None:
        """Begin to follow the log: until it is known who folds what, nothing is folded here."""
        self._runtime = runtime
        self._fold = fold
        self._sharing = sharing

    def folded(self) -> Collection[int]:
        """Return the campaigns whose decisions and feedback the tail must bring."""
        return [one.number for one in self._runtime.by_number.values() if one.folding]

    def note_changes(self, active: ActiveCampaign, records: Sequence[Record]) -> None:
        """Take note of records about no decision, of a campaign that another process folds."""
        for record in records:
            if isinstance(record.event, Configured):
                active.wanted = max(active.wanted, record.seq + 1)
            elif isinstance(record.event, Imported):
                active.imports.note(record.event)

    def awaits(self, active: ActiveCampaign, record: Record, event: Configured) -> bool:
        """Return whether the state after a refit is awaited from the process that made it."""
        made = self._runtime.refits.get(active.number)
        own = made is not None and made.last_refit.position == event.refit_from
        if own or self._sharing.alone():
            active.publish_due = not self._sharing.alone()
            active.wanted = max(active.wanted, next_on_grid(record.seq + 1) + 1)
            return False
        if active.awaited == record.seq:  # for long enough
            active.awaited = None
            return False
        active.awaited, active.awaited_since = record.seq, monotonic()
        active.wanted = max(active.wanted, record.seq + 1)
        active.folding = False
        return True

    async def share_out(self, upto: int) -> None:
        """Take over what others have folded, and fold what is wanted here, up to a seq."""
        await self._take_over()
        seat, seats = self._sharing.seat()
        for active in list(self._runtime.by_number.values()):
            active.overlay.seat, active.overlay.seats = seat, seats
            folds = self._sharing.folds(active.number)
            if self._still_awaits(active) or (active.folding and not folds):
                active.folding = False
            elif active.folding:
                self._publish_soon(active)
            elif folds or active.campaign.position < min(active.wanted, upto):
                await self._fold.guarded(active, self._fold.bring_up(active, upto))
                active.folding = folds and active.has_reached(upto)
                if active.folding:
                    logger.info("%s is folded here from now on", active.config.name)

    def _still_awaits(self, active: ActiveCampaign) -> bool:
        """Return whether it is not yet time to refit a campaign here."""
        if active.awaited is None:
            return False
        if active.campaign.position > active.awaited:
            active.awaited = None
            return False
        return monotonic() - active.awaited_since <= self._sharing.lag_seconds

    async def _take_over(self) -> None:
        positions = {
            active.number: active.campaign.position
            for active in self._runtime.by_number.values()
            if not active.folding and active.damage is None
        }
        for number, state in (await self._sharing.newer_states(positions)).items():
            campaign = await asyncio.to_thread(unpack, state.version, state.body)
            active = self._runtime.by_number[number]
            if campaign is not None and campaign.position > active.campaign.position:
                active.take_over(campaign)

    def _publish_soon(self, active: ActiveCampaign) -> None:
        """Let a state be published that others do not know."""
        if monotonic() >= active.publish_after and not self._sharing.alone():
            active.publish_due |= active.progress() != active.published

    async def publish(self, active: ActiveCampaign, state: SavedState) -> None:
        """Let others take over a state; where that fails, they fold by themselves in the end."""
        progress, seconds = active.progress(), RETRY_SECONDS
        try:
            seconds = await self._sharing.publish(active.number, state)
            active.published = progress
        except StatesDiffer:
            active.published = progress
            raise
        except ForetellError as error:
            logger.warning("the state of %s is not published: %s", active.config.name, error)
        finally:
            active.publish_after = monotonic() + seconds
