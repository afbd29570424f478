"""Drive the verbs of a policy with a given history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from foretell.policies.registry import start
from foretell.policies.spec import Spec
from foretell.policies.verbs import credit, indices, observe, play
from foretell.types import Floats, Problem
from tests.reference.counts import Past


def states_of(spec: Spec, problem: Problem, whole: list[Past]) -> Iterator[tuple[int, Any]]:
    """Yield each round with the policy's state at its start, everything due having arrived."""
    state = start(spec, problem)
    for one in whole:
        yield one.round, state
        play(state, one.round, one.action)
        observe(state, one.round, one.action, one.signal)
        for due in whole[: one.round + 1]:
            if due.delay is not None and due.round + due.delay == one.round:
                credit(state, due.round, due.action, due.signal, due.reward)
    yield len(whole), state


def indices_of(state: Any, t: int, actions: int) -> Floats:
    """Return what the policy ranks its actions by."""
    values = np.zeros(actions)
    indices(state, t, values)
    return values
