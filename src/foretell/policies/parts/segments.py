"""Segments: the rounds of one action under one law, with the signals and rewards of each.

Every action has an open segment, which closes when its law is found to have changed; the latest
closed ones are remembered. A reward belongs to the segment of its round. Which one that is, is
decided when the reward arrives, from signals alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from foretell.kernel import kernel

if TYPE_CHECKING:
    from foretell.types import Floats, Ints

ARCHIVE = 32
"""Closed segments that are remembered."""
NO_SEGMENT = -1
"""No segment is remembered for this round."""


class Segments(NamedTuple):
    """What fell into each of some segments."""

    action: Ints
    first: Ints
    """The first round of the segment; -1 where there is none."""
    seen: Ints
    """(segments, signals): signals seen."""
    received: Ints
    """(segments, signals): rewards received."""
    grains: Ints
    """(segments, signals): their sums."""
    told: Floats
    """(segments,): rewards received, at the last look."""
    excess: Floats
    """(segments,): what their mean had over what their signals promised, at that look."""


def new_segments(count: int, signals: int) -> Segments:
    """Return what is known before the first round: nothing."""
    return Segments(
        action=np.arange(count),
        first=np.full(count, -1, np.int64),
        seen=np.zeros((count, signals), np.int64),
        received=np.zeros((count, signals), np.int64),
        grains=np.zeros((count, signals), np.int64),
        told=np.zeros(count),
        excess=np.zeros(count),
    )


@kernel
def find_closed(past: Segments, action: int, t: int) -> int:
    """Return the closed segment that round t of an action belongs to, or NO_SEGMENT."""
    found = NO_SEGMENT
    for segment in range(ARCHIVE):
        first = past.first[segment]
        belongs = past.action[segment] == action and 0 <= first <= t
        if belongs and (found == NO_SEGMENT or first > past.first[found]):
            found = segment
    return found


@kernel
def close_segment(opened: Segments, past: Segments, segment: int, action: int, first: int) -> None:
    """Move the open segment of an action to a closed one, and open the next from round `first`."""
    past.action[segment] = action
    past.first[segment] = opened.first[action]
    past.told[segment] = opened.told[action]
    past.excess[segment] = opened.excess[action]
    opened.first[action] = first
    opened.told[action] = 0.0
    opened.excess[action] = 0.0
    for signal in range(opened.seen.shape[1]):
        past.seen[segment][signal] = opened.seen[action][signal]
        past.received[segment][signal] = opened.received[action][signal]
        past.grains[segment][signal] = opened.grains[action][signal]
        opened.seen[action][signal] = 0
        opened.received[action][signal] = 0
        opened.grains[action][signal] = 0
