"""Sliding-window Thompson sampling: only the latest rewards count [Trovo2020]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.policies.parts.argmax import argmax
from foretell.policies.parts.theta import sample_means
from foretell.policies.registry import register
from foretell.policies.spec import Spec, check_window
from foretell.policies.sw_ucb import SwUcb, SwUcbState
from foretell.policies.verbs import begin, choose, credit, ignore, observe, play, unobserve
from foretell.types import Bools, Floats, Problem


@register(
    "sw-ts",
    needs=("window",),
    use="signals that say nothing about rewards, in a changing world",
    cost="O(K)",
)
@dataclass(frozen=True)
class SwTs(Spec):
    """Thompson sampling on the latest delayed rewards only, blind to signals.

    The window holds the W latest rounds among those whose reward has arrived, as in `sw-ucb`;
    the posterior of an action is that of `ts` on its rewards in the window.
    """

    window: int | None = None
    """How many of the latest rounds with a reward count; None is all of them."""

    def __post_init__(self) -> None:
        """Check the fields."""
        check_window(self.window)


class SwTsState(NamedTuple):
    """The window of sliding-window UCB, sampled."""

    gaussian: bool
    inner: SwUcbState
    scratch: Floats


@begin.register(SwTs)
def _begin(spec: SwTs, problem: Problem) -> SwTsState:
    inner = begin(SwUcb(window=spec.window), problem)
    return SwTsState(problem.rewards == "gaussian", inner, np.zeros(problem.actions))


@choose.register(SwTsState)
def _choose(state: SwTsState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    sample_means(state.inner.rewards, state.gaussian, state.scratch, rng)
    return argmax(state.scratch, eligible, rng)


@play.register(SwTsState)
def _play(state: SwTsState, t: int, action: int) -> None:
    play(state.inner, t, action)


ignore(SwTsState, observe, unobserve)


@credit.register(SwTsState)
def _credit(state: SwTsState, t: int, action: int, signal: int, reward: float) -> None:
    credit(state.inner, t, action, signal, reward)
