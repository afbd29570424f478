"""Queries: reports, histories, pages of the log, exports, and copies of the database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from foretell import protocol
from foretell.service.engine.replay import if_decided_at
from foretell.service.engine.runtime import Runtime
from foretell.service.log.record import Record
from foretell.service.log.sqlite.backup import back_up
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.decision_id import read_decision_id
from foretell.service.model.errors import NotFound
from foretell.service.model.events import OfDecision
from foretell.service.model.outcome import DecisionRecords
from foretell.service.reports.changes import signal_changes
from foretell.service.reports.delays import delay_report
from foretell.service.reports.history import decision_history, record_view
from foretell.service.reports.series import timeseries
from foretell.service.reports.signals import signal_table
from foretell.service.reports.summary import campaign_report

LATEST_DECISIONS = 5000
"""Decisions from which delays are read."""
EXPORT_PAGE = 500
"""Records that an export reads at a time."""


class Queries:
    """Reads that change nothing."""

    def __init__(self, runtime: Runtime) -> None:
        """Read what the runtime holds."""
        self.runtime = runtime

    async def report(self, name: str) -> protocol.CampaignReport:
        """Return the report of a campaign, once all that it counts is on disk."""
        active = self._current(name)
        await self.runtime.durable()
        return campaign_report(active, self.runtime.log.head)

    async def timeseries(self, name: str) -> protocol.Timeseries:
        """Return a campaign over time."""
        return timeseries(self._current(name))

    async def signals(self, name: str) -> protocol.SignalTable:
        """Return the signals of a campaign by action."""
        return signal_table(self._current(name))

    async def changes(self, name: str) -> protocol.SignalChanges:
        """Return the moments at which signals changed."""
        return signal_changes(self._current(name))

    async def delays(self, name: str) -> protocol.DelayReport:
        """Return how long signals and rewards take to arrive, over the latest decisions."""
        active, log = self._current(name), self.runtime.log
        campaign = active.campaign
        decisions: list[DecisionRecords] = []
        first = max(0, campaign.decided - LATEST_DECISIONS)
        while first < campaign.decided:
            decisions.extend(log.decisions_from(active.number, first))
            first = decisions[-1].decided.round + 1
            await asyncio.sleep(0)
            self.runtime.check_same_log(log)
        return delay_report(active.config, campaign.rules, decisions, campaign.as_of)

    async def history(self, decision_id: str) -> protocol.DecisionHistory:
        """Return all that is known about one decision."""
        runtime = self.runtime
        token = read_decision_id(decision_id, runtime.secrets)
        active = None if token is None else runtime.by_number.get(token.campaign)
        runtime.check_open()
        unknown = NotFound("there is no such decision: send its id as the service gave it")
        if token is None or active is None:
            raise unknown
        log, number = runtime.log, active.number
        active.campaign.advance(runtime.clock.now(), active.load)
        records = if_decided_at(log.decision_records(number, token.round), token.decided_at)
        if records is None:
            raise unknown
        seq = log.records_about(number, token.round)[0].seq
        await runtime.durable()
        policy = runtime.policy_at(number, seq)
        return decision_history(decision_id, active, seq, records, runtime.log.context(seq), policy)

    async def record_page(self, name: str, after: int = 0, limit: int = 100) -> protocol.RecordPage:
        """Return records of a campaign's log after a record."""
        active, log = self.runtime.find(name), self.runtime.log
        records: list[Record] = []
        end = log.committer.committed
        while len(records) < limit and after < end:
            some, after = log.page(active.number, after, limit - len(records))
            records += some
            await asyncio.sleep(0)
            self.runtime.check_same_log(log)
        return protocol.RecordPage(self._views(active, records), after)

    async def export(self, name: str) -> AsyncIterator[protocol.RecordView]:
        """Return every record of a campaign's log that is on disk now."""
        active, log = self.runtime.find(name), self.runtime.log
        after, end = 0, log.committer.committed
        while after < end:
            records, after = log.page(active.number, after, EXPORT_PAGE)
            for view in self._views(active, [record for record in records if record.seq <= end]):
                yield view
            await asyncio.sleep(0)
            self.runtime.check_same_log(log)

    async def backup(self, target: str) -> None:
        """Write a consistent copy of the database, while it is used."""
        self.runtime.check_open()
        await asyncio.to_thread(back_up, self.runtime.path, target)

    def _views(
        self, active: ActiveCampaign, records: Sequence[Record]
    ) -> list[protocol.RecordView]:
        """Return records with names in place of numbers, each with the id of its decision."""
        number = active.number
        about = {
            record.seq: record.event for record in records if isinstance(record.event, OfDecision)
        }
        decisions = self.runtime.log.decided_in(number, [event.round for event in about.values()])
        ids = {
            seq: self.runtime.decision_id(number, decided)
            for seq, event in about.items()
            if (decided := decisions.get(event.round)) and decided.decided_at == event.decided_at
        }
        return [record_view(active.config, record, ids.get(record.seq)) for record in records]

    def _current(self, name: str) -> ActiveCampaign:
        """Return a campaign with every window closed that is due."""
        active = self.runtime.find(name)
        active.campaign.advance(self.runtime.clock.now(), active.load)
        return active
