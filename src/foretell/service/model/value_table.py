"""What a policy ranks its actions by: from one table the shares of any eligible set are read off.

A table has the value of every action that can be chosen in each of some draws, and in each draw
the largest value among the eligible actions is played, ties at random. So the share of an action
is the part of the draws that it wins: exact for a choice drawn from these shares, given the table,
whatever the eligible set and however old the table is. An index policy has one draw. A policy that
draws by weights has one draw too, and the shares are those of the weights. Of a policy that can
only be asked to choose, the shares of one eligible set are the weights of a table for that set.

Many policies would play an action of which they know nothing again and again, until its first
signal comes: an action added to a running campaign would get all traffic for as long as a window
is open. So the actions without feedback get an even share of the decisions at most, and the rest
goes to the others, as the policy would play them alone.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from foretell.policies.draw import share_writer
from foretell.policies.parts.argmax import TIE
from foretell.policies.verbs import draw_values, has, value_verb_of, weights
from foretell.types import Bools, Floats, Ints

TABLE_DRAWS = 32
"""Draws in the table of a policy that samples."""
MAX_SETS = 256
"""Eligible sets whose shares are kept."""

Writer = Callable[..., None]
"""Writes the values of all actions, or the shares of one eligible set; compiled perhaps."""


class Eligible(NamedTuple):
    """The actions that can be chosen."""

    mask: Bools
    actions: list[int]
    bits: bytes

    @classmethod
    def of(cls, mask: Bools) -> Eligible:
        """Return the eligible actions of a mask."""
        return cls(mask, np.flatnonzero(mask).tolist(), np.packbits(mask).tobytes())


class Shares(NamedTuple):
    """With which probability each eligible action is played, in the order of `Eligible.actions`."""

    shares: list[float]
    cumulative: list[float]
    """Sums of the shares up to each action."""


class Basis(NamedTuple):
    """What a table is made from."""

    state: Any
    t: int
    unknown: Callable[[], Bools]
    """Marks the actions of which nothing was delivered to the policy yet."""
    position: int
    """The position in the log up to which the policy had read."""
    revision: int


class ValueTable:
    """The values of all actions in each draw, and the shares of the sets that were asked for."""

    def __init__(self, values: Floats, basis: Basis, unknown: Bools, *, weighs: bool) -> None:
        """Keep values, (actions, draws), and which actions are `unknown`.

        `weighs` is whether actions are drawn by their weight.
        """
        self.values = values
        self.position, self.revision = basis.position, basis.revision
        self.made_at = self.took = 0.0
        """When it was made, and how long that took, in seconds."""
        self._unknown, self._weighs = unknown, weighs
        self._sets: OrderedDict[bytes, Shares] = OrderedDict()

    def shares_of(self, eligible: Eligible) -> Shares:
        """Return the shares of an eligible set; those of a set that comes again are kept."""
        known = self._sets.get(eligible.bits)
        if known is None:
            shares = self._evened(np.array(eligible.actions))
            known = Shares(shares.tolist(), np.cumsum(shares).tolist())
            self._sets[eligible.bits] = known
            if len(self._sets) > MAX_SETS:
                self._sets.popitem(last=False)
        return known

    def _evened(self, actions: Ints) -> Floats:
        """Return the shares of actions, those of unknown ones no more than even."""
        shares = self._shares(actions)
        unknown = self._unknown[actions]
        count = int(np.count_nonzero(unknown))
        if 0 < count < actions.size:
            even, taken = count / actions.size, shares[unknown].sum()
            if taken > even:
                shares[unknown] *= even / taken
                shares[~unknown] = self._shares(actions[~unknown]) * (1.0 - even)
        return shares

    def _shares(self, actions: Ints) -> Floats:
        values = self.values[actions]
        if self._weighs:
            mass = values[:, 0].sum()
            return values[:, 0] / mass if mass > 0.0 else np.full(actions.size, 1 / actions.size)
        best = values >= values.max(axis=0) - TIE
        wins: Floats = best / np.count_nonzero(best, axis=0)
        return wins.sum(axis=1) / values.shape[1]


def serves_every_set(state: Any) -> bool:
    """Return whether one table of such a state serves every eligible set."""
    return has(draw_values, state) or value_verb_of(type(state)) is not None


def make_table(
    basis: Basis, rows: Bools, rng: np.random.Generator, writer: Writer | None = None
) -> ValueTable:
    """Make a table of the marked actions; it serves every eligible set among them, or only this.

    `writer` is used in place of the plain function that writes values or shares.
    """
    state, t = basis.state, basis.t
    if has(draw_values, state):
        values = np.full((rows.size, TABLE_DRAWS), -np.inf)
        actions = np.flatnonzero(rows)
        values[actions] = draw_values(state, t, actions, TABLE_DRAWS, rng)
        return ValueTable(values, basis, basis.unknown(), weighs=False)
    column, verb = np.empty(rows.size), value_verb_of(type(state))
    if verb is not None:
        (writer or verb)(state, t, column)
        values = column[:, np.newaxis]
        return ValueTable(values, basis, basis.unknown(), weighs=verb is weights)
    _write_choices(writer or share_writer(state), basis, rows, rng, column)
    return ValueTable(column[:, np.newaxis], basis, np.zeros_like(rows), weighs=True)


def _write_choices(
    write: Writer, basis: Basis, eligible: Bools, rng: np.random.Generator, shares: Floats
) -> None:
    """Write the shares of one eligible set, those of unknown actions no more than even."""
    write(basis.state, basis.t, eligible, rng, TABLE_DRAWS, shares)
    unknown = basis.unknown() & eligible
    others = eligible & ~unknown
    even, taken = unknown.sum() / eligible.sum(), shares[unknown].sum()
    if others.any() and taken > even:
        rest = np.empty(shares.size)
        write(basis.state, basis.t, others, rng, TABLE_DRAWS, rest)
        shares[:] = np.where(unknown, shares * even / taken, rest * (1.0 - even))
