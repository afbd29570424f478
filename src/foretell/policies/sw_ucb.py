"""Sliding-window UCB: ignores the signals, and all but the latest rewards [Garivier2011]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.errors import InvalidInput
from foretell.policies.parts.argmax import argmax
from foretell.policies.parts.reward_window import (
    EMPTY,
    RewardWindow,
    new_reward_window,
    window_add,
    window_drop_before,
    window_remove,
)
from foretell.policies.parts.theta import Rewards, new_rewards, reward_sum, to_grains
from foretell.policies.registry import register
from foretell.policies.spec import Spec, capped, check_scale, check_window, option
from foretell.policies.verbs import (
    begin,
    choose,
    credit,
    ignore,
    indices,
    observe,
    play,
    uncredit,
    unobserve,
)
from foretell.types import Bools, Floats, Ints, Problem

OVER = ("rewards", "rounds")


@register(
    "sw-ucb",
    needs=("window",),
    use="signals that say nothing about rewards, in a changing world",
    cost="O(K)",
)
@dataclass(frozen=True)
class SwUcb(Spec):
    """UCB on the latest delayed rewards only, blind to signals.

    The index of an action is its mean reward in the window plus scale · sqrt(2 ln min(t, W) / N),
    with N its rewards in the window and t counted from 1; +inf while there is none. The window
    holds the W latest rounds among those whose reward has arrived (`over="rewards"`), or the
    rewards that have arrived among those of the W latest rounds (`over="rounds"`; with a delay
    of W or more it then never holds any).
    """

    window: int | None = None
    """How many rounds count; None is all of them."""
    scale: float = option(1.0)
    """Factor of the confidence radius; 1 is UCB1."""
    over: str = option("rewards")
    """What the window counts: rounds whose reward has arrived, or rounds."""

    def __post_init__(self) -> None:
        """Check the fields."""
        check_window(self.window)
        check_scale(self.scale)
        if self.over not in OVER:
            raise InvalidInput(
                f"over says what the window counts, 'rewards' or 'rounds', got {self.over!r}: "
                f"choose one of the two"
            )


class SwUcbState(NamedTuple):
    """Rewards in the window, by action, and what it takes to let them leave it."""

    scale: float
    window: float
    rounds_only: bool
    rewards: Rewards
    latest: RewardWindow
    clock: Ints
    """(1,): the rounds played so far."""
    scratch: Floats


class UndoableSwUcbState(SwUcbState):
    """The same where no reward pushes another one out, so that a credit can be undone."""


@begin.register(SwUcb)
def _begin(spec: SwUcb, problem: Problem) -> SwUcbState:
    undoable = spec.window is None or spec.over == "rounds"
    kind = UndoableSwUcbState if undoable else SwUcbState
    return kind(
        scale=float(spec.scale),
        window=math.inf if spec.window is None else float(spec.window),
        rounds_only=spec.over == "rounds",
        rewards=new_rewards(problem.actions),
        latest=new_reward_window(capped(spec.window, problem.horizon) or 0),
        clock=np.zeros(1, np.int64),
        scratch=np.zeros(problem.actions),
    )


@indices.register(SwUcbState)
def _indices(state: SwUcbState, t: int, out: Floats) -> None:
    """Write mean + exploration / sqrt(N), +inf for an action without rewards in the window."""
    rounds = min(t + 1.0, state.window)
    exploration = state.scale * math.sqrt(2.0 * math.log(rounds))
    for action in range(out.size):
        received = state.rewards.counts[action]
        if received == 0:
            out[action] = math.inf
        else:
            share = 1.0 / received
            out[action] = reward_sum(state.rewards, action) * share + exploration * math.sqrt(share)


@choose.register(SwUcbState)
def _choose(state: SwUcbState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    indices(state, t, state.scratch)
    return argmax(state.scratch, eligible, rng)


@play.register(SwUcbState)
def _play(state: SwUcbState, t: int, action: int) -> None:
    state.clock[0] = t + 1
    oldest = t + 1 - state.latest.window
    if state.rounds_only and state.latest.window > 0 and oldest > 0:
        gone_action, gone_grains = window_drop_before(state.latest, oldest)
        if gone_action != EMPTY:
            state.rewards.counts[gone_action] -= 1
            state.rewards.grains[gone_action] -= gone_grains


ignore(SwUcbState, observe, unobserve)


@credit.register(SwUcbState)
def _credit(state: SwUcbState, t: int, action: int, signal: int, reward: float) -> None:
    grains = to_grains(reward)
    if state.latest.window > 0:
        if state.rounds_only and t < state.clock[0] - state.latest.window:
            return
        taken, gone_action, gone_grains = window_add(state.latest, t, action, grains)
        if not taken:
            return
        if gone_action != EMPTY:
            state.rewards.counts[gone_action] -= 1
            state.rewards.grains[gone_action] -= gone_grains
    state.rewards.counts[action] += 1
    state.rewards.grains[action] += grains


@uncredit.register(UndoableSwUcbState)
def _uncredit(state: UndoableSwUcbState, t: int, action: int, signal: int, reward: float) -> None:
    window = state.latest.window
    if window > 0 and not window_remove(state.latest, t, state.clock[0] - window):
        return
    state.rewards.counts[action] -= 1
    state.rewards.grains[action] -= to_grains(reward)
