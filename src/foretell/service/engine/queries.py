"""Looking things up: reports, stories, pages of the log, copies of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from foretell import protocol
from foretell.service.engine.recovery import matching
from foretell.service.engine.runtime import Core
from foretell.service.log.sqlite.backup import back_up
from foretell.service.log.sqlite.reader import Stored
from foretell.service.model.active_campaign import Running
from foretell.service.model.decision_id import read
from foretell.service.model.errors import NotFound
from foretell.service.model.events import OfDecision
from foretell.service.model.outcome import Facts
from foretell.service.reports import delays
from foretell.service.reports import history as stories
from foretell.service.reports import summary as reports

LATEST = 5000
"""Decisions from which delays are read."""
PAGE = 500
"""Lines that an export reads at a time."""


class Reading(Core):
    """What is asked for without changing anything."""

    path: str

    async def report(self, name: str) -> protocol.Report:
        """Give what a campaign has come to, once all of it is on disk."""
        live = self._current(name)
        await self.durable()
        return reports.report(live, self.log.head)

    async def timeseries(self, name: str) -> protocol.Timeseries:
        """Give a campaign over time."""
        return reports.timeseries(self._current(name))

    async def signals(self, name: str) -> protocol.SignalTable:
        """Give the signals of a campaign by action."""
        return reports.signals(self._current(name))

    async def changes(self, name: str) -> protocol.Changes:
        """Give the moments at which signals changed."""
        return reports.changes(self._current(name))

    async def delays(self, name: str) -> protocol.Delays:
        """Give how long signals and rewards take to arrive, over the latest decisions."""
        live, log = self._current(name), self.log
        campaign = live.campaign
        every: list[Facts] = []
        place = max(0, campaign.decided - LATEST)
        while place < campaign.decided:
            every.extend(log.rounds(live.number, place))
            place = every[-1].decided.round + 1
            await asyncio.sleep(0)
            self.must_be_open(log)
        return delays.delays(live.setup, campaign.rules, every, campaign.as_of)

    async def story(self, decision_id: str) -> protocol.Story:
        """Give all that is known about one decision."""
        token = read(decision_id, self.secrets)
        live = None if token is None else self.numbers.get(token.campaign)
        self.must_write()
        unknown = NotFound("there is no such decision: send its id as the service gave it")
        if token is None or live is None:
            raise unknown
        live.campaign.advance(self.clock.now(), live.load)
        facts = matching(self.log.facts(live.number, token.round), token.made)
        if facts is None:
            raise unknown
        seq = self.log.about(live.number, token.round)[0].seq
        await self.durable()
        policy = self.policy_at(live.number, seq)
        return stories.story(decision_id, live, seq, facts, self.log.context(seq), policy)

    async def log_page(self, name: str, after: int = 0, limit: int = 100) -> protocol.LogPage:
        """Give lines of a campaign's log after a line."""
        live, log = self.live(name), self.log
        lines: list[Stored] = []
        end = log.committer.committed
        while len(lines) < limit and after < end:
            some, after = log.page(live.number, after, limit - len(lines))
            lines += some
            await asyncio.sleep(0)
            self.must_be_open(log)
        return protocol.LogPage(self._written(live, lines), after)

    async def export(self, name: str) -> AsyncIterator[protocol.LogLine]:
        """Give every line of a campaign's log that is on disk now."""
        live, log = self.live(name), self.log
        after, end = 0, log.committer.committed
        while after < end:
            lines, after = log.page(live.number, after, PAGE)
            for line in self._written(live, [line for line in lines if line.seq <= end]):
                yield line
            await asyncio.sleep(0)
            self.must_be_open(log)

    async def backup(self, target: str) -> None:
        """Write a consistent copy of the database, while it is used."""
        self.must_write()
        await asyncio.to_thread(back_up, self.path, target)

    def _written(self, live: Running, lines: Sequence[Stored]) -> list[protocol.LogLine]:
        """Write lines of the log in words, with the id that names their decision outside."""
        about = {line.seq: line.event for line in lines if isinstance(line.event, OfDecision)}
        decisions = self.log.decisions(live.number, [event.round for event in about.values()])
        ids = {
            seq: self.id_of(live.number, decided)
            for seq, event in about.items()
            if (decided := decisions.get(event.round)) and decided.at == event.made
        }
        return [stories.log_line(live.setup, line, ids.get(line.seq)) for line in lines]

    def _current(self, name: str) -> Running:
        live = self.live(name)
        live.campaign.advance(self.clock.now(), live.load)
        return live
