"""GLR-klUCB restarts when rewards change, and explores in turn."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.policies import GlrKlUcb, start
from foretell.policies.verbs import choose, credit, play
from foretell.types import Problem


@pytest.mark.parametrize("local", [False, True])
def test_a_change_of_rewards_restarts(local: bool) -> None:
    state = start(GlrKlUcb(local=local, alpha=0.0), Problem(2, 2, horizon=2000))
    for t in range(200):
        play(state, t, t % 2)
        credit(state, t, t % 2, 0, 1.0 if t < 100 or t % 2 else 0.0)
    assert state.clock[1] == 1
    assert 100 < state.since[0] < 160
    assert state.since[1] == (0 if local else state.since[0])


def test_forced_rounds_visit_every_action_in_turn() -> None:
    actions, share = 4, 0.25
    state = start(GlrKlUcb(alpha=share), Problem(actions, 2, horizon=400))
    everyone = np.ones(actions, np.bool_)
    rng = np.random.default_rng(0)
    period = int(actions / share)
    for block in range(10):
        seen = []
        for t in range(block * period, block * period + actions):
            action = choose(state, t, everyone, rng)
            play(state, t, action)
            seen.append(action)
        assert sorted(seen) == list(range(actions))
