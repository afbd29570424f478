"""Queues give back what they were given, in order, and drop the oldest where they are full."""

from __future__ import annotations

from collections import deque

import numpy as np

from foretell.policies.parts.reward_queues import NONE, new_reward_queues, queue_add, queue_take


def test_queues_are_first_come_first_served() -> None:
    rng = np.random.default_rng(0)
    places = 6
    queues = new_reward_queues(3, places)
    twins: list[deque[int]] = [deque() for _ in range(3)]
    for step in range(2000):
        action = int(rng.integers(3))
        if rng.random() < 0.6:
            queue_add(queues, action, step)
            if sum(map(len, twins)) == places:
                if not twins[action]:
                    continue
                twins[action].popleft()
            twins[action].append(step)
        elif twins[action]:
            assert queue_take(queues, action) == twins[action].popleft()
        assert [one == NONE for one in queues.first] == [not twin for twin in twins]
