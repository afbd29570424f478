"""Warm starts: parts of an earlier log become records, and a refit lets the policy read them.

A part is durable when it is acknowledged. With the last one a refit begins beside the traffic; it
is begun again when the campaign is changed meanwhile, and at the next start of the server.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial

import msgspec
import numpy as np

from foretell import protocol
from foretell.errors import ForetellError
from foretell.protocol.warm_start import MAX_IMPORTED
from foretell.service.engine.fold import Fold
from foretell.service.engine.history_reader import history_rows, part_key
from foretell.service.engine.refit import refit
from foretell.service.engine.runtime import Runtime
from foretell.service.log.errors import LogClosed, said_outside
from foretell.service.log.protocol import Accepted, Draft, Duplicate
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.checks.history_checks import (
    RowRules,
    checked_rows,
    imported_event,
    same_part,
)
from foretell.service.model.config import refuse_stopped
from foretell.service.model.errors import Conflict, TooLarge, Unusable
from foretell.service.model.events import Author, Imported, ImportedHistory
from foretell.service.model.imported_rows import UNTIMED, ImportedRows
from foretell.service.model.imports import ImportProgress
from foretell.types import Bools

logger = logging.getLogger("foretell.service")

RETRY_SECONDS = 0.05
"""Seconds after which it is tried again whether a refit can begin."""


class HistoryImports:
    """The warm starts of a server."""

    def __init__(self, runtime: Runtime, fold: Fold) -> None:
        """Begin with none under way."""
        self.runtime, self.fold = runtime, fold
        self.under_way: dict[tuple[int, str], asyncio.Task[None]] = {}
        """By campaign and id."""

    async def import_history(
        self, name: str, part: protocol.HistoryPart, by: Author | None = None
    ) -> protocol.ImportView:
        """Take in a part of an earlier log; with the last one the policy begins to read it."""
        active = self.runtime.find(name)
        refuse_stopped(active.config)
        event = await self._event(active, part, by)
        if any(one.id == part.id for one in active.config.history):
            await self._refuse_more(active, event)
        else:
            _check_size(active, event)
            await self._write(active, event)
            self.resume()
        return next(one for one in active.imports.views(active.config) if one.id == part.id)

    async def _event(
        self, active: ActiveCampaign, part: protocol.HistoryPart, by: Author | None
    ) -> Imported:
        config = active.config
        present = self.runtime.latest()
        rules = RowRules.of(config.actions, config.signals, config.reward_range, present)
        rows = await asyncio.to_thread(checked_rows, part.rows, rules)
        return imported_event(part, rows, by)

    async def _refuse_more(self, active: ActiveCampaign, event: Imported) -> None:
        """Refuse what a history in force does not hold; what it holds may be sent again."""
        key = part_key(event.id, event.part)
        record = (await self.runtime.log.by_key(active.number, [key])).get(key)
        if record is None or not same_part(record.event, event):
            raise Conflict(
                f"the history {event.id!r} is in force already, without these rows: "
                f"import them under another id",
                field="id",
            )

    async def _write(self, active: ActiveCampaign, event: Imported) -> None:
        number, key = active.number, part_key(event.id, event.part)
        (written,) = await self.runtime.log.append([Draft(number, event, claims=((number, key),))])
        if isinstance(written, Duplicate):
            record = written.earlier
            if not same_part(record.event, event):
                raise Unusable(
                    f"part {event.part} of the history {event.id!r} has come with other rows: "
                    f"send the same ones again, or choose another id",
                    field="part",
                )
        else:
            assert isinstance(written, Accepted)  # noqa: S101  (only decisions are for units)
            record = written.record
        await self.fold.reached(record.seq + 1)

    def resume(self) -> None:
        """Begin to refit every campaign to the histories that are whole, and not in force."""
        for number, active in self.runtime.by_number.items():
            for name in active.imports.waiting(active.config):
                key = number, name
                if key not in self.under_way and not active.config.ended:
                    task = asyncio.create_task(self._put_in_force(active, name))
                    self.under_way[key] = task
                    task.add_done_callback(partial(self._ended, key))

    def _ended(self, key: tuple[int, str], _: asyncio.Task[None]) -> None:
        self.under_way.pop(key, None)

    async def stop(self) -> None:
        """End what is under way; the log knows what is to be done at the next start."""
        tasks = list(self.under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _put_in_force(self, active: ActiveCampaign, name: str) -> None:
        progress = active.imports.by_id[name]
        progress.detail = ""
        try:
            done = False
            while not done:
                done = await self._refit(active, name, progress)
                await asyncio.sleep(0.0 if done else RETRY_SECONDS)
        except ForetellError as error:
            progress.detail = said_outside(error)
            logger.error("%s was not imported: %s", name, error)  # noqa: TRY400  (one line)
        except Exception:
            progress.detail = "the import failed, and the server's log says why: report it"
            logger.exception("%s was not imported", name)

    async def _refit(self, active: ActiveCampaign, name: str, progress: ImportProgress) -> bool:
        """Refit a campaign with one more history; return False to try again."""
        try:
            entry = await self._entry(active, name, progress)
            config = active.config  # from here to the refit nobody else has a turn
            if active.refitting:
                return False
            refuse_stopped(config)
            progress.read = 0
            progress.to_read = active.campaign.imported + active.campaign.decided + entry.decisions

            def advance(count: int) -> None:
                progress.read += count

            config = msgspec.structs.replace(config, history=(*config.history, entry))
            by, why = progress.parts[entry.parts].by, f"imported the history {name!r}"
            return await refit(self.runtime, self.fold, active, config, why, by, advance)
        except LogClosed:
            return False

    async def _entry(
        self, active: ActiveCampaign, name: str, progress: ImportProgress
    ) -> ImportedHistory:
        """Return what the configuration says of a history that is whole."""
        assert progress.ends is not None  # noqa: S101  (it is whole)
        rows = await history_rows(self.runtime.log, active.number, name, progress.ends)
        timed = rows.decided_at[rows.decided_at != UNTIMED]
        paid, actions = ~np.isnan(rows.reward), len(active.config.actions)
        return ImportedHistory(
            id=name,
            parts=progress.ends,
            decisions=rows.action.size,
            rewards=int(paid.sum()),
            first=int(timed.min()) if timed.size else None,
            last=int(timed.max()) if timed.size else None,
            actions=actions,
            observed=_marks(rows, np.ones_like(paid), actions),
            paid=_marks(rows, paid, actions),
        )


def _marks(rows: ImportedRows, counted: Bools, actions: int) -> bytes:
    """Return which actions are in the rows that are counted, as a bit mask."""
    found = np.zeros(actions, np.bool_)
    found[rows.action[counted]] = True
    return np.packbits(found).tobytes()


def _check_size(active: ActiveCampaign, event: Imported) -> None:
    """Refuse a part after the last, a last one before others, and more than a campaign takes."""
    imports = active.imports
    if imports.knows(event.id, event.part):
        return
    known = imports.by_id.get(event.id)
    if known is not None and known.ends is not None and event.part > known.ends:
        raise Unusable(
            f"part must be at most {known.ends}, the last part of the history {event.id!r}, "
            f"got {event.part}: import the rest under another id",
            field="part",
        )
    if known is not None and event.ends and event.part < known.latest:
        raise Unusable(
            f"part {event.part} cannot be the last of the history {event.id!r}, because part "
            f"{known.latest} has come: send it without last, or choose another id",
            field="last",
        )
    total = imports.decisions + event.decisions
    if total > MAX_IMPORTED:
        raise TooLarge(
            f"a campaign takes at most {MAX_IMPORTED:,} decisions from earlier logs, "
            f"got {total:,} with these: import the latest ones alone"
        )
