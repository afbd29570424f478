"""MetaBIO: exponential weights fed with losses estimated from signals [Esposito2023]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from foretell.kernel import kernel, uniform
from foretell.policies.exp3s import MEMORY
from foretell.policies.parts.radius import anytime_horizon
from foretell.policies.parts.theta import Rewards, add_reward, new_rewards, reward_mean
from foretell.policies.registry import register
from foretell.policies.spec import Spec, check_delta
from foretell.policies.verbs import admit, begin, choose, credit, drawn, observe, play, weights
from foretell.types import Bools, Floats, Ints, Problem

NONE = -1
LEAST = 1e-300
"""No probability counts as less: a loss is divided by it."""


@register(
    "metabio",
    rewards=("bounded",),
    stream=True,
    needs=("horizon",),
    use="signals that an adversary chooses, against one fixed best action",
    cost="O(K)",
    version=2,
)
@dataclass(frozen=True)
class MetaBio(Spec):
    """Delayed Exp3 whose losses are optimistic estimates from the signals.

    A round waits until the losses known for its signal are at least half the visits of that
    signal up to it. Then its action receives the loss max(0, 1 − theta_hat −
    sqrt(ln(4 S T / delta) / (2 n))) of the signal, n being the rewards received for it, divided
    by the probability with which the action was drawn. Actions are drawn with weights
    exp(−eta loss), eta = sqrt(ln K / (K t + rounds waited so far)). Order of arrival matters: it
    reads a stream.
    """

    delta: float = 0.1
    """Error probability of the confidence bound on a signal."""

    def __post_init__(self) -> None:
        """Check the fields."""
        check_delta(self.delta)


class MetaBioState(NamedTuple):
    """Losses by action, theta, and the rounds that wait, in a queue for each signal."""

    delta: float
    horizon: int
    """0 where it is unknown."""
    losses: Floats
    """(actions,): estimated losses."""
    theta: Rewards
    visits: Ints
    """(signals,): how often each signal was seen."""
    released: Ints
    """(signals,): how many of these rounds have been fed to Exp3."""
    first: Ints
    """(signals,): the round that waits longest, or NONE."""
    last: Ints
    """(signals,): the round that waits shortest, or NONE."""
    action: npt.NDArray[np.int32]
    """(memory,): the action of round t at index t mod memory."""
    probability: Floats
    """(memory,): its probability."""
    following: Ints
    """(memory,): the next round that waits with the same signal, or NONE."""
    clock: Ints
    """(3,): the rounds played, those that wait, and the sum of the latter over rounds."""
    scratch: Floats


@begin.register(MetaBio)
def _begin(spec: MetaBio, problem: Problem) -> MetaBioState:
    actions, signals = problem.actions, problem.signals
    memory = problem.horizon or MEMORY
    return MetaBioState(
        delta=float(spec.delta),
        horizon=problem.horizon or 0,
        losses=np.zeros(actions),
        theta=new_rewards(signals),
        visits=np.zeros(signals, np.int64),
        released=np.zeros(signals, np.int64),
        first=np.full(signals, NONE, np.int64),
        last=np.full(signals, NONE, np.int64),
        action=np.zeros(memory, np.int32),
        probability=np.ones(memory),
        following=np.full(memory, NONE, np.int64),
        clock=np.zeros(3, np.int64),
        scratch=np.zeros(actions),
    )


@kernel
def _weigh(state: MetaBioState, t: int, weights: Floats) -> float:
    """Write the weight of every action in round t, and return their sum."""
    return _write_weights(state.losses, _rate(state, t), weights)


@kernel
def _rate(state: MetaBioState, t: int) -> float:
    actions = state.losses.size
    return math.sqrt(math.log(float(actions)) / (actions * (t + 1.0) + state.clock[2]))


@kernel
def _write_weights(losses: Floats, rate: float, weights: Floats) -> float:
    least = math.inf
    for action in range(losses.size):
        least = min(least, losses[action])
    total = 0.0
    for action in range(losses.size):
        weights[action] = math.exp(-rate * (losses[action] - least))
        total += weights[action]
    return total


@kernel
def _drop(state: MetaBioState, signal: int) -> None:
    """Let nothing wait with this signal, because its oldest round is no longer remembered."""
    state.clock[1] -= state.visits[signal] - state.released[signal]
    state.released[signal] = state.visits[signal]
    state.first[signal] = NONE
    state.last[signal] = NONE


@kernel
def _release(state: MetaBioState, signal: int) -> None:
    """Feed Exp3 with every round of this signal that need not wait any longer."""
    received = state.theta.counts[signal]
    ready = min(state.visits[signal], 2 * received)
    if state.released[signal] >= ready:
        return
    horizon = float(state.horizon)
    if horizon == 0.0:
        horizon = float(anytime_horizon(state.clock[0]))
    radius = math.log(4.0 * state.visits.size * horizon / state.delta) / (2.0 * received)
    loss = max(0.0, 1.0 - reward_mean(state.theta, signal) - math.sqrt(radius))
    memory = state.action.size
    while state.released[signal] < ready:
        t = state.first[signal]
        if t < state.clock[0] - memory:
            _drop(state, signal)
            return
        index = t % memory
        state.losses[state.action[index]] += loss / state.probability[index]
        state.first[signal] = state.following[index]
        if state.first[signal] == NONE:
            state.last[signal] = NONE
        state.released[signal] += 1
        state.clock[1] -= 1


@choose.register(MetaBioState)
def _choose(state: MetaBioState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    _weigh(state, t, state.scratch)
    mass = 0.0
    for action in range(eligible.size):
        if eligible[action]:
            mass += state.scratch[action]
    left = uniform(rng) * mass
    chosen = NONE
    for action in range(eligible.size):
        if eligible[action]:
            if chosen == NONE or state.scratch[action] > 0.0:
                chosen = action
            left -= state.scratch[action]
            if left < 0.0:
                break
    return chosen


@weights.register(MetaBioState)
def _weights(state: MetaBioState, t: int, out: Floats) -> None:
    _weigh(state, t, out)


@admit.register(MetaBioState)
def _admit(state: MetaBioState, known: int) -> None:
    """Let newcomers have the mean of the weights: with no loss at all they would have all."""
    weights, rate = np.zeros(known), _rate(state, int(state.clock[0]))
    old = state.losses[:known]
    _write_weights(old, rate, weights)
    state.losses[known:] = old.min() - math.log(weights.mean()) / rate


@play.register(MetaBioState)
def _play(state: MetaBioState, t: int, action: int) -> None:
    total = _weigh(state, t, state.scratch)
    index = t % state.action.size
    state.action[index] = action
    state.probability[index] = max(LEAST, state.scratch[action] / total)
    state.following[index] = NONE
    state.clock[0] = t + 1
    state.clock[2] += state.clock[1]


@drawn.register(MetaBioState)
def _drawn(state: MetaBioState, t: int, action: int, propensity: float) -> None:
    state.probability[t % state.action.size] = max(LEAST, propensity)


@observe.register(MetaBioState)
def _observe(state: MetaBioState, t: int, action: int, signal: int) -> None:
    memory = state.action.size
    if state.last[signal] != NONE and state.last[signal] < state.clock[0] - memory:
        _drop(state, signal)
    state.visits[signal] += 1
    state.clock[1] += 1
    if state.last[signal] == NONE:
        state.first[signal] = t
    else:
        state.following[state.last[signal] % memory] = t
    state.last[signal] = t
    _release(state, signal)


@credit.register(MetaBioState)
def _credit(state: MetaBioState, t: int, action: int, signal: int, reward: float) -> None:
    add_reward(state.theta, signal, reward)
    _release(state, signal)
