"""NSD-KL whose levels grow with ln t, against its formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

from foretell.policies import NsdKl
from foretell.policies.registry import policy
from foretell.policies.verbs import forget
from foretell.types import Floats
from tests.reference.baselines import ranked, run_with_delay, slow_kl

GROWING = NsdKl(level="ln t")


def slow_upper(rewards: list[float], level: float) -> float:
    """Return the largest u with n kl(mean, u) at most the level."""
    if not rewards:
        return 1.0
    mean = sum(rewards) / len(rewards)
    if mean == 1.0:
        return 1.0
    excess = lambda u: len(rewards) * slow_kl(mean, u) - level  # noqa: E731
    return float(brentq(excess, mean + 1e-12, 1.0 - 1e-12))


def slow_index(counts: Floats, upper: Floats, level: float) -> float:
    """Return max q·U over laws with N KL(p, q) at most the level, by a solver."""
    shares = counts / counts.sum()
    shown = shares > 0.0

    def room(q: Floats) -> float:
        divergence = shares[shown] @ np.log(shares[shown] / np.maximum(q[shown], 1e-12))
        return float(level - counts.sum() * divergence)

    found = minimize(
        lambda q: -float(q @ upper),
        0.9 * shares + 0.1 / shares.size,
        bounds=[(1e-9, 1.0)] * shares.size,
        constraints=[
            {"type": "eq", "fun": lambda q: q.sum() - 1.0},
            {"type": "ineq", "fun": room},
        ],
        options={"maxiter": 500, "ftol": 1e-12},
    )
    return -float(found.fun)


@pytest.mark.parametrize("window", [None, 50])
def test_its_indices_are_its_formulas(window: int | None) -> None:
    rounds = 90
    spec = NsdKl(window=window, level="ln t")
    state, history, received = run_with_delay(spec, rounds, delay=10)
    signals = state.base.theta.counts.size
    upper = np.array(
        [
            slow_upper(
                [reward for _, _, s, reward in received if s == signal], math.log(rounds + 1)
            )
            for signal in range(signals)
        ]
    )
    remembered = history[-window:] if window else history
    level = math.log(1.0 + min(rounds, window or rounds))
    for action, index in enumerate(ranked(state, rounds)):
        counts = np.zeros(signals)
        for _, a, signal, _ in remembered:
            counts[signal] += a == action
        assert index == pytest.approx(slow_index(counts, upper, level), abs=1e-5)


def test_time_alone_raises_every_index() -> None:
    state, _, _ = run_with_delay(GROWING, 60, delay=5)
    assert (ranked(state, 6000) > ranked(state, 60)).all()


def test_what_is_known_of_theta_grows_on_after_the_law_is_forgotten() -> None:
    state, _, _ = run_with_delay(GROWING, 60, delay=5)
    ranked(state, 60)
    before = state.scratch_bounds.upper.copy()
    forget(state)
    assert (ranked(state, 0) == math.inf).all()
    np.testing.assert_array_equal(state.scratch_bounds.upper, before)


def test_it_prints_and_reads_its_level() -> None:
    assert str(GROWING) == "nsd-kl(window=None, delta=0.1, level='ln t')"
    assert policy(str(GROWING)) == GROWING
    assert str(NsdKl()) == "nsd-kl(window=None, delta=0.1)"
