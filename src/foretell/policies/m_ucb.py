"""Monitored UCB: restarts when the two halves of an action's latest rewards differ [Cao2019]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.errors import InvalidInput
from foretell.kernel import kernel
from foretell.policies.exp3s import check_changes
from foretell.policies.kl_ucb import exploration, write_level
from foretell.policies.parts.argmax import argmax
from foretell.policies.parts.forced_exploration import doubled_horizon, is_slot
from foretell.policies.parts.kl_argmax import kl_argmax, kl_bound
from foretell.policies.parts.theta import (
    Rewards,
    forget_rewards,
    new_rewards,
    to_grains,
)
from foretell.policies.registry import register
from foretell.policies.spec import Spec
from foretell.policies.verbs import alarms, begin, choose, credit, ignore, indices, observe, play
from foretell.types import GRAIN, Bools, Floats, Ints, Problem, is_whole


@register(
    "m-ucb",
    rewards=("bounded",),
    stream=True,
    needs=("horizon", "changes count", "size of a change"),
    use="sudden, large changes, signals that say nothing about rewards, short delays",
    cost="O(K)",
)
@dataclass(frozen=True)
class MUcb(Spec):
    """KL-UCB on delayed rewards that restarts when the halves of an action's latest ones differ.

    Every arriving reward joins the `width` latest of its action; when the sums of their two halves
    differ by more than b = sqrt(width / 2 · ln(2 K T²)), all actions are forgotten. A share
    sqrt(changes K (2b + 3 sqrt(width)) / (2 T)) of the rounds is forced exploration. A change of
    size d needs a width of about 4 (sqrt(ln(2 K T²)) + sqrt(ln(2 T)))² / d²: it must be known. The
    index is that of KL-UCB, as [Besson2022] run it, not the paper's UCB1. The test reads the stream
    of rewards as they arrive.
    """

    changes: int = 3
    """How many changes are expected over the horizon."""
    width: int = 150
    """How many of the latest rewards of an action are compared, half with half."""

    def __post_init__(self) -> None:
        """Check the fields."""
        check_changes(self.changes)
        if not is_whole(self.width) or self.width < 2 or self.width % 2:
            raise InvalidInput(
                f"width is how many rewards are compared, half with half: an even number of at "
                f"least 2, got {self.width!r}"
            )


class MUcbState(NamedTuple):
    """Rewards since the restart, the latest of them, and the forced rounds."""

    changes: float
    horizon: int
    """0 where it is unknown."""
    rewards: Rewards
    latest: Ints
    """(actions, width): the latest rewards in grains, number n at index n mod width."""
    halves: Ints
    """(actions, 2): the sum of the older half of them, and of the newer."""
    forced: Ints
    """(actions,): the round after its latest forced play."""
    clock: Ints
    """(3,): the rounds played, the first round of the memory, and the restarts so far."""
    scratch: Floats
    scratch_levels: Floats


@begin.register(MUcb)
def _begin(spec: MUcb, problem: Problem) -> MUcbState:
    actions = problem.actions
    return MUcbState(
        changes=float(spec.changes),
        horizon=problem.horizon or 0,
        rewards=new_rewards(actions),
        latest=np.zeros((actions, spec.width), np.int64),
        halves=np.zeros((actions, 2), np.int64),
        forced=np.zeros(actions, np.int64),
        clock=np.zeros(3, np.int64),
        scratch=np.zeros(actions),
        scratch_levels=np.zeros(actions),
    )


@kernel
def halves_threshold(actions: int, width: int, horizon: float) -> float:
    """Return b = sqrt(w / 2 · ln(2 K T²)) of [Cao2019]."""
    return math.sqrt(0.5 * width * math.log(2.0 * actions * horizon * horizon))


@kernel
def forced_share(actions: int, width: int, changes: float, horizon: float) -> float:
    """Return gamma = sqrt(G K (2b + 3 sqrt(w)) / (2 T)) of [Cao2019], at most 1."""
    threshold = halves_threshold(actions, width, horizon)
    wanted = changes * actions * (2.0 * threshold + 3.0 * math.sqrt(float(width)))
    return min(1.0, math.sqrt(wanted / (2.0 * horizon)))


@kernel
def _is_forced(state: MUcbState, t: int) -> bool:
    actions = state.forced.size
    horizon = float(doubled_horizon(state.horizon, t))
    share = forced_share(actions, state.latest.shape[1], state.changes, horizon)
    return is_slot(t - state.clock[1], actions, share)


@kernel
def _levels(state: MUcbState, t: int, means: Floats, levels: Floats) -> None:
    level = exploration(t + 1.0 - state.clock[1], 0.0)
    for action in range(means.size):
        write_level(state.rewards, action, level, means, levels)


@indices.register(MUcbState)
def _indices(state: MUcbState, t: int, out: Floats) -> None:
    """Write the KL-UCB indices, or, in a forced round, how long each action has waited."""
    if _is_forced(state, t):
        for action in range(out.size):
            out[action] = t - state.forced[action]
        return
    _levels(state, t, out, state.scratch_levels)
    for action in range(out.size):
        out[action] = kl_bound(out[action], state.scratch_levels[action])


@choose.register(MUcbState)
def _choose(state: MUcbState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    if _is_forced(state, t):
        indices(state, t, state.scratch)
        return argmax(state.scratch, eligible, rng)
    _levels(state, t, state.scratch, state.scratch_levels)
    return kl_argmax(state.scratch, state.scratch_levels, eligible, rng)


@play.register(MUcbState)
def _play(state: MUcbState, t: int, action: int) -> None:
    if _is_forced(state, t):
        state.forced[action] = t + 1
    state.clock[0] = t + 1


ignore(MUcbState, observe)


@kernel
def _join(state: MUcbState, action: int, grains: int) -> bool:
    """Add a reward to the latest ones; return whether their halves differ too much."""
    width = state.latest.shape[1]
    number = state.rewards.counts[action]
    index = number % width
    middle = state.latest[action, (number + width // 2) % width]
    state.halves[action, 0] += middle - state.latest[action, index]
    state.halves[action, 1] += grains - middle
    state.latest[action, index] = grains
    state.rewards.counts[action] += 1
    state.rewards.grains[action] += grains
    if number + 1 < width:
        return False
    horizon = float(doubled_horizon(state.horizon, state.clock[0]))
    difference = abs(state.halves[action, 1] - state.halves[action, 0]) / GRAIN
    return difference > halves_threshold(state.forced.size, width, horizon)


@credit.register(MUcbState)
def _credit(state: MUcbState, t: int, action: int, signal: int, reward: float) -> None:
    if not _join(state, action, to_grains(reward)):
        return
    forget_rewards(state.rewards)
    state.latest[:] = 0
    state.halves[:] = 0
    state.clock[1] = state.clock[0]
    state.clock[2] += 1


@alarms.register(MUcbState)
def _alarms(state: MUcbState) -> int:
    return state.clock[2]
