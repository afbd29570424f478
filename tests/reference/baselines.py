"""Histories with late rewards, and slow, obvious twins of what baselines compute."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from foretell.policies import start
from foretell.policies.parts.prefix_grid import grid_before
from foretell.policies.verbs import credit, indices, observe, play
from foretell.types import Floats, Problem


def slow_kl(p: float, q: float) -> float:
    """Return the divergence of two Bernoulli laws, as SciPy has it."""
    return float(special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q))


def random_history(rounds: int, actions: int, seed: int) -> list[tuple[int, int, int, float]]:
    """Draw (round, action, signal, reward) for each round."""
    rng = np.random.default_rng(seed)
    return [
        (t, int(rng.integers(actions)), int(rng.integers(3)), float(rng.integers(2)))
        for t in range(rounds)
    ]


def run_with_delay(spec: Any, rounds: int, delay: int, seed: int = 0, actions: int = 3) -> Any:
    """Return the state, and what is known, after rounds in which rewards are late by `delay`."""
    state = start(spec, Problem(actions, 3, horizon=rounds))
    history = random_history(rounds, actions, seed)
    for t, action, signal, _ in history:
        play(state, t, action)
        observe(state, t, action, signal)
        if t >= delay:
            credit(state, *history[t - delay])
    return state, history, history[: max(0, rounds - delay)]


def ranked(state: Any, t: int, actions: int = 3) -> Floats:
    """Return the index of every action."""
    out = np.zeros(actions)
    indices(state, t, out)
    return out


def splits(length: int) -> list[tuple[int, int]]:
    """Return every split of the prefix grid, latest first, with its level."""
    found = []
    moment, level = grid_before(length, length, 0)
    while moment > 0:
        found.append((moment, level))
        moment, level = grid_before(length, moment, level)
    return found
