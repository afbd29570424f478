"""Who folds a campaign: one decider for all, and the next one where that one is stuck.

For each campaign the open streams have an order, by a hash that every decider computes alike. The
first folds the campaign and publishes its state. While there are records that no published state
holds, a decider waits for them as often as there are deciders before it, and then folds as well.
The fold is deterministic: two that fold publish the same bytes, or one of them is wrong.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from time import monotonic

from foretell.service.log.postgres.pool import Pool
from foretell.service.log.postgres.rows import COLUMNS, row_of
from foretell.service.log.postgres.settings import StreamTiming
from foretell.service.log.postgres.side_tables import different_states
from foretell.service.log.postgres.watch import StreamWatch
from foretell.service.log.protocol import SavedState, Tail
from foretell.service.log.record import record_of, state_digest, state_is_sound
from foretell.service.model.campaign import FOLD_VERSION
from foretell.service.model.events import Record

logger = logging.getLogger("foretell.service")

BYTES_A_SECOND = 1_000_000
"""How much of the states of one campaign is published at most."""
OVERTAKING_SECONDS = 60.0
"""For how long a decider goes on to fold that has overtaken another."""
OpenTail = Callable[[int, Callable[[], Collection[int]]], AsyncIterator[Tail]]


class PostgresFoldSharing:
    """How this decider shares the fold with the others."""

    def __init__(
        self, pool: Pool, watch: StreamWatch, timing: StreamTiming, open_tail: OpenTail
    ) -> None:
        """Go by the streams that a watch has seen."""
        self.tail = open_tail
        self.lag_seconds = timing.lag_seconds
        self.takeovers = 0
        """How often this decider has overtaken another."""
        self._pool = pool
        self._watch = watch
        self._timing = timing
        self._places: dict[int, int] = {}
        self._streams: frozenset[int] = frozenset()
        self._published: dict[int, int] = {}
        """For each campaign the position of its newest published state, as far as was seen."""
        self._newest: dict[int, int] = {}
        """For each campaign the seq of a late record, as far as was scanned."""
        self._waiting: dict[int, float] = {}
        """For each campaign since when a record waits for a state that holds it."""
        self._overtaking: dict[int, float] = {}
        """For each campaign until when this decider folds in the place of another."""
        self._scanned = 0
        self._scanned_at = 0.0
        self._looked_at = 0.0

    def seat(self) -> tuple[int, int]:
        """Return which of the open streams is this decider's, from 0, and how many there are."""
        streams, own = self._open_streams(), self._watch.own()
        return sum(one < own for one in streams), len(streams)

    def alone(self) -> bool:
        """Return whether nobody else writes the log now."""
        return len(self._open_streams()) == 1

    def folds(self, campaign: int) -> bool:
        """Return whether this decider folds a campaign."""
        place, now = self._place(campaign), monotonic()
        if place == 0 or now < self._overtaking.get(campaign, 0.0):
            self._waiting.pop(campaign, None)
            return True
        since = self._waiting.get(campaign, now)
        if now - since > place * self.lag_seconds:
            self._overtaking[campaign] = now + OVERTAKING_SECONDS
            self.takeovers += 1
            logger.warning(
                "campaign %d: no state was published for %.0f s, and this server folds it too",
                campaign,
                now - since,
            )
            return True
        return False

    async def head(self) -> int:
        """Return a seq above all that has been written up to now, by any decider."""
        row = await self._pool.fetchrow("SELECT max(head) AS head FROM foretell.streams")
        head: int = row["head"]
        return head

    async def records_of(self, campaign: int, after: int, before: int, count: int) -> list[Record]:
        """Return the next records of a campaign, between two seqs that the tail has reached."""
        rows = await self._pool.fetch(
            f"SELECT {COLUMNS} FROM foretell.events WHERE seq > $1 AND seq < $2 AND campaign = $3 "
            "ORDER BY seq LIMIT $4",
            after,
            before,
            campaign,
            count,
        )
        return [record_of(row_of(row)) for row in rows]

    async def publish(self, campaign: int, state: SavedState) -> float:
        """Let others take over a state; return after how many seconds the next one may follow."""
        digest = state_digest(campaign, *state)
        row = await self._pool.fetchrow(
            "WITH mine AS (INSERT INTO foretell.live_states (campaign, position, version, body, "
            "digest) SELECT $1::bigint, $2::bigint, $3::text, $4::bytea, $5::bytea "
            "WHERE pg_postmaster_start_time() = $6 ON CONFLICT (campaign, version) DO UPDATE SET "
            "position = $2, body = $4, digest = $5 WHERE live_states.position < $2 RETURNING 1) "
            "SELECT digest FROM foretell.live_states WHERE campaign = $1 AND version = $3 "
            "AND position = $2 AND NOT EXISTS (SELECT 1 FROM mine)",
            campaign,
            *state,
            digest,
            self._watch.server,
        )
        if row is not None and row["digest"] != digest:
            raise different_states(campaign, state.position)
        return max(self._timing.beat_seconds, len(state.body) / BYTES_A_SECOND)

    async def newer_states(self, positions: Mapping[int, int]) -> dict[int, SavedState]:
        """Return the published states of campaigns that are after a position, once a poll.

        None of them holds a record that this decider has not seen to be there: if a standby without
        it takes the place of the server, this decider knows.
        """
        now = monotonic()
        if not positions or now - self._looked_at < self._timing.poll_seconds:
            return {}
        self._looked_at = now
        rows = await self._pool.fetch(
            "SELECT DISTINCT ON (campaign) campaign, live.position, version, "
            "CASE WHEN live.position > known.position THEN body END AS body, digest "
            "FROM unnest($1::bigint[], $2::bigint[]) AS known (campaign, position) "
            "JOIN foretell.live_states AS live USING (campaign) "
            "WHERE starts_with(version, $3) AND pg_postmaster_start_time() = $4 "
            "AND live.position <= $5 "
            "ORDER BY campaign, live.position DESC",
            list(positions),
            list(positions.values()),
            f"{FOLD_VERSION}/",
            self._watch.server,
            self._watch.watermark,
        )
        found: dict[int, SavedState] = {}
        for campaign, position, version, body, digest in rows:
            if position > self._published.get(campaign, 0):
                self._published[campaign] = position
                self._waiting.pop(campaign, None)
            if body is not None and state_is_sound(campaign, position, version, body, digest):
                found[campaign] = SavedState(position, version, body)
        await self._scan(positions, now)
        return found

    async def _scan(self, campaigns: Collection[int], now: float) -> None:
        """Find out now and then which campaigns have records that no published state holds."""
        if now - self._scanned_at < self.lag_seconds / 5:
            return
        upto = self._watch.watermark
        rows = await self._pool.fetch(
            "SELECT campaign, max(seq) AS newest FROM foretell.events WHERE seq >= $1 AND seq < $2 "
            "GROUP BY campaign",
            self._scanned or upto,
            upto,
        )
        self._scanned, self._scanned_at = upto, now
        self._newest.update((row["campaign"], row["newest"]) for row in rows)
        for campaign in campaigns:
            if self._newest.get(campaign, 0) < self._published.get(campaign, 1):
                self._waiting.pop(campaign, None)
            else:
                self._waiting.setdefault(campaign, now)

    def _open_streams(self) -> frozenset[int]:
        seen = {one.stream.stream for one in self._watch.streams}
        return frozenset(seen | {self._watch.own()})

    def _place(self, campaign: int) -> int:
        """Return how many deciders come before this one in the order of a campaign."""
        streams = self._open_streams()
        if streams != self._streams:
            self._streams, self._places = streams, {}
        if campaign not in self._places:
            own = _weight(campaign, self._watch.own())
            self._places[campaign] = sum(_weight(campaign, one) > own for one in streams)
        return self._places[campaign]


def _weight(campaign: int, stream: int) -> bytes:
    return hashlib.blake2b(b"%d/%d" % (campaign, stream), digest_size=8).digest()
