"""The tables besides the records: contexts, states, counters, uses of keys."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

from foretell.service.log.errors import Damaged, StatesDiffer
from foretell.service.log.postgres.group import CLAIMS_MODULUS, unit_claim
from foretell.service.log.postgres.own_stream import TOO_EARLY_SECONDS, OwnStream
from foretell.service.log.postgres.pool import Pool
from foretell.service.log.postgres.reader import RecordQueries
from foretell.service.log.postgres.writer import Work
from foretell.service.log.protocol import SavedState
from foretell.service.log.record import (
    claim_number,
    personal_is_sound,
    state_digest,
    state_is_sound,
)


class PostgresReader(RecordQueries):
    """The records of one log, and the tables besides them."""

    async def context(self, decision: int) -> bytes:
        """Return the context of a decision, empty where there is none or it was erased."""
        row = await self._fetchrow(
            "SELECT seq, campaign, unit, context, checksum FROM foretell.personal WHERE seq = $1",
            decision,
        )
        if row is None:
            return b""
        if not personal_is_sound(*row):
            raise Damaged("the context of record", decision)
        return row["context"]

    async def load_state(self, campaign: int) -> SavedState | None:
        """Return the newest state that was saved, None without one; raise `Damaged`."""
        row = await self._fetchrow(
            "SELECT position, version, body, digest FROM foretell.states WHERE campaign = $1 "
            "ORDER BY position DESC LIMIT 1",
            campaign,
        )
        if row is None:
            return None
        if not state_is_sound(campaign, *row):
            raise Damaged(f"campaign {campaign}: the state as of", row["position"])
        return SavedState(*tuple(row)[:3])

    async def counts(self, campaign: int) -> dict[str, int]:
        """Return what was counted with `add_counts`."""
        rows = await self._fetch(
            "SELECT name, count FROM foretell.counters WHERE campaign = $1", campaign
        )
        return {row["name"]: row["count"] for row in rows}

    async def uses(self) -> dict[str, int]:
        """Return what was kept with `save_uses`."""
        rows = await self._fetch("SELECT id, last_used FROM foretell.key_uses")
        return {row["id"]: row["last_used"] for row in rows}


async def save_state(pool: Pool, campaign: int, state: SavedState, server: Any) -> None:
    """Keep a state, unless another process has kept a later one of its version.

    Two processes that save the same position save the same bytes: else `StatesDiffer` is raised. A
    server that has taken the place of the one that the records were read from keeps nothing.
    """
    digest = state_digest(campaign, *state)
    kept = await pool.fetchrow(
        "INSERT INTO foretell.states (campaign, position, version, body, digest) "
        "SELECT $1::bigint, $2::bigint, $3::text, $4::bytea, $5::bytea "
        "WHERE pg_postmaster_start_time() = $6 ON CONFLICT (campaign, version) DO UPDATE SET "
        "position = $2, body = $4, digest = $5 WHERE states.position < $2 RETURNING digest",
        campaign,
        *state,
        digest,
        server,
    )
    if kept is None:
        other = await pool.fetchrow(
            "SELECT digest FROM foretell.states WHERE campaign = $1 AND version = $2 "
            "AND position = $3",
            campaign,
            state.version,
            state.position,
        )
        if other is not None and other["digest"] != digest:
            raise different_states(campaign, state.position)


def different_states(campaign: int, position: int) -> StatesDiffer:
    """Return the alarm that two processes have folded the same records to different states."""
    return StatesDiffer(
        f"campaign {campaign}: two servers have come to different states at {position}, and one "
        f"of them is wrong: run foretell verify, and restart the servers"
    )


def move_head_to(head: int) -> Work:
    """Return the work of making a head durable."""

    async def work(own: OwnStream) -> None:
        own.stamps.advance(head)
        while own.row.head < head:
            await own.move_head(own.stamps.now())

    return work


def erase(campaign: int, unit: bytes) -> Work:
    """Return the work of deleting what belongs to a unit; it returns of how many decisions."""
    return partial(_erase, campaign, unit)


class _TooEarly(Exception):
    """The clock has not reached the head yet."""


async def _erase(campaign: int, unit: bytes, own: OwnStream) -> int:
    while True:
        try:
            return await _erase_once(campaign, unit, own)
        except _TooEarly:
            await asyncio.sleep(TOO_EARLY_SECONDS)


async def _erase_once(campaign: int, unit: bytes, own: OwnStream) -> int:
    """Delete what belongs to a unit together with what was claimed for it, or neither."""
    connection, before, claims = own.connection, own.row, own.row.claims
    try:
        async with connection.transaction():
            for n, action, seq in await connection.fetch(
                "DELETE FROM foretell.units WHERE campaign = $1 AND unit = $2 "
                "RETURNING n, action, seq",
                campaign,
                unit,
            ):
                claims -= claim_number(campaign, unit_claim(unit, n, action), seq)
            erased = await connection.fetch(
                "DELETE FROM foretell.personal WHERE campaign = $1 AND unit = $2 RETURNING seq",
                campaign,
                unit,
            )
            await _move_claims(own, claims)
    except BaseException:
        own.row = before
        raise
    return len(erased)


async def _move_claims(own: OwnStream, claims: int) -> None:
    if not await own.move_head(own.stamps.now(), claims % CLAIMS_MODULUS):
        raise _TooEarly


async def add_counts(pool: Pool, campaign: int, name: str, by: int) -> None:
    """Count what leaves no record."""
    await pool.fetch(
        "INSERT INTO foretell.counters VALUES ($1, $2, $3) ON CONFLICT (campaign, name) "
        "DO UPDATE SET count = counters.count + $3",
        campaign,
        name,
        by,
    )


async def save_uses(pool: Pool, uses: Mapping[str, int]) -> None:
    """Keep for some keys the moment at which each was last used."""
    await pool.fetch(
        "INSERT INTO foretell.key_uses SELECT * FROM unnest($1::text[], $2::bigint[]) "
        "ON CONFLICT (id) DO UPDATE "
        "SET last_used = greatest(key_uses.last_used, excluded.last_used)",
        list(uses),
        list(uses.values()),
    )
