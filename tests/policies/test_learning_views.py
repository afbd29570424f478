"""Verbs that learn come to the same bytes on views of a state as on the state itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from foretell.policies import NsdAdaptive, NsdPsrlCp
from foretell.policies.registry import start
from foretell.policies.spec import Spec
from foretell.policies.state import fingerprint, learning_view
from foretell.policies.verbs import (
    SILENT,
    credit,
    elapse,
    has,
    observe,
    play,
    uncredit,
    unwait,
    wait,
)
from foretell.types import GRAIN, Problem

ACTIONS, SIGNALS, ROUNDS, DELAY = 4, 3, 400, 30
SPECS = [
    NsdAdaptive(),
    NsdPsrlCp(coupling=0.5),
    NsdAdaptive(censored=True, typical_delay=8.0),
    NsdAdaptive(ordered=False),
]


def learn(state: Any, *, offset: float) -> None:
    """Learn from a world that changes, whose rewards depend on the action by `offset`."""
    rng = np.random.default_rng(3)
    late: list[tuple[int, int, int, float]] = []
    for t in range(ROUNDS):
        action = int(rng.integers(ACTIONS))
        share = 0.1 + 0.2 * action if t < ROUNDS // 2 else 0.9 - 0.2 * action
        signal = int(rng.random() < share) * int(rng.integers(1, SIGNALS))
        reward = float(rng.random() < 0.3 * signal + offset * action)
        play(state, t, action)
        elapse(state, t)
        observe(state, t, action, signal)
        wait(state, t, signal, SILENT, 0.0, False)
        late.append((t, action, signal, reward if t % 5 else 0.37))
        if t >= DELAY:
            one = late[t - DELAY]
            unwait(state, one[0], one[2], SILENT, 0.0, False)
            credit(state, *one)
            if t % 7 == 0 and has(uncredit, state):
                uncredit(state, *one)


@pytest.mark.parametrize(
    ("spec", "offset", "before"),
    [*((spec, 0.0, 0) for spec in SPECS), (NsdAdaptive(), 0.3, 0), (NsdAdaptive(), 0.3, 2**24)],
)
def test_a_state_and_its_view_learn_the_same(spec: Spec, offset: float, before: int) -> None:
    """Also with so many rewards before that their sum has no exact float."""
    state: Any = start(spec, Problem(ACTIONS, SIGNALS))
    twin: Any = start(spec, Problem(ACTIONS, SIGNALS))
    assert learning_view(state) is not state
    for one in (state, twin):
        theta = one.theta if isinstance(spec, NsdPsrlCp) else one.base.theta
        theta.counts[:] += before
        theta.grains[:] += before * int(GRAIN) // 3
    learn(state, offset=offset)
    learn(learning_view(twin), offset=offset)
    assert fingerprint(state) == fingerprint(twin)
    if offset and isinstance(spec, NsdAdaptive) and not before:
        assert state.residual.mean.any(), "the model was doubted"


def test_other_states_are_their_own_view() -> None:
    from foretell.policies import Ucb

    state = start(Ucb(), Problem(2, 2))
    assert learning_view(state) is state
