"""Rewards that wait until they are asked for: one queue per action, first come, first served.

All queues share one pool of places, linked to each other, so that memory does not grow with the
number of actions. Where the pool is full, the oldest reward of the same action makes room.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foretell.kernel import kernel
from foretell.types import Ints

NONE = -1


class RewardQueues(NamedTuple):
    """The queues of all actions."""

    first: Ints
    """(actions,): the place of the oldest reward, or NONE."""
    last: Ints
    """(actions,): the place of the newest, or NONE."""
    grains: Ints
    """(places,): the reward in a place."""
    number: Ints
    """(places,): how many rewards had come before it, of any action."""
    following: Ints
    """(places,): the place of the next one of the same action, or of the next free place."""
    free: Ints
    """(2,): the first free place, or NONE, and how many rewards have come."""


def new_reward_queues(actions: int, places: int) -> RewardQueues:
    """Return queues in which nothing waits."""
    following = np.arange(1, places + 1)
    following[-1] = NONE
    return RewardQueues(
        first=np.full(actions, NONE, np.int64),
        last=np.full(actions, NONE, np.int64),
        grains=np.zeros(places, np.int64),
        number=np.zeros(places, np.int64),
        following=following,
        free=np.zeros(2, np.int64),
    )


@kernel
def queue_take(queues: RewardQueues, action: int) -> int:
    """Take the oldest reward of an action, which has one; return its grains."""
    place = queues.first[action]
    queues.first[action] = queues.following[place]
    if queues.first[action] == NONE:
        queues.last[action] = NONE
    queues.following[place] = queues.free[0]
    queues.free[0] = place
    return queues.grains[place]


@kernel
def queue_add(queues: RewardQueues, action: int, grains: int) -> None:
    """Let a reward wait; if there is no place, the oldest of its action goes, or itself."""
    if queues.free[0] == NONE:
        if queues.first[action] == NONE:
            return
        queue_take(queues, action)
    place = queues.free[0]
    queues.free[0] = queues.following[place]
    queues.grains[place] = grains
    queues.number[place] = queues.free[1]
    queues.following[place] = NONE
    queues.free[1] += 1
    if queues.first[action] == NONE:
        queues.first[action] = place
    else:
        queues.following[queues.last[action]] = place
    queues.last[action] = place
