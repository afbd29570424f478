"""QPM-D: a policy for prompt rewards, fed from queues when rewards are late [Joulani2013]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.kernel import kernel
from foretell.policies.exp3s import MEMORY
from foretell.policies.kl_ucb import check_loglog, exploration, kl_index
from foretell.policies.parts.argmax import TIE, argmax
from foretell.policies.parts.reward_queues import (
    NONE,
    RewardQueues,
    new_reward_queues,
    queue_add,
    queue_take,
)
from foretell.policies.parts.theta import Rewards, new_rewards, to_grains
from foretell.policies.registry import register
from foretell.policies.spec import Spec, option
from foretell.policies.verbs import begin, choose, credit, ignore, indices, observe, play
from foretell.types import Bools, Floats, Ints, Problem


@register(
    "qpm-d",
    rewards=("bounded",),
    stream=True,
    use="a guarantee for delays from a policy that has none, when the law never changes",
    cost="O(K)",
)
@dataclass(frozen=True)
class QpmD(Spec):
    """KL-UCB that never notices a delay: it takes its rewards from queues, blind to signals.

    A reward that arrives joins the queue of its action. As long as the action that KL-UCB would
    play has a reward waiting, it is given that one instead of a play; what it wants next with an
    empty queue is played in earnest. Its rounds are the rewards that it was given. Of tied actions
    one whose reward waits comes first, the longest first. `c` is the factor of ln ln t.
    """

    c: float = option(0.0)
    """Factor of ln ln t in the index."""

    def __post_init__(self) -> None:
        """Check the fields."""
        check_loglog(self.c)


class QpmDState(NamedTuple):
    """What KL-UCB was given, its indices, and what waits."""

    c: float
    rewards: Rewards
    given: Ints
    """(1,): how many rewards it was given."""
    bounds: Floats
    """(actions,): the index of each action after these."""
    queues: RewardQueues


@begin.register(QpmD)
def _begin(spec: QpmD, problem: Problem) -> QpmDState:
    return QpmDState(
        c=float(spec.c),
        rewards=new_rewards(problem.actions),
        given=np.zeros(1, np.int64),
        bounds=np.full(problem.actions, math.inf),
        queues=new_reward_queues(problem.actions, problem.horizon or MEMORY),
    )


@indices.register(QpmDState)
def _indices(state: QpmDState, t: int, out: Floats) -> None:
    for action in range(out.size):
        out[action] = state.bounds[action]


@choose.register(QpmDState)
def _choose(state: QpmDState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    return argmax(state.bounds, eligible, rng)


ignore(QpmDState, play, observe)


@kernel
def _wanted(state: QpmDState) -> int:
    """Return the action that is wanted and whose reward waits, or NONE if none waits."""
    best = -math.inf
    for action in range(state.bounds.size):
        best = max(best, state.bounds[action])
    wanted = NONE
    earliest = 0
    for action in range(state.bounds.size):
        place = state.queues.first[action]
        if place != NONE and state.bounds[action] >= best - TIE:
            number = state.queues.number[place]
            if wanted == NONE or number < earliest:
                wanted = action
                earliest = number
    return wanted


@credit.register(QpmDState)
def _credit(state: QpmDState, t: int, action: int, signal: int, reward: float) -> None:
    queue_add(state.queues, action, to_grains(reward))
    wanted = _wanted(state)
    while wanted != NONE:
        state.rewards.grains[wanted] += queue_take(state.queues, wanted)
        state.rewards.counts[wanted] += 1
        state.given[0] += 1
        level = exploration(state.given[0] + 1.0, state.c)
        for other in range(state.bounds.size):
            state.bounds[other] = kl_index(state.rewards, other, level)
        wanted = _wanted(state)
