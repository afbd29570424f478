"""The decider: chooses an action with its exact propensity, fast enough for a service.

What a policy would play is a table of shares, made for one state and one eligible set. A table
that is cheap to make is made for every decision; an expensive one is kept for a while, so that
making tables takes a small part of the time. A decision is drawn from the table, so its share in
the table is its propensity, exactly, however old the table is.

Many policies would play an action of which they know nothing again and again, until its first
signal comes: an action added to a running campaign would get all traffic for as long as a window
is open. So the actions without feedback get an even share of the decisions at most, and the rest
goes to the others, as the policy would play them alone.
"""

from __future__ import annotations

import hashlib
import struct
import time
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from foretell.policies.draw import share_writer
from foretell.policies.verbs import has, indices, weights
from foretell.protocol import Mode
from foretell.service.model.overlay import Overlay
from foretell.types import Bools, Floats

TABLE_DRAWS = 32
"""Choices in the table of a policy that samples."""
CHEAP_SECONDS = 0.0005
"""A table that takes less time to make is made for every decision."""
KEEP_FACTOR = 40
"""An expensive table is kept for at least so many times the time that it took."""
MAX_TABLES = 256
"""Eligible sets whose tables are kept."""

_WORDS = struct.Struct(">3Q")
_GRAIN = 2.0**-53
_UNUSED = np.random.Generator(np.random.SFC64(0))

ShareWriter = Callable[[Any, int, Bools, np.random.Generator, int, Floats], None]
"""Writes the shares of a state into an array."""


class Eligible(NamedTuple):
    """The actions that can be chosen."""

    mask: Bools
    actions: list[int]
    bits: bytes

    @classmethod
    def of(cls, mask: Bools) -> Eligible:
        """Return the eligible actions of a mask."""
        return cls(mask, np.flatnonzero(mask).tolist(), np.packbits(mask).tobytes())


class ShareTable(NamedTuple):
    """What a policy would play, given what it knew at a position of the log."""

    shares: list[float]
    cumulative: list[float]
    """Sums of the shares up to each action."""
    position: int
    """The position in the log up to which the policy had read."""
    revision: int
    made_at: float
    took: float


class Choice(NamedTuple):
    """An action, its propensity, how it was chosen, and the position of the state it is from."""

    action: int
    propensity: float
    mode: Mode
    position: int


class Decider:
    """Chooses for one campaign, and keeps its tables."""

    def __init__(self, seed: int) -> None:
        """Choose by the campaign's seed."""
        self.seed = seed
        self.compiled: dict[type, ShareWriter] = {}
        """Compiled functions that write shares, by the type of the state."""
        self._tables: OrderedDict[bytes, ShareTable] = OrderedDict()

    def choose(self, overlay: Overlay, eligible: Eligible, nonce: int) -> Choice:
        """Choose for the next round, by the policy, for exploration or as a holdout.

        Everything random comes from the nonce.
        """
        campaign = overlay.campaign
        explore, holdout = campaign.config.explore, campaign.config.holdout
        held, explored, drawn = self._uniforms(nonce)
        count = len(eligible.actions)
        if held < holdout:
            action = eligible.actions[int(drawn * count)]
            return Choice(action, 1.0 / count, "holdout", campaign.position)
        table = self._table(overlay, eligible, nonce)
        mode: Mode = "explore" if explored < explore else "policy"
        if mode == "explore":
            action = eligible.actions[int(drawn * count)]
        else:
            action = bisect_right(table.cumulative, drawn * table.cumulative[-1])
        propensity = explore / count + (1.0 - explore) * table.shares[action]
        return Choice(action, propensity, mode, table.position)

    def _table(self, overlay: Overlay, eligible: Eligible, nonce: int) -> ShareTable:
        table = self._tables.get(eligible.bits)
        now = time.perf_counter()
        if table is not None and table.took >= CHEAP_SECONDS:
            known = overlay.campaign.position
            same = table.position == known and table.revision == overlay.revision
            if same or now < table.made_at + KEEP_FACTOR * table.took:
                return table
        worked = time.thread_time()
        shares = self._shares(overlay, eligible.mask, nonce)
        # while the machine is busy with others, a thread only waits
        took = min(time.perf_counter() - now, time.thread_time() - worked)
        table = ShareTable(
            shares.tolist(),
            np.cumsum(shares).tolist(),
            overlay.position,
            overlay.revision,
            now,
            took,
        )
        self._tables[eligible.bits] = table
        self._tables.move_to_end(eligible.bits)
        if len(self._tables) > MAX_TABLES:
            self._tables.popitem(last=False)
        return table

    def _shares(self, overlay: Overlay, mask: Bools, nonce: int) -> Floats:
        shares = self._write(overlay, mask, nonce)
        unknown = overlay.campaign.actions_without_feedback() & mask
        others = mask & ~unknown
        even, taken = unknown.sum() / mask.sum(), shares[unknown].sum()
        if others.any() and taken > even:
            rest = self._write(overlay, others, nonce)
            shares = np.where(unknown, shares * even / taken, rest * (1.0 - even))
        return shares

    def _write(self, overlay: Overlay, mask: Bools, nonce: int) -> Floats:
        state = overlay.state()
        shares = np.empty(mask.size)
        write = self.compiled.get(type(state)) or share_writer(state)
        write(state, overlay.t, mask, self._rng(state, nonce), TABLE_DRAWS, shares)
        return shares

    def _rng(self, state: Any, nonce: int) -> np.random.Generator:
        """Return the generator of a table; a policy whose shares have a formula does not use it."""
        if has(indices, state) or has(weights, state):
            return _UNUSED
        return np.random.Generator(np.random.SFC64(np.random.SeedSequence((self.seed, nonce))))

    def forget(self) -> None:
        """Drop every table, because the state was replaced."""
        self._tables.clear()

    def _uniforms(self, nonce: int) -> tuple[float, float, float]:
        """Return the random numbers of a decision."""
        first, second, third = _WORDS.unpack(
            hashlib.blake2b(b"%d/%d" % (self.seed, nonce), digest_size=24).digest()
        )
        return (first >> 11) * _GRAIN, (second >> 11) * _GRAIN, (third >> 11) * _GRAIN
