"""MetaBIO against a slow twin written from its paper."""

from __future__ import annotations

import math

import numpy as np
import pytest

import foretell as ft
from foretell.policies import MetaBio, start
from foretell.policies.verbs import credit, drawn, observe, play
from foretell.types import Problem
from tests.reference.baselines import run_with_delay


@pytest.mark.parametrize("delay", [0, 4, 20])
def test_metabio_feeds_what_has_waited_long_enough(delay: int) -> None:
    rounds, delta, actions, signals = 120, 0.1, 3, 3
    state, history, _ = run_with_delay(MetaBio(delta=delta), rounds, delay)
    losses = np.zeros(actions)
    waiting: list[tuple[int, int, int]] = []
    probability: dict[int, float] = {}
    visits, known = np.zeros(signals, int), np.zeros(signals, int)
    sums, waited = np.zeros(signals), 0

    def release() -> None:
        for one in list(waiting):
            u, signal, visit = one
            if known[signal] >= visit / 2:
                radius = math.sqrt(math.log(4 * signals * rounds / delta) / (2 * known[signal]))
                loss = max(0.0, 1 - sums[signal] / known[signal] - radius)
                losses[history[u][1]] += loss / probability[u]
                waiting.remove(one)

    for t, action, signal, _ in history:
        rate = math.sqrt(math.log(actions) / (actions * (t + 1) + waited))
        weights = np.exp(-rate * (losses - losses.min()))
        probability[t] = weights[action] / weights.sum()
        waited += len(waiting)
        visits[signal] += 1
        waiting.append((t, signal, int(visits[signal])))
        release()
        if t >= delay:
            _, _, earlier, reward = history[t - delay]
            known[earlier] += 1
            sums[earlier] += reward
            release()
    np.testing.assert_allclose(state.losses, losses, rtol=1e-9)
    assert state.clock[1] == len(waiting)
    assert state.clock[2] == waited


def test_a_newcomer_to_metabio_has_the_mean_of_the_weights() -> None:
    """With no loss at all it would be played for as long as the others have been."""
    agent = ft.Agent("metabio", actions=["a", "b", "c"], signals=["no", "yes"], seed=0)
    chosen: list[str] = []
    for t in range(3000):
        if t == 2000:
            agent.add_action("bad")
        decision = agent.decide()
        good = decision.action == "a" and t % 10 > 0
        agent.signal(decision, "yes" if good else "no")
        agent.reward(decision, float(good))
        chosen.append(decision.action)
    assert chosen[2000:].count("bad") < 150


def test_metabio_divides_a_loss_by_the_propensity_that_it_is_handed() -> None:
    losses = []
    for propensity in (0.5, 0.25):
        state = start(MetaBio(delta=1.0), Problem(3, 2, horizon=4000))
        for t in range(2000):
            play(state, t, t % 3)
            drawn(state, t, t % 3, propensity)
            observe(state, t, t % 3, 0)
            credit(state, t, t % 3, 0, 0.0)
        losses.append(state.losses.copy())
    assert losses[0].min() > 0.0
    np.testing.assert_allclose(losses[1], 2 * losses[0], rtol=1e-12)
