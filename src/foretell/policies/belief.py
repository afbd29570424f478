"""What a policy believes of each action now, for reports: its posterior, not what it draws by.

The hypotheses of the run-length filter, theta from every reward, and the residual once the model
is doubted. Of the residual's precision only rewards that have come count, not plays whose reward
is on its way, with the variance of the action's own rewards. That an action may have changed unseen
since its latest signal is left out: it is a reason to look again, and no news of its value.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from foretell.policies.nsd_psrl_cp import NsdPsrlCpState, RobustPsrlCpState
from foretell.policies.parts.residual import FLOOR, Residual, doubted
from foretell.stats.value_now import Belief, residual_deviation
from foretell.types import GRAIN, Floats

LEAST_PRECISION = 1.0
"""Of what is expected of a residual: its variance is 1 at most, as rewards lie in [0, 1]."""


@singledispatch
def belief_of(state: Any) -> Belief | None:
    """Return what a policy believes; None for one without such a posterior."""
    return None


@belief_of.register(NsdPsrlCpState)
def _belief(state: NsdPsrlCpState) -> Belief:
    runs, actions = state.runs, state.scratch.size
    used = np.arange(runs.weight.shape[1]) < runs.used[:, None]
    weights = np.where(used, runs.weight, 0.0)
    return Belief(
        weights / weights.sum(axis=1, keepdims=True),
        runs.counts.astype(np.float64),
        state.theta.counts.astype(np.float64),
        state.theta.grains / GRAIN,
        np.zeros(actions),
        np.zeros(actions),
        np.zeros(actions),
    )


@belief_of.register(RobustPsrlCpState)
def _robust_belief(state: RobustPsrlCpState) -> Belief:
    known, residual = _belief(state.base), state.residual
    if not doubted(residual):
        return known
    weight, prior = _own_weight(residual, _noise(known))
    opened = residual.open
    deviation = residual_deviation(prior, weight, opened.told, opened.grains.sum(axis=1) / GRAIN)
    return known._replace(residual=residual.mean.copy(), deviation=deviation, cancelled=weight)


def _noise(known: Belief) -> float:
    """Return the variance of a reward that the policy reckons with."""
    mean = float(known.sums.sum() / max(1.0, known.rewards.sum()))
    return max(FLOOR, mean * (1.0 - mean))


def _own_weight(residual: Residual, noise: float) -> tuple[Floats, Floats]:
    """Return the weight of an action's own rewards in its residual, and the prior variance."""
    told = residual.open.told
    plays = np.maximum(residual.open.seen.sum(axis=1), told)
    prior = 1.0 / np.maximum(residual.deviation, 1e-6) ** 2 - plays / noise
    prior = np.maximum(prior, LEAST_PRECISION)
    return told / noise / (prior + told / noise), 1.0 / prior
