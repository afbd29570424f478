"""Many draws at once have the law of what a policy would choose, whatever it knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from foretell.policies import registered_policies
from foretell.policies.registry import policy, start
from foretell.policies.verbs import choose, credit, draw_values, has, observe, play
from foretell.types import Problem, RewardKind

ACTIONS, SIGNALS, ROUNDS, DRAWS = 5, 3, 300, 2000
FAR = 4.5
"""Standard deviations that nothing of all that is looked at here is off."""
SAMPLERS = {
    "nsd-adaptive",
    "nsd-psrl",
    "nsd-psrl-cp",
    "ts",
    "sw-ts",
    "d-ts",
}


def experienced(name: str, rewards: RewardKind = "bounded") -> Any:
    """Return a state that knows something of every action but the last."""
    state = start(policy(name), Problem(ACTIONS, SIGNALS, rewards))
    rng = np.random.default_rng(5)
    for t in range(ROUNDS):
        action = int(rng.integers(ACTIONS - 1))
        share = 0.2 + 0.15 * action if t < ROUNDS // 2 else 0.7 - 0.15 * action
        signal = int(rng.random() < share) * int(rng.integers(1, SIGNALS))
        play(state, t, action)
        observe(state, t, action, signal)
        if t % 3:
            credit(state, t, action, signal, float(rng.random() < 0.2 + 0.3 * signal))
    return state


def doubted(state: Any) -> Any:
    """Let the model be doubted, and a change of one action suggest one of others."""
    state.residual.evidence[:] = 50.0
    state.residual.mean[:] = np.linspace(-0.1, 0.2, ACTIONS)
    state.residual.deviation[:] = 0.1
    state.base.runs.pending[:2] = ROUNDS // 2
    return state


def moving(state: Any) -> Any:
    """Let theta move."""
    state.moving.evidence[0] = 1e3
    return state


CASES: dict[str, Any] = {name: lambda name=name: experienced(name) for name in sorted(SAMPLERS)} | {
    "nothing known": lambda: start(policy("nsd-adaptive"), Problem(ACTIONS, SIGNALS)),
    "doubted": lambda: doubted(experienced("nsd-adaptive")),
    "moving": lambda: moving(experienced("nsd-adaptive")),
    "not ordered": lambda: experienced("nsd-adaptive(ordered=False)"),
    "censored": lambda: experienced("nsd-psrl(censored=True, typical_delay=9.0)"),
    "gaussian": lambda: experienced("nsd-adaptive", "gaussian"),
}


def test_every_policy_that_samples_values_has_the_verb() -> None:
    have = {
        name
        for name, known in registered_policies().items()
        if not known.lab_only and has(draw_values, start(policy(name), Problem(2, 2)))
    }
    assert have == SAMPLERS


@pytest.mark.statistics
@pytest.mark.parametrize("case", CASES)
def test_the_largest_value_of_a_draw_is_what_the_policy_would_choose(case: str) -> None:
    state = CASES[case]()
    eligible, t = np.array([True, True, False, True, True]), ROUNDS + 40
    rng = np.random.default_rng(1)
    alone = np.zeros(ACTIONS)
    for _ in range(DRAWS):
        alone[choose(state, t, eligible, rng)] += 1
    actions = np.flatnonzero(eligible)
    values = draw_values(state, t, actions, DRAWS, rng)
    assert values.shape == (actions.size, DRAWS)
    ties = values == values.max(axis=0)
    at_once = np.zeros(ACTIONS)
    at_once[actions] = (ties / ties.sum(axis=0)).sum(axis=1)
    share = (alone + at_once) / (2 * DRAWS)
    far = FAR * np.sqrt(2 * DRAWS * share * (1 - share))
    assert (abs(alone - at_once) <= far + 1e-9).all(), (alone, at_once)
