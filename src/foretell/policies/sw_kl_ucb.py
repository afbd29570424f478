"""Sliding-window KL-UCB: the window of `sw-ucb`, the index of `kl-ucb` [Besson2022]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.kernel import kernel
from foretell.policies.kl_ucb import check_loglog, exploration, write_level
from foretell.policies.parts.kl_argmax import kl_argmax, kl_bound
from foretell.policies.registry import register
from foretell.policies.spec import Spec, check_window, option
from foretell.policies.sw_ucb import SwUcb, SwUcbState
from foretell.policies.verbs import begin, choose, credit, ignore, indices, observe, play, unobserve
from foretell.types import Bools, Floats, Problem


@register(
    "sw-kl-ucb",
    rewards=("bounded",),
    needs=("window",),
    use="signals that say nothing about rewards, in a changing world",
    cost="O(K)",
)
@dataclass(frozen=True)
class SwKlUcb(Spec):
    """KL-UCB on the latest delayed rewards only, blind to signals.

    The index of an action is max{q : N kl(mean, q) <= ln min(t, W) + c ln ln min(t, W)} over its N
    rewards in the window; +inf while there is none. The window holds the W latest rounds among
    those whose reward has arrived, as in `sw-ucb`; for G changes in T rounds the papers take
    W = 2 sqrt(T ln T / G).
    """

    window: int | None = None
    """How many of the latest rounds with a reward count; None is all of them."""
    c: float = option(0.0)
    """Factor of ln ln min(t, W) in the index."""

    def __post_init__(self) -> None:
        """Check the fields."""
        check_window(self.window)
        check_loglog(self.c)


class SwKlUcbState(NamedTuple):
    """The window of sliding-window UCB."""

    c: float
    inner: SwUcbState
    scratch: Floats
    scratch_levels: Floats


@begin.register(SwKlUcb)
def _begin(spec: SwKlUcb, problem: Problem) -> SwKlUcbState:
    inner = begin(SwUcb(window=spec.window), problem)
    actions = problem.actions
    return SwKlUcbState(float(spec.c), inner, np.zeros(actions), np.zeros(actions))


@kernel
def _levels(state: SwKlUcbState, t: int, means: Floats, levels: Floats) -> None:
    level = exploration(min(t + 1.0, state.inner.window), state.c)
    for action in range(means.size):
        write_level(state.inner.rewards, action, level, means, levels)


@indices.register(SwKlUcbState)
def _indices(state: SwKlUcbState, t: int, out: Floats) -> None:
    _levels(state, t, out, state.scratch_levels)
    for action in range(out.size):
        out[action] = kl_bound(out[action], state.scratch_levels[action])


@choose.register(SwKlUcbState)
def _choose(state: SwKlUcbState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    _levels(state, t, state.scratch, state.scratch_levels)
    return kl_argmax(state.scratch, state.scratch_levels, eligible, rng)


@play.register(SwKlUcbState)
def _play(state: SwKlUcbState, t: int, action: int) -> None:
    play(state.inner, t, action)


ignore(SwKlUcbState, observe, unobserve)


@credit.register(SwKlUcbState)
def _credit(state: SwKlUcbState, t: int, action: int, signal: int, reward: float) -> None:
    credit(state.inner, t, action, signal, reward)
