"""CUSUM-UCB: restarts an action when the sum of what its rewards lack grows [Liu2018]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.errors import InvalidInput
from foretell.kernel import kernel, uniform
from foretell.policies.exp3s import check_changes
from foretell.policies.kl_ucb import exploration, write_level
from foretell.policies.parts.argmax import argmax
from foretell.policies.parts.forced_exploration import doubled_horizon
from foretell.policies.parts.kl_argmax import kl_argmax
from foretell.policies.parts.theta import Rewards, add_reward, new_rewards, reward_mean
from foretell.policies.registry import register
from foretell.policies.spec import Spec
from foretell.policies.verbs import alarms, begin, choose, credit, ignore, observe, play
from foretell.types import Bools, Floats, Ints, Problem, is_number, is_whole


@register(
    "cusum-ucb",
    rewards=("bounded",),
    stream=True,
    needs=("horizon", "changes count", "size of a change"),
    use="single actions that change suddenly, signals that say nothing about rewards",
    cost="O(K)",
)
@dataclass(frozen=True)
class CusumUcb(Spec):
    """KL-UCB on delayed rewards that restarts an action when a CUSUM test on it sees a change.

    The mean of an action's first `first` rewards is its base. From then on two walks,
    max(0, walk ± (reward − base) − drift), wait for h = ln(T / changes); the action that reaches it
    is forgotten, and no other. With probability sqrt(changes ln(T / changes) / T) any action is
    played. The index is max{q : N kl(mean, q) <= ln n}, with N the action's rewards and n those of
    all, as [Besson2022] run it, not the paper's UCB1. The test reads the stream of rewards.
    """

    changes: int = 3
    """How many changes are expected over the horizon."""
    first: int = 150
    """How many rewards of an action its base is the mean of."""
    drift: float = 0.1
    """Half of the smallest change that should be noticed."""

    def __post_init__(self) -> None:
        """Check the fields."""
        check_changes(self.changes)
        if not is_whole(self.first) or self.first < 1:
            raise InvalidInput(
                f"first is how many rewards the base is the mean of: at least 1, got {self.first!r}"
            )
        if not is_number(self.drift) or not 0.0 <= self.drift < 1.0:
            raise InvalidInput(
                f"drift is half the smallest change to be seen, in [0, 1), got {self.drift!r}"
            )


class CusumUcbState(NamedTuple):
    """Rewards since each action's restart, its base and its walks."""

    changes: float
    first: int
    drift: float
    horizon: int
    """0 where it is unknown."""
    rewards: Rewards
    base: Floats
    """(actions,): the mean of the first rewards, once they are in."""
    walks: Floats
    """(actions, 2): upwards and downwards."""
    clock: Ints
    """(2,): the rounds played, and the restarts so far."""
    scratch: Floats
    scratch_levels: Floats


@begin.register(CusumUcb)
def _begin(spec: CusumUcb, problem: Problem) -> CusumUcbState:
    actions = problem.actions
    return CusumUcbState(
        changes=float(max(1, spec.changes)),
        first=int(spec.first),
        drift=float(spec.drift),
        horizon=problem.horizon or 0,
        rewards=new_rewards(actions),
        base=np.zeros(actions),
        walks=np.zeros((actions, 2)),
        clock=np.zeros(2, np.int64),
        scratch=np.zeros(actions),
        scratch_levels=np.zeros(actions),
    )


@kernel
def _threshold(state: CusumUcbState, t: int) -> float:
    """Return h = ln(T / G) of [Liu2018]."""
    return math.log(max(1.0, doubled_horizon(state.horizon, t) / state.changes))


@kernel
def explored_share(state: CusumUcbState, t: int) -> float:
    """Return alpha = sqrt(G ln(T / G) / T) of [Liu2018], at most 1."""
    horizon = float(doubled_horizon(state.horizon, t))
    return min(1.0, math.sqrt(state.changes * _threshold(state, t) / horizon))


@kernel
def cusum_levels(state: CusumUcbState, means: Floats, levels: Floats) -> None:
    """Write the mean of each action, and what the divergence of its index may reach."""
    total = 0
    for action in range(means.size):
        total += state.rewards.counts[action]
    level = exploration(float(total), 0.0)
    for action in range(means.size):
        write_level(state.rewards, action, level, means, levels)


@choose.register(CusumUcbState)
def _choose(state: CusumUcbState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    if uniform(rng) < explored_share(state, t):
        state.scratch[:] = 0.0
        return argmax(state.scratch, eligible, rng)
    cusum_levels(state, state.scratch, state.scratch_levels)
    return kl_argmax(state.scratch, state.scratch_levels, eligible, rng)


@play.register(CusumUcbState)
def _play(state: CusumUcbState, t: int, action: int) -> None:
    state.clock[0] = t + 1


ignore(CusumUcbState, observe)


@credit.register(CusumUcbState)
def _credit(state: CusumUcbState, t: int, action: int, signal: int, reward: float) -> None:
    add_reward(state.rewards, action, reward)
    received = state.rewards.counts[action]
    if received == state.first:
        state.base[action] = reward_mean(state.rewards, action)
    if received <= state.first:
        return
    surplus = reward - state.base[action]
    up = max(0.0, state.walks[action, 0] + surplus - state.drift)
    down = max(0.0, state.walks[action, 1] - surplus - state.drift)
    state.walks[action, 0] = up
    state.walks[action, 1] = down
    if max(up, down) <= _threshold(state, state.clock[0]):
        return
    state.clock[1] += 1
    state.rewards.counts[action] = 0
    state.rewards.grains[action] = 0
    state.base[action] = 0.0
    state.walks[action, 0] = 0.0
    state.walks[action, 1] = 0.0


@alarms.register(CusumUcbState)
def _alarms(state: CusumUcbState) -> int:
    return state.clock[1]
