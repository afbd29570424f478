"""The decider: chooses an action with its exact propensity, fast enough for a service.

A choice is drawn from a table of what the policy ranks its actions by (`value_table`). A table that
is cheap to make and has no draws is made for every decision; another one is kept for a while, so
that making tables takes a small part of the time, and made again when decisions were folded, so
that the next one need not wait for it. Where making one takes long, somebody else makes it in a
thread (`foretell.service.engine.table_maker`), and choices go on with the one before.
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

from foretell.policies.state import leaves
from foretell.policies.verbs import draw_values, has, ignores, play, value_verb_of
from foretell.protocol import Mode
from foretell.service.model.overlay import Overlay
from foretell.service.model.value_table import (
    MAX_SETS,
    Basis,
    Eligible,
    ValueTable,
    Writer,
    make_table,
    serves_every_set,
)
from foretell.types import Bools

CHEAP_SECONDS = 0.0005
"""A table without draws that takes less time to make is made for every decision."""
SLOW_SECONDS = 0.001
"""A table that takes more time is made in a thread."""
KEEP_FACTOR = 80
"""A table is kept for at least so many times the time that it took: some 20 ms where it is small.
What is learned meanwhile counts from the next table on, as if it had come so much later."""
LARGE_SIZE, LARGE_DRAWN_SIZE = 100, 1000
"""Actions times signals from which on a first table is made in a thread; the latter of draws."""
LARGE_BYTES = 1 << 20
"""Bytes of a state from which on it is copied in a thread."""
EVERY_SET = b""
"""The key of a table that serves every eligible set."""

_WORDS = struct.Struct(">3Q")
_GRAIN = 2.0**-53
_UNUSED = np.random.Generator(np.random.SFC64(0))


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
        self.compiled: dict[type, Writer] = {}
        """Compiled functions that write values or shares, by the type of the state."""
        self.making: dict[bytes, Any] = {}
        """The keys of the tables that somebody else is making, each with who does."""
        self.forgot = 0
        """How often the tables were dropped: one that was begun before is of no use."""
        self._choosable: Bools | None = None
        self._state_type: type | None = None
        self._serves_every_set = False
        """Whether one table of such states serves every eligible set."""
        self._tables: OrderedDict[bytes, ValueTable] = OrderedDict()
        self._took: float | None = None
        """How long the last table took."""
        self._bytes = 0
        self._chosen_from: tuple[bytes, Eligible] | None = None
        """The key of the last table that was chosen from, and the eligible set."""

    def choose(self, overlay: Overlay, eligible: Eligible, nonce: int) -> Choice:
        """Choose for the next round, by the policy, for exploration or as a holdout.

        Everything random comes from the nonce, but for a table that was drawn before.
        """
        campaign = overlay.campaign
        explore, holdout = campaign.config.explore, campaign.config.holdout
        held, explored, drawn = self._uniforms(nonce)
        count = len(eligible.actions)
        if held < holdout:
            action = eligible.actions[int(drawn * count)]
            return Choice(action, 1.0 / count, "holdout", campaign.position)
        table = self._table(overlay, eligible, nonce)
        shares = table.shares_of(eligible)
        mode: Mode = "explore" if explored < explore else "policy"
        if mode == "explore":
            index = int(drawn * count)
        else:
            index = bisect_right(shares.cumulative, drawn * shares.cumulative[-1])
        propensity = explore / count + (1.0 - explore) * shares.shares[index]
        return Choice(eligible.actions[index], propensity, mode, table.position)

    def _table(self, overlay: Overlay, eligible: Eligible, nonce: int) -> ValueTable:
        """Return the table to choose from; make one where there is none, or an old one."""
        key = self.key(overlay, eligible)
        table = self._tables.get(key)
        self._chosen_from = key, eligible
        if table is not None and (key in self.making or self.is_fresh(overlay, table)):
            return table
        table = self.make(self.basis(overlay), eligible, nonce)
        self.keep(key, table)
        return table

    def renew(self, overlay: Overlay, nonce: Callable[[], int]) -> bool:
        """Make the table that was chosen from last again, if the next choice would have to.

        One that nobody has chosen from since it was made stays. So does one without draws, which is
        made for every decision, and one that takes long. Returns whether a table was made.
        """
        if self._chosen_from is None:
            return False
        key, eligible = self._chosen_from
        table = self._tables.get(key)
        if table is None or table.values.shape[1] == 1 or self.is_fresh(overlay, table):
            return False
        if key in self.making or self.is_slow(overlay):
            return False
        self._chosen_from = None
        self.keep(key, self.make(self.basis(overlay), eligible, nonce()))
        return True

    def key(self, overlay: Overlay, eligible: Eligible) -> bytes:
        """Return what a table for an eligible set is kept under."""
        state_type = type(overlay.campaign.served_state)
        if state_type is not self._state_type:
            self._state_type = state_type
            self._serves_every_set = serves_every_set(overlay.campaign.served_state)
        return EVERY_SET if self._serves_every_set else eligible.bits

    def find(self, key: bytes) -> ValueTable | None:
        """Return the table that is kept under a key."""
        return self._tables.get(key)

    def has_fresh(self, overlay: Overlay, eligible: Eligible) -> bool:
        """Return whether there is a table to choose from that is still to be used."""
        table = self._tables.get(self.key(overlay, eligible))
        return table is not None and self.is_fresh(overlay, table)

    def is_fresh(self, overlay: Overlay, table: ValueTable) -> bool:
        """Return whether a table is still to be used."""
        if table.revision == overlay.revision:
            return True
        if table.took < CHEAP_SECONDS and table.values.shape[1] == 1:
            return False
        return time.perf_counter() < table.made_at + KEEP_FACTOR * table.took

    def is_slow(self, overlay: Overlay) -> bool:
        """Return whether making a table takes longer than others should wait."""
        state = overlay.campaign.served_state
        if self._took is None:
            config = overlay.campaign.config
            large = LARGE_DRAWN_SIZE if has(draw_values, state) else LARGE_SIZE
            self._bytes = 0 if ignores(play, state) else _bytes_of(state)
            if len(config.actions) * len(config.signals) >= large:
                return True
        return self._bytes >= LARGE_BYTES or (self._took or 0.0) > max(SLOW_SECONDS, CHEAP_SECONDS)

    def basis(self, overlay: Overlay) -> Basis:
        """Return what a table is made from now; the state must not change meanwhile."""
        unknown = overlay.campaign.actions_without_feedback
        return Basis(overlay.state(), overlay.t, unknown, overlay.position, overlay.revision)

    def make(self, basis: Basis, eligible: Eligible, nonce: int) -> ValueTable:
        """Make a table, which is not kept yet; in any thread."""
        state = basis.state
        rows = eligible.mask
        if serves_every_set(state):
            rows = self._choosable if self._choosable is not None else np.ones(rows.size, np.bool_)
        now, worked = time.perf_counter(), time.thread_time()
        rng = _UNUSED if value_verb_of(type(state)) is not None else self._rng(nonce)
        table = make_table(basis, rows, rng, self.compiled.get(type(state)))
        # while the machine is busy with others, a thread only waits
        took = min(time.perf_counter() - now, time.thread_time() - worked)
        table.made_at, table.took = now, took
        return table

    def keep(self, key: bytes, table: ValueTable) -> None:
        """Keep a table, and choose from it from now on."""
        self._took = table.took
        self._tables[key] = table
        self._tables.move_to_end(key)
        if len(self._tables) > MAX_SETS:
            self._tables.popitem(last=False)

    def _rng(self, nonce: int) -> np.random.Generator:
        """Return the generator of a table."""
        return np.random.Generator(np.random.SFC64(np.random.SeedSequence((self.seed, nonce))))

    def forget(self, choosable: Bools | None = None) -> None:
        """Drop every table, because the state was replaced, or other actions can be chosen."""
        self._tables.clear()
        self._choosable = choosable
        self._took = self._chosen_from = None
        self.forgot += 1

    def _uniforms(self, nonce: int) -> tuple[float, float, float]:
        """Return the random numbers of a decision."""
        first, second, third = _WORDS.unpack(
            hashlib.blake2b(b"%d/%d" % (self.seed, nonce), digest_size=24).digest()
        )
        return (first >> 11) * _GRAIN, (second >> 11) * _GRAIN, (third >> 11) * _GRAIN


def _bytes_of(state: Any) -> int:
    return sum(value.nbytes for _, value in leaves(state) if isinstance(value, np.ndarray))
