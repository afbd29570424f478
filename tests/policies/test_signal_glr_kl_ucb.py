"""Signal-GLR KL-UCB restarts when signals change."""

from __future__ import annotations

from foretell.policies import SignalGlrKlUcb, start
from foretell.policies.verbs import credit, observe, play
from foretell.types import Problem


def test_a_change_of_signals_restarts_and_drops_rewards_of_before() -> None:
    state = start(SignalGlrKlUcb(alpha=0.0), Problem(2, 2, horizon=2000))
    for t in range(300):
        play(state, t, t % 2)
        observe(state, t, t % 2, int(t >= 150))
        if t >= 50:
            credit(state, t - 50, t % 2, 0, 1.0)
    restart = int(state.since[0])
    assert state.clock[1] >= 1
    assert 150 < restart < 200
    assert state.rewards.counts.sum() == 250 - restart
