"""Many draws of a sampling policy at once, in NumPy: the verb `draw_values` of every such policy.

A draw of a policy that samples gives every action a value, and the policy plays the largest. Drawn
by `choose` that is one call for each draw and each action; here all draws of all actions are a few
calls for each of some hundred actions, which takes a fiftieth of the time of plain Python, and
leaves the interpreter to others meanwhile. The numbers are not those of `choose`, their law is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from foretell.policies.d_ts import DTsState
from foretell.policies.nsd_psrl import NsdPsrlState
from foretell.policies.nsd_psrl_cp import NsdPsrlCpState, RobustPsrlCpState
from foretell.policies.parts.delay_fit import fit_delays
from foretell.policies.parts.moving_theta import theta_moves
from foretell.policies.parts.open_rewards import OpenRewards
from foretell.policies.parts.ordered_theta import ThetaPrior, put_in_order
from foretell.policies.parts.residual import doubted
from foretell.policies.parts.run_length import AGE, NONE, RunLengths, idle_share, resting_rate
from foretell.policies.parts.theta import Rewards
from foretell.policies.sw_ts import SwTsState
from foretell.policies.ts import TsState
from foretell.policies.verbs import draw_values
from foretell.types import GRAIN

if TYPE_CHECKING:
    from foretell.types import Bools, Floats, Ints

NUMBERS = 65_536
"""Numbers that are drawn in one call, about: others get their turn after some milliseconds."""


def _parts(actions: Ints, width: int) -> Iterator[slice]:
    """Cut actions into parts, each action with so many numbers."""
    step = max(1, NUMBERS // max(1, width))
    for first in range(0, actions.size, step):
        yield slice(first, first + step)


def _draw_means(
    counts: Floats | Ints, sums: Floats, draws: int, gaussian: bool, rng: np.random.Generator
) -> Floats:
    """Draw the mean reward of each index, so many times: (indices, draws)."""
    size = (len(counts), draws)
    counts, sums = counts[:, np.newaxis], sums[:, np.newaxis]
    if gaussian:
        means = sums / (counts + 1.0)
        drawn: Floats = means + rng.standard_normal(size) / np.sqrt(counts + 1.0)
        return drawn
    return rng.beta(1.0 + sums, 1.0 + counts - sums, size)


@draw_values.register(TsState)
def _draw_ts(state: TsState, t: int, actions: Ints, draws: int, rng: np.random.Generator) -> Floats:
    counts, sums = state.rewards.counts[actions], state.rewards.grains[actions] / GRAIN
    return _draw_means(counts, sums, draws, state.gaussian, rng)


@draw_values.register(SwTsState)
def _draw_sw_ts(
    state: SwTsState, t: int, actions: Ints, draws: int, rng: np.random.Generator
) -> Floats:
    rewards = state.inner.rewards
    counts, sums = rewards.counts[actions], rewards.grains[actions] / GRAIN
    return _draw_means(counts, sums, draws, state.gaussian, rng)


@draw_values.register(DTsState)
def _draw_d_ts(
    state: DTsState, t: int, actions: Ints, draws: int, rng: np.random.Generator
) -> Floats:
    sums = state.rewards.sums[actions]
    counts = np.maximum(sums, state.rewards.counts[actions])  # rounding may leave it a hair below
    return _draw_means(counts, sums, draws, False, rng)  # noqa: FBT003


def _with_open(
    theta: Rewards, prior: ThetaPrior, rewards: OpenRewards
) -> tuple[Rewards, ThetaPrior]:
    """Return rewards and prior with the open decisions in them, as `sample_known_theta` does."""
    if rewards.width == 0:
        return theta, prior
    arrived = rewards.arrived.sum(axis=1)
    known = Rewards(theta.counts + arrived, theta.grains + rewards.grains)
    silent = np.maximum(rewards.scratch_known - arrived, known.grains / GRAIN - known.counts)
    return known, prior._replace(counts=prior.counts + silent)


def _draw_thetas(
    theta: Rewards,
    prior: ThetaPrior,
    rewards: OpenRewards,
    gaussian: bool,
    draws: int,
    rng: np.random.Generator,
) -> Floats:
    """Draw theta, so many times: (draws, signals); rewards may be others in each draw."""
    known, prior = _with_open(theta, prior, rewards)
    counts = prior.counts + known.counts
    sums = prior.sums + known.grains / GRAIN
    size = (draws, sums.shape[-1])
    if gaussian:
        thetas: Floats = sums / (counts + 1.0) + rng.standard_normal(size) / np.sqrt(counts + 1.0)
    else:
        thetas = rng.beta(1.0 + sums, 1.0 + counts - sums, size)
    if prior.ordered:
        scratch = [[0.0] * size[1] for _ in range(4)]
        arrays = (*known, prior.counts, prior.sums)
        lists = [np.broadcast_to(one, size).tolist() for one in arrays]
        for draw in np.flatnonzero((thetas[:, 1:] < thetas[:, :-1]).any(axis=1)).tolist():
            received, grains, declared, values = (one[draw] for one in lists)
            sample = thetas[draw].tolist()
            besides = ThetaPrior(ordered=True, counts=declared, sums=values, scratch_blocks=scratch)  # type: ignore[arg-type]
            put_in_order(Rewards(received, grains), besides, gaussian, sample)
            thetas[draw] = sample
    return thetas


def _values_of(weights: Floats, thetas: Floats) -> Floats:
    """Return what actions are worth by the weights of their signals, (actions, draws, signals)."""
    values: Floats = np.einsum("ads,ds->ad", weights, thetas) / weights.sum(axis=2)
    return values


@draw_values.register(NsdPsrlState)
def _draw_psrl(
    state: NsdPsrlState, t: int, actions: Ints, draws: int, rng: np.random.Generator
) -> Floats:
    if state.open.width > 0:
        fit_delays(state.open, state.theta)
    thetas = _draw_thetas(state.theta, state.prior, state.open, state.gaussian, draws, rng)
    values = np.empty((actions.size, draws))
    for part in _parts(actions, draws * thetas.shape[1]):
        counts = state.law.counts[actions[part]]
        size = (len(counts), draws, counts.shape[1])
        weights = rng.standard_gamma(1.0 + counts[:, np.newaxis, :], size)
        values[part] = _values_of(weights, thetas)
    values[~state.law.ever[actions]] = np.inf
    return values


def _draw_runs(
    runs: RunLengths, some: Ints, t: int, draws: int, rng: np.random.Generator
) -> tuple[Ints, Bools]:
    """Draw a hypothesis for each action by weight, and whether it has changed since instead.

    (actions, draws) both. The hypothesis of an action that has changed since says nothing.
    """
    last, used = runs.last[some], runs.used[some]
    rest = np.maximum(0, t - last)
    unseen = idle_share(runs) * np.log((last + rest + AGE) / (last + AGE))
    kept = np.exp(-unseen - resting_rate(runs) * rest)
    drawn = rng.random((some.size, draws)) / kept[:, np.newaxis]
    reached = np.cumsum(runs.weight[some, : used.max()], axis=1)
    reached[np.arange(used.max()) >= used[:, np.newaxis] - 1] = np.inf  # the last has the rest
    index = (drawn[:, :, np.newaxis] >= reached[:, np.newaxis, :]).sum(axis=2)
    return index, drawn >= 1.0


def _draw_laws(
    state: NsdPsrlCpState,
    t: int,
    actions: Ints,
    thetas: Floats,
    rng: np.random.Generator,
) -> tuple[Floats, Bools]:
    """Draw values, and whether another action's change suggests the law of each."""
    runs, draws = state.runs, len(thetas)
    values = np.empty((actions.size, draws))
    new = np.zeros((actions.size, draws), np.bool_)
    for part in _parts(actions, draws * thetas.shape[1]):
        some = actions[part]
        index, changed = _draw_runs(runs, some, t, draws, rng)
        shapes = 1.0 + state.sharpness * runs.counts[some[:, np.newaxis], index]
        shapes[changed] = 1.0
        values[part] = _values_of(rng.standard_gamma(shapes), thetas)
        pending = runs.pending[some][:, np.newaxis]
        start = runs.start[some[:, np.newaxis], index]
        new[part] = (pending != NONE) & ~changed & (start >= pending)
    return values, new


@draw_values.register(NsdPsrlCpState)
def _draw_cp(
    state: NsdPsrlCpState, t: int, actions: Ints, draws: int, rng: np.random.Generator
) -> Floats:
    if state.open.width > 0:
        fit_delays(state.open, state.theta)
    thetas = _draw_thetas(state.theta, state.prior, state.open, state.gaussian, draws, rng)
    return _draw_laws(state, t, actions, thetas, rng)[0]


@draw_values.register(RobustPsrlCpState)
def _draw_robust(
    state: RobustPsrlCpState, t: int, actions: Ints, draws: int, rng: np.random.Generator
) -> Floats:
    base, residual = state.base, state.residual
    moves = theta_moves(state.moving, residual.evidence[0])
    if base.open.width > 0:
        fit_delays(base.open, base.theta)
    theta = _draw_since(state.moving.runs, draws, rng) if moves else base.theta
    thetas = _draw_thetas(theta, base.prior, base.open, base.gaussian, draws, rng)
    values, new = _draw_laws(base, t, actions, thetas, rng)
    if not moves and doubted(residual):
        luck = rng.standard_normal(values.shape)
        mean, deviation = residual.mean[actions], residual.deviation[actions]
        explained = mean[:, np.newaxis] + deviation[:, np.newaxis] * luck
        values += np.where(new, 0.0, explained)
    return values


def _draw_since(runs: RunLengths, draws: int, rng: np.random.Generator) -> Rewards:
    """Draw a last change for every signal, so many times, and return the rewards since."""
    signals = np.arange(runs.used.size)
    index, _ = _draw_runs(runs, signals, 0, draws, rng)
    counts = runs.totals[signals[:, np.newaxis], index].T
    return Rewards(counts, runs.counts[signals[:, np.newaxis], index, 0].T)
