"""Looking things up: reports, histories, pages of the log, copies of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from foretell import protocol
from foretell.service.engine.recovery import matching
from foretell.service.engine.runtime import Core
from foretell.service.log.sqlite.backup import back_up
from foretell.service.log.sqlite.reader import Record
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.decision_id import read
from foretell.service.model.errors import NotFound
from foretell.service.model.events import OfDecision
from foretell.service.model.outcome import DecisionRecords
from foretell.service.reports import delays
from foretell.service.reports import history as history_reports
from foretell.service.reports import summary as reports

LATEST = 5000
"""Decisions from which delays are read."""
PAGE = 500
"""Records that an export reads at a time."""


class Reading(Core):
    """What is asked for without changing anything."""

    path: str

    async def report(self, name: str) -> protocol.CampaignReport:
        """Return what a campaign has come to, once all of it is on disk."""
        active = self._current(name)
        await self.durable()
        return reports.report(active, self.log.head)

    async def timeseries(self, name: str) -> protocol.Timeseries:
        """Return a campaign over time."""
        return reports.timeseries(self._current(name))

    async def signals(self, name: str) -> protocol.SignalTable:
        """Return the signals of a campaign by action."""
        return reports.signals(self._current(name))

    async def changes(self, name: str) -> protocol.SignalChanges:
        """Return the moments at which signals changed."""
        return reports.changes(self._current(name))

    async def delays(self, name: str) -> protocol.DelayReport:
        """Return how long signals and rewards take to arrive, over the latest decisions."""
        active, log = self._current(name), self.log
        campaign = active.campaign
        every: list[DecisionRecords] = []
        index = max(0, campaign.decided - LATEST)
        while index < campaign.decided:
            every.extend(log.rounds(active.number, index))
            index = every[-1].decided.round + 1
            await asyncio.sleep(0)
            self.must_be_open(log)
        return delays.delays(active.config, campaign.rules, every, campaign.as_of)

    async def history(self, decision_id: str) -> protocol.DecisionHistory:
        """Return all that is known about one decision."""
        token = read(decision_id, self.secrets)
        active = None if token is None else self.by_number.get(token.campaign)
        self.must_write()
        unknown = NotFound("there is no such decision: send its id as the service gave it")
        if token is None or active is None:
            raise unknown
        active.campaign.advance(self.clock.now(), active.load)
        records = matching(self.log.decision_records(active.number, token.round), token.decided_at)
        if records is None:
            raise unknown
        seq = self.log.about(active.number, token.round)[0].seq
        await self.durable()
        policy = self.policy_at(active.number, seq)
        return history_reports.history(
            decision_id, active, seq, records, self.log.context(seq), policy
        )

    async def record_page(self, name: str, after: int = 0, limit: int = 100) -> protocol.RecordPage:
        """Return records of a campaign's log after a record."""
        active, log = self.find(name), self.log
        records: list[Record] = []
        end = log.committer.committed
        while len(records) < limit and after < end:
            some, after = log.page(active.number, after, limit - len(records))
            records += some
            await asyncio.sleep(0)
            self.must_be_open(log)
        return protocol.RecordPage(self._written(active, records), after)

    async def export(self, name: str) -> AsyncIterator[protocol.RecordView]:
        """Return every record of a campaign's log that is on disk now."""
        active, log = self.find(name), self.log
        after, end = 0, log.committer.committed
        while after < end:
            records, after = log.page(active.number, after, PAGE)
            for record in self._written(
                active, [record for record in records if record.seq <= end]
            ):
                yield record
            await asyncio.sleep(0)
            self.must_be_open(log)

    async def backup(self, target: str) -> None:
        """Write a consistent copy of the database, while it is used."""
        self.must_write()
        await asyncio.to_thread(back_up, self.path, target)

    def _written(
        self, active: ActiveCampaign, records: Sequence[Record]
    ) -> list[protocol.RecordView]:
        """Write records of the log in words, with the id that names their decision outside."""
        about = {
            record.seq: record.event for record in records if isinstance(record.event, OfDecision)
        }
        decisions = self.log.decisions(active.number, [event.round for event in about.values()])
        ids = {
            seq: self.id_of(active.number, decided)
            for seq, event in about.items()
            if (decided := decisions.get(event.round)) and decided.recorded_at == event.decided_at
        }
        return [
            history_reports.record_view(active.config, record, ids.get(record.seq))
            for record in records
        ]

    def _current(self, name: str) -> ActiveCampaign:
        active = self.find(name)
        active.campaign.advance(self.clock.now(), active.load)
        return active
