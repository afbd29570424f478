"""Choosing an action with its exact propensity, fast enough for a service.

What a policy would play is a table of shares, made for one state and one eligible set. A table
that is cheap to make is made anew for every decision; a dear one is kept for a while, so that
making tables takes a small part of the time. A decision is drawn from the table, so its share in
the table is its propensity, exactly, however old the table is.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from foretell.live.api import Mode
from foretell.policies.draw import choices
from foretell.types import Bools, Floats

DRAWS = 64
"""Choices in the table of a policy that samples."""
CHEAP = 0.0005
"""Seconds: a table that takes less is made for every decision."""
PART = 20
"""A dear table is kept for at least so many times the time that it took."""
TABLES = 256
"""Eligible sets whose tables are kept."""

Fill = Callable[[Any, int, Bools, np.random.Generator, int, Floats], None]
"""Writes the shares of a state into an array: the compiled way of making a table."""


class Table(NamedTuple):
    """What a policy would play, given what it knew at a line of the log."""

    shares: Floats
    seq: int
    made: float
    took: float


class Choice(NamedTuple):
    """An action, how likely it was, how it came about, and the line its table knew of."""

    action: int
    propensity: float
    mode: Mode
    seq: int


class Chooser:
    """Makes and keeps the tables of one campaign."""

    def __init__(self, seed: int, fill: Fill | None = None) -> None:
        """Choose by the campaign's seed; `fill` is the compiled way, where there is one."""
        self.seed = seed
        self.fill = fill
        self._tables: OrderedDict[bytes, Table] = OrderedDict()

    def choose(
        self, state: Any, seq: int, t: int, eligible: Bools, explore: float, holdout: float
    ) -> Choice:
        """Choose for round t, by the policy, or at random for exploration or as a holdout."""
        held, explored, drawn = self._uniforms(t)
        count = int(eligible.sum())
        if held < holdout:
            return Choice(_nth(eligible, int(drawn * count)), 1.0 / count, "holdout", seq)
        table = self._table(state, seq, t, eligible)
        if explored < explore:
            action, mode = _nth(eligible, int(drawn * count)), "explore"
        else:
            places = np.cumsum(table.shares)
            action = int(np.searchsorted(places, drawn * places[-1], side="right"))
            mode = "policy"
        share = float(table.shares[action])
        propensity = explore / count + (1.0 - explore) * share
        return Choice(action, propensity, mode, table.seq)  # type: ignore[arg-type]

    def _table(self, state: Any, seq: int, t: int, eligible: Bools) -> Table:
        key = np.packbits(eligible).tobytes()
        table = self._tables.get(key)
        now = time.perf_counter()
        if table is not None and (
            table.took >= CHEAP and (table.seq == seq or now < table.made + PART * table.took)
        ):
            return table
        rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence((self.seed, t))))
        if self.fill is None:
            shares = choices(state, t, eligible, rng, DRAWS).shares
        else:
            shares = np.zeros(eligible.size)
            self.fill(state, t, eligible, rng, DRAWS, shares)
        table = Table(shares, seq, now, time.perf_counter() - now)
        self._tables[key] = table
        self._tables.move_to_end(key)
        if len(self._tables) > TABLES:
            self._tables.popitem(last=False)
        return table

    def forget(self) -> None:
        """Drop every table: the state is another one."""
        self._tables.clear()

    def _uniforms(self, t: int) -> tuple[float, float, float]:
        """Give the random numbers of round t: any past decision can be drawn again."""
        words = hashlib.blake2b(b"%d/%d" % (self.seed, t), digest_size=24).digest()
        first, second, third = (
            int.from_bytes(words[place : place + 8]) >> 11 for place in (0, 8, 16)
        )
        return first * 2.0**-53, second * 2.0**-53, third * 2.0**-53


def _nth(eligible: Bools, place: int) -> int:
    return int(np.flatnonzero(eligible)[place])
