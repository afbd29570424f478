"""Uniform play: learns nothing; the yardstick of what learning is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.policies.parts.argmax import argmax
from foretell.policies.registry import register
from foretell.policies.spec import Spec
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
from foretell.types import Bools, Floats, Problem


@register("uniform", use="a yardstick, and logs from which anything can be learned", cost="O(K)")
@dataclass(frozen=True)
class Uniform(Spec):
    """Every eligible action with the same probability, whatever happens."""


class UniformState(NamedTuple):
    """Nothing is known: every action has the same index, 0."""

    scratch: Floats


@begin.register(Uniform)
def _begin(spec: Uniform, problem: Problem) -> UniformState:
    return UniformState(np.zeros(problem.actions))


@indices.register(UniformState)
def _indices(state: UniformState, t: int, out: Floats) -> None:
    out[:] = 0.0


@choose.register(UniformState)
def _choose(state: UniformState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    indices(state, t, state.scratch)
    return argmax(state.scratch, eligible, rng)


ignore(UniformState, play, observe, credit, uncredit, unobserve)
