"""KL-UCB: ignores the signals and waits for the rewards [Cappe2013]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.errors import InvalidInput
from foretell.kernel import kernel
from foretell.policies.parts.bernoulli_kl import kl_upper
from foretell.policies.parts.kl_argmax import kl_argmax
from foretell.policies.parts.theta import (
    Rewards,
    add_reward,
    forget_rewards,
    new_rewards,
    remove_reward,
    reward_mean,
)
from foretell.policies.registry import register
from foretell.policies.spec import Spec, option
from foretell.policies.verbs import (
    begin,
    choose,
    credit,
    forget,
    ignore,
    indices,
    observe,
    play,
    uncredit,
    unobserve,
)
from foretell.types import Bools, Floats, Problem


@register(
    "kl-ucb",
    rewards=("bounded",),
    use="a law that never changes, signals that say nothing about rewards",
    cost="O(K)",
)
@dataclass(frozen=True)
class KlUcb(Spec):
    """KL-UCB on delayed rewards, blind to signals.

    The index of an action is max{q : N kl(mean, q) <= ln t + c ln ln t}, with N the rewards
    received so far and t counted from 1; +inf while there is none. The proof has c = 3, the
    authors' advice and default is c = 0.
    """

    c: float = option(0.0)
    """Factor of ln ln t in the index; the proof has 3."""

    def __post_init__(self) -> None:
        """Check the fields."""
        check_loglog(self.c)


def check_loglog(c: float) -> None:
    """Refuse a factor of ln ln t that is negative or no number."""
    if isinstance(c, bool) or not isinstance(c, (int, float)) or not 0.0 <= c < math.inf:
        raise InvalidInput(f"c must be a finite number of at least 0, got {c!r}: 0 is the advice")


class KlUcbState(NamedTuple):
    """Rewards received, by action."""

    c: float
    rewards: Rewards
    scratch: Floats
    scratch_levels: Floats


@begin.register(KlUcb)
def _begin(spec: KlUcb, problem: Problem) -> KlUcbState:
    actions = problem.actions
    return KlUcbState(float(spec.c), new_rewards(actions), np.zeros(actions), np.zeros(actions))


@kernel
def exploration(rounds: float, c: float) -> float:
    """Return ln t + c ln ln t of [Cappe2013], 0 where it would be negative."""
    level = math.log(max(1.0, rounds))
    if c > 0.0 and level > 1.0:
        level += c * math.log(level)
    return level


@kernel
def kl_index(rewards: Rewards, action: int, level: float) -> float:
    """Return max{q : N kl(mean, q) <= level}; +inf while there is no reward."""
    received = rewards.counts[action]
    if received == 0:
        return math.inf
    return kl_upper(reward_mean(rewards, action), level / received)


@kernel
def write_level(rewards: Rewards, action: int, level: float, means: Floats, levels: Floats) -> None:
    """Write for `kl_argmax` the mean of an action, and its level: +inf without a reward."""
    received = rewards.counts[action]
    means[action] = reward_mean(rewards, action)
    levels[action] = level / received if received > 0 else math.inf


@indices.register(KlUcbState)
def _indices(state: KlUcbState, t: int, out: Floats) -> None:
    level = exploration(t + 1.0, state.c)
    for action in range(out.size):
        out[action] = kl_index(state.rewards, action, level)


@choose.register(KlUcbState)
def _choose(state: KlUcbState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    level = exploration(t + 1.0, state.c)
    for action in range(eligible.size):
        write_level(state.rewards, action, level, state.scratch, state.scratch_levels)
    return kl_argmax(state.scratch, state.scratch_levels, eligible, rng)


ignore(KlUcbState, play, observe, unobserve)


@credit.register(KlUcbState)
def _credit(state: KlUcbState, t: int, action: int, signal: int, reward: float) -> None:
    add_reward(state.rewards, action, reward)


@uncredit.register(KlUcbState)
def _uncredit(state: KlUcbState, t: int, action: int, signal: int, reward: float) -> None:
    remove_reward(state.rewards, action, reward)


@forget.register(KlUcbState)
def _forget(state: KlUcbState) -> None:
    forget_rewards(state.rewards)
