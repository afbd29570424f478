"""Queries: reports, histories, pages of the log, exports, and copies of the log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from foretell import protocol
from foretell.service.engine.fold import REPORT_SECONDS, Fold
from foretell.service.engine.record_pages import (
    latest_changes,
    latest_decisions,
    record_page,
    record_views,
)
from foretell.service.engine.replay import configurations_of
from foretell.service.engine.runtime import Runtime
from foretell.service.engine.turns import in_thread
from foretell.service.log.errors import LogClosed
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.decision_id import UNKNOWN_ID
from foretell.service.model.errors import NotFound
from foretell.service.model.events import SERVER
from foretell.service.model.stretches import SECOND
from foretell.service.reports.campaign_copy import CampaignCopy, StatusChange
from foretell.service.reports.changes import signal_changes
from foretell.service.reports.delays import delay_report
from foretell.service.reports.history import decision_history, server_record_view
from foretell.service.reports.open_decisions import MadeBetween, open_decisions
from foretell.service.reports.periods import EVERYTHING, Asked
from foretell.service.reports.series import timeseries
from foretell.service.reports.signals import signal_table
from foretell.service.reports.summary import campaign_report
from foretell.service.reports.validity import validity_report
from foretell.service.reports.values import current_belief
from foretell.stats.value_now import values_now

LONG_HISTORY = 200
"""Events about one decision from which on its history is not made in the event loop."""
EXPORT_PAGE = 500
"""Records that an export reads at a time."""


@dataclass
class AllReports:
    """Every report on a campaign as it stood at one moment, so that their numbers agree."""

    report: protocol.CampaignReport
    validity: protocol.ValidityReport
    series: protocol.Timeseries
    signals: protocol.SignalTable
    delays: protocol.DelayReport
    changes: protocol.SignalChanges
    made: list[MadeBetween]
    """Its decisions by when they were made, open and settled."""

    @classmethod
    def of(cls, copy: CampaignCopy, asked: Asked) -> AllReports:
        """Make them of one copy; those over time in the periods that were asked for."""
        return cls(
            _report(copy),
            validity_report(copy),
            _timeseries(copy, asked),
            _signal_table(copy, asked),
            _delay_report(copy),
            signal_changes(copy),
            open_decisions(copy),
        )


class Queries:
    """Reads that change nothing."""

    def __init__(self, runtime: Runtime, fold: Fold) -> None:
        """Read what the runtime holds, as far as it is folded."""
        self.runtime = runtime
        self.fold = fold

    async def report(self, name: str) -> protocol.CampaignReport:
        """Return the report of a campaign."""
        return await in_thread(_report, await self._copy(name))

    async def all_reports(self, name: str, periods: int) -> AllReports:
        """Return all reports of a campaign as of one moment; its life in about so many periods."""
        copy = await self._copy(name)
        lived = copy.as_of - self.runtime.look_up(name).created_at
        asked = Asked(width=max(SECOND, round(lived / SECOND / periods) * SECOND))
        return await in_thread(AllReports.of, copy, asked)

    async def _copy(self, name: str) -> CampaignCopy:
        """Return a campaign as it stands now, with what only the log knows about it."""
        active = await self._current(name)
        if self.runtime.log.sharing is not None:
            with suppress(LogClosed):
                await self.runtime.read_counts(active)
        copy = CampaignCopy.of(active)
        if copy.config.status == "paused" or copy.config.ended:
            with suppress(LogClosed):
                copy.status_change = await self._status_change(active.number)
        return copy

    async def _status_change(self, number: int) -> StatusChange | None:
        """Return when the status of a campaign became what it is, and by whom."""
        found, status = None, ""
        for record, event in await configurations_of(self.runtime.log, number):
            if event.config.status != status:
                status = event.config.status
                found = StatusChange(record.recorded_at, event.by)
        return found

    async def validity(self, name: str) -> protocol.ValidityReport:
        """Return whether the signal of a campaign can be trusted."""
        copy = CampaignCopy.of(await self._current(name))
        return await in_thread(validity_report, copy)

    async def timeseries(self, name: str, asked: Asked = EVERYTHING) -> protocol.Timeseries:
        """Return a campaign over time."""
        copy = CampaignCopy.of(await self._current(name))
        return await in_thread(_timeseries, copy, asked)

    async def signals(self, name: str, asked: Asked = EVERYTHING) -> protocol.SignalTable:
        """Return the signals of a campaign by action and period."""
        copy = CampaignCopy.of(await self._current(name))
        return await in_thread(_signal_table, copy, asked)

    async def delays(self, name: str) -> protocol.DelayReport:
        """Return how long signals and rewards take to arrive, and what the windows miss."""
        copy = CampaignCopy.of(await self._current(name))
        return await in_thread(_delay_report, copy)

    async def changes(self, name: str) -> protocol.SignalChanges:
        """Return the moments at which signals changed."""
        copy = CampaignCopy.of(await self._current(name))
        return await in_thread(signal_changes, copy)

    async def history(self, decision_id: str, own: str | None = None) -> protocol.DecisionHistory:
        """Return all that is known about one decision; of the campaign `own`, if any."""
        runtime = self.runtime
        runtime.check_open()
        token = runtime.secrets.read(decision_id)
        if token is None and await runtime.learn_secrets(runtime.secrets.changes):
            token = runtime.secrets.read(decision_id)
        active = None if token is None else runtime.by_number.get(token.campaign)
        found = []
        if active is not None:
            runtime.refuse_other(active, own)
        if active is not None and active.damage is not None:
            raise active.damage
        if token is not None and active is not None:
            await self._wait(active)
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
            return await in_thread(decision_history, *told)
        return decision_history(*told)

    async def record_page(
        self,
        name: str,
        after: int = 0,
        limit: int = 100,
        kind: protocol.RecordType | None = None,
    ) -> protocol.RecordPage:
        """Return records of a campaign's log after a record, all or those of one type."""
        active = self.runtime.find(name)
        await self._wait_for_others()
        return await record_page(self.runtime, active, after, limit, kind)

    async def latest_decisions(self, name: str, count: int) -> list[protocol.RecordView]:
        """Return the last decisions that were folded, the newest first."""
        return await latest_decisions(self.runtime, self.runtime.find(name), count)

    async def latest_changes(self, name: str, count: int) -> list[protocol.RecordView]:
        """Return the last changes of a campaign's configuration, the newest first."""
        active = self.runtime.find(name)
        await self._wait_for_others()
        return await latest_changes(self.runtime, active, count)

    async def server_page(self, after: int = 0, limit: int = 100) -> protocol.RecordPage:
        """Return records about the server itself after a record: its keys and secrets."""
        self.runtime.check_open()
        await self._wait_for_others()
        head = self.runtime.log.head()
        found = await self.runtime.log.configurations(SERVER)
        records = [record for record in found if after < record.seq < head][:limit]
        end = records[-1].seq if len(records) == limit else max(after, head - 1)
        return protocol.RecordPage([server_record_view(record) for record in records], str(end))

    async def export(self, name: str) -> AsyncIterator[protocol.RecordView]:
        """Return every record of a campaign's log that is durable now."""
        active, log = self.runtime.find(name), self.runtime.log
        await self._wait_for_others()
        after, end = 0, log.head()
        while records := await log.records(after, end, EXPORT_PAGE, active.number):
            for view in await record_views(self.runtime, active, records):
                yield view
            after = records[-1].seq
            await asyncio.sleep(0)

    async def backup(self, target: str) -> None:
        """Write a consistent copy of the log, while it is used."""
        self.runtime.check_open()
        await self.runtime.log.backup(target)

    async def _current(self, name: str) -> ActiveCampaign:
        """Return a campaign, folded up to this moment if that takes no longer than allowed.

        While the log is closed nothing new comes, and what is in memory needs no disk.
        """
        active = self.runtime.look_up(name)
        with suppress(LogClosed):
            await self._wait(active)
        while not (active := self.runtime.look_up(name)).campaign.whole:
            await self.fold.reached(self.fold.position + 1, REPORT_SECONDS)
        return active

    async def _wait_for_others(self) -> None:
        """Let the head come above what was just written, where several processes write."""
        if self.runtime.log.sharing is not None:
            await self._wait()

    async def _wait(self, active: ActiveCampaign | None = None) -> None:
        log = self.runtime.log
        seq = log.now()
        if log.sharing is not None:  # the log time of others may be later
            seq = max(seq, await log.sharing.head())
        await self.fold.reached(seq, REPORT_SECONDS, active)


def _report(copy: CampaignCopy) -> protocol.CampaignReport:
    """Return the report on a copy; the same draws each time."""
    belief, values = current_belief(copy), None
    if belief is not None:
        values = values_now(belief, copy.choosable, np.random.default_rng(0))
    return campaign_report(copy, values)


def _timeseries(copy: CampaignCopy, asked: Asked) -> protocol.Timeseries:
    return timeseries(copy.config, copy.rules, copy.counters, copy.as_of, asked)


def _signal_table(copy: CampaignCopy, asked: Asked) -> protocol.SignalTable:
    parts, found = (copy.config, copy.rules, copy.counters, copy.as_of), copy.judgement
    return signal_table(*parts, asked, found.verdict, untested=found.untested)


def _delay_report(copy: CampaignCopy) -> protocol.DelayReport:
    return delay_report(copy.config, copy.rules, copy.counters, copy.as_of)
