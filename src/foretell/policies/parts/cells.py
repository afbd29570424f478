"""Segments of actions, called cells: the signals and the rewards that fell into each.

Every action has an open cell, which closes when its law is found to have changed; the latest
closed ones are remembered. A reward belongs to the cell of its round. Which cell that is, is
decided when it arrives, from signals alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from foretell.kernel import kernel

if TYPE_CHECKING:
    from foretell.types import Floats, Ints

ARCHIVE = 32
"""Closed cells that are remembered."""
NONE = -1


class Cells(NamedTuple):
    """Segments of actions."""

    action: Ints
    first: Ints
    """The first round of the cell; -1 where there is none."""
    seen: Ints
    """(cells, signals): signals seen."""
    received: Ints
    """(cells, signals): rewards received."""
    grains: Ints
    """(cells, signals): their sums."""
    told: Floats
    """(cells,): rewards received, at the last look."""
    excess: Floats
    """(cells,): by how much their mean exceeded what their signals promised, at the last look."""


def new_cells(cells: int, signals: int) -> Cells:
    """Know nothing yet."""
    return Cells(
        action=np.arange(cells),
        first=np.full(cells, -1, np.int64),
        seen=np.zeros((cells, signals), np.int64),
        received=np.zeros((cells, signals), np.int64),
        grains=np.zeros((cells, signals), np.int64),
        told=np.zeros(cells),
        excess=np.zeros(cells),
    )


@kernel
def find_past(past: Cells, action: int, t: int) -> int:
    """Give the closed cell that round t of an action belongs to, or NONE."""
    found = NONE
    for cell in range(ARCHIVE):
        first = past.first[cell]
        belongs = past.action[cell] == action and 0 <= first <= t
        if belongs and (found == NONE or first > past.first[found]):
            found = cell
    return found


@kernel
def close_cell(opened: Cells, past: Cells, cell: int, action: int, first: int) -> None:
    """Move the open cell of an action to a closed one, and open the next from round `first` on."""
    past.action[cell] = action
    past.first[cell] = opened.first[action]
    past.told[cell] = opened.told[action]
    past.excess[cell] = opened.excess[action]
    opened.first[action] = first
    opened.told[action] = 0.0
    opened.excess[action] = 0.0
    for signal in range(opened.seen.shape[1]):
        past.seen[cell, signal] = opened.seen[action, signal]
        past.received[cell, signal] = opened.received[action, signal]
        past.grains[cell, signal] = opened.grains[action, signal]
        opened.seen[action, signal] = 0
        opened.received[action, signal] = 0
        opened.grains[action, signal] = 0
