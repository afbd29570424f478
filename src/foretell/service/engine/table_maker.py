"""Tables of large campaigns are made in threads: no other campaign waits for them.

The first decision of a large campaign waits for its table; later ones take the table at hand while
another is made. A table is made from a copy of the state, and the copy is made in a thread as well:
the fold, which alone changes the state, waits for the copy and for nothing else.
"""

from __future__ import annotations

import asyncio
import logging

from foretell.policies.verbs import ignores, play
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.overlay import copied
from foretell.service.model.value_table import Basis, Eligible, ValueTable

logger = logging.getLogger("foretell.service")


async def prepare_table(active: ActiveCampaign, eligible: Eligible, nonce: int) -> None:
    """Let there be a table to choose from, where making one takes long and none is fresh."""
    decider = active.decider
    key = decider.key(active.overlay, eligible)
    known = decider.find(key)
    if key not in decider.making:
        making = asyncio.create_task(_make(active, key, eligible, nonce))
        decider.making[key] = making
        making.add_done_callback(_log_failure)
    if known is None:
        await asyncio.shield(decider.making[key])


async def _make(active: ActiveCampaign, key: bytes, eligible: Eligible, nonce: int) -> None:
    decider = active.decider
    try:
        forgot = decider.forgot
        async with active.state_lock:
            basis = await _copy(active)
        table = await asyncio.to_thread(_made, active, basis, eligible, nonce)
        if decider.forgot == forgot:
            decider.keep(key, table)
    finally:
        del decider.making[key]


def _made(active: ActiveCampaign, basis: Basis, eligible: Eligible, nonce: int) -> ValueTable:
    """Return a table, with the shares of the set that it was asked for."""
    table = active.decider.make(basis, eligible, nonce)
    table.shares_of(eligible)
    return table


async def _copy(active: ActiveCampaign) -> Basis:
    """Return what a table is made from, apart from the campaign; the fold waits meanwhile."""
    campaign, overlay = active.campaign, active.overlay
    t, position, revision = overlay.t, campaign.position, overlay.revision
    under_way = overlay.under_way()

    def copy() -> Basis:
        state = copied(campaign.state)
        if not ignores(play, state):
            for played, action in under_way:
                play(state, played, action)
        unknown = campaign.actions_without_feedback()
        return Basis(state, t, lambda: unknown, position, revision)

    return await asyncio.to_thread(copy)


def _log_failure(making: asyncio.Task[None]) -> None:
    if not making.cancelled() and making.exception() is not None:
        logger.error("a table could not be made", exc_info=making.exception())
