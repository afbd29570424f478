"""Queries: reports, histories, pages of the log, exports, and copies of the log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

from foretell import protocol
from foretell.service.engine.fold import REPORT_SECONDS, Fold
from foretell.service.engine.runtime import Runtime
from foretell.service.log.errors import LogClosed
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.decision_id import UNKNOWN_ID
from foretell.service.model.errors import NotFound
from foretell.service.model.events import SERVER, DecisionRecords, Record
from foretell.service.reports.changes import signal_changes
from foretell.service.reports.delays import delay_report
from foretell.service.reports.history import decision_history, record_view, server_record_view
from foretell.service.reports.series import timeseries
from foretell.service.reports.signals import signal_table
from foretell.service.reports.summary import campaign_report

LATEST_DECISIONS = 5000
"""Decisions from which delays are read."""
DECISIONS_PER_READ = 64
LONG_HISTORY = 200
"""Events about one decision from which on its history is not made in the event loop."""
EXPORT_PAGE = 500
"""Records that an export reads at a time."""


class Queries:
    """Reads that change nothing."""

    def __init__(self, runtime: Runtime, fold: Fold) -> None:
        """Read what the runtime holds, as far as it is folded."""
        self.runtime = runtime
        self.fold = fold

    async def report(self, name: str) -> protocol.CampaignReport:
        """Return the report of a campaign."""
        return campaign_report(await self._current(name))

    async def timeseries(self, name: str) -> protocol.Timeseries:
        """Return a campaign over time."""
        return timeseries(await self._current(name))

    async def signals(self, name: str) -> protocol.SignalTable:
        """Return the signals of a campaign by action."""
        return signal_table(await self._current(name))

    async def changes(self, name: str) -> protocol.SignalChanges:
        """Return the moments at which signals changed."""
        return signal_changes(await self._current(name))

    async def delays(self, name: str) -> protocol.DelayReport:
        """Return how long signals and rewards take to arrive, over the latest decisions."""
        active = await self._current(name)
        campaign, log = active.campaign, self.runtime.log
        after = await log.number_at(active.number, max(0, campaign.decided - LATEST_DECISIONS)) - 1
        decisions: list[DecisionRecords] = []
        while found := await log.decisions_after(active.number, after, DECISIONS_PER_READ):
            decisions += [one for one in found if one.rank < campaign.decided]
            after = found[-1].number
            await asyncio.sleep(0)
        return delay_report(active.config, campaign.rules, decisions, campaign.as_of)

    async def history(self, decision_id: str) -> protocol.DecisionHistory:
        """Return all that is known about one decision."""
        runtime = self.runtime
        runtime.check_open()
        token = runtime.secrets.read(decision_id)
        active = None if token is None else runtime.by_number.get(token.campaign)
        found = []
        if active is not None and active.damage is not None:
            raise active.damage
        if token is not None and active is not None:
            await self._wait()
            found = await runtime.log.decisions(token.campaign, [token.number])
        if active is None or not found:
            raise NotFound(f"there is no decision with this decision_id: {UNKNOWN_ID}")
        if active.damage is not None:
            raise active.damage
        records = found[0]
        policy = await runtime.policy_at(active.number, records.decided.config)
        context = await runtime.log.context(records.number)
        told = (decision_id, active, records, context, policy)
        if len(records.feedback) > LONG_HISTORY:
            return await asyncio.to_thread(decision_history, *told)
        return decision_history(*told)

    async def record_page(self, name: str, after: int = 0, limit: int = 100) -> protocol.RecordPage:
        """Return records of a campaign's log after a record."""
        active, log = self.runtime.find(name), self.runtime.log
        head = log.head()
        records = await log.records(after, head, limit, active.number)
        end = records[-1].seq if len(records) == limit else max(after, head - 1)
        return protocol.RecordPage(await self._views(active, records), str(end))

    async def server_page(self, after: int = 0, limit: int = 100) -> protocol.RecordPage:
        """Return records about the server itself after a record: its keys and secrets."""
        self.runtime.check_open()
        head = self.runtime.log.head()
        found = await self.runtime.log.configurations(SERVER)
        records = [record for record in found if after < record.seq < head][:limit]
        end = records[-1].seq if len(records) == limit else max(after, head - 1)
        return protocol.RecordPage([server_record_view(record) for record in records], str(end))

    async def export(self, name: str) -> AsyncIterator[protocol.RecordView]:
        """Return every record of a campaign's log that is durable now."""
        active, log = self.runtime.find(name), self.runtime.log
        after, end = 0, log.head()
        while records := await log.records(after, end, EXPORT_PAGE, active.number):
            for view in await self._views(active, records):
                yield view
            after = records[-1].seq
            await asyncio.sleep(0)

    async def backup(self, target: str) -> None:
        """Write a consistent copy of the log, while it is used."""
        self.runtime.check_open()
        await self.runtime.log.backup(target)

    async def _views(
        self, active: ActiveCampaign, records: Sequence[Record]
    ) -> list[protocol.RecordView]:
        """Return records with names in place of numbers, each with the id of its decision."""
        numbers = sorted({record.decision for record in records if record.decision})
        decided = await self.runtime.log.decided(active.number, numbers)
        ids = {
            number: self.runtime.decision_id(active.number, number, event)
            for number, event in decided.items()
        }
        return [record_view(active.config, record, ids.get(record.decision)) for record in records]

    async def _current(self, name: str) -> ActiveCampaign:
        """Return a campaign, folded up to this moment if that takes no longer than allowed.

        While the log is closed nothing new comes, and what is in memory needs no disk.
        """
        self.runtime.look_up(name)
        with suppress(LogClosed):
            await self._wait()
        while not (active := self.runtime.look_up(name)).campaign.whole:
            await self.fold.reached(self.fold.position + 1, REPORT_SECONDS)
        return active

    async def _wait(self) -> None:
        await self.fold.reached(self.runtime.log.now(), REPORT_SECONDS)
