"""NSD-UCRL2 with other ties: a policy in a file of one's own.

The paper does not say which action is played when several have the largest index (erratum E9).
foretell draws one at random among all within 1e-12 of the largest. This policy is NSD-UCRL2 in
everything but its ties: it takes the first action (`ties="first"`), or draws among exactly equal
indices only (`ties="exact"`), where rounding decides which are equal.

    python docs/examples/first_index_ties.py

prints the regret of the three in the paper's scenario.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import foretell as ft
from foretell.errors import InvalidInput
from foretell.policies.parts.argmax import TIE
from foretell.policies.verbs import begin, choose, credit, indices, observe, play
from foretell.types import Bools, Floats


@ft.register("nsd-ucrl2-ties", needs=("window", "horizon"), use="showing what ties do")
@dataclass(frozen=True)
class Ties(ft.Spec):
    """NSD-UCRL2 that breaks ties by the first index, or draws among exact ones only."""

    window: int | None = None
    delta: float = 0.1
    ties: str = "first"

    def __post_init__(self) -> None:
        """Check the field that NSD-UCRL2 does not have."""
        if self.ties not in ("first", "exact"):
            raise InvalidInput(f"ties must be 'first' or 'exact', got {self.ties!r}: choose one")


class TiesState(NamedTuple):
    """The state of NSD-UCRL2, and what to do about ties."""

    inner: Any
    tolerance: float
    first: bool
    scratch_index: Floats


@begin.register(Ties)
def _begin(spec: Ties, problem: ft.Problem) -> TiesState:
    inner = begin(ft.NsdUcrl2(window=spec.window, delta=spec.delta), problem)
    first = spec.ties == "first"
    return TiesState(inner, TIE if first else 0.0, first, np.zeros(problem.actions))


@indices.register(TiesState)
def _indices(state: TiesState, t: int, out: Floats) -> None:
    indices(state.inner, t, out)


@choose.register(TiesState)
def _choose(state: TiesState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    index = state.scratch_index
    indices(state.inner, t, index)
    best = -math.inf
    for action in range(index.size):
        if eligible[action]:
            best = max(best, index[action])
    chosen = -1
    ties = 0
    for action in range(index.size):
        if eligible[action] and index[action] >= best - state.tolerance:
            ties += 1
            if chosen < 0 or (not state.first and rng.random() * ties < 1.0):
                chosen = action
    return chosen


@play.register(TiesState)
def _play(state: TiesState, t: int, action: int) -> None:
    play(state.inner, t, action)


@observe.register(TiesState)
def _observe(state: TiesState, t: int, action: int, signal: int) -> None:
    observe(state.inner, t, action, signal)


@credit.register(TiesState)
def _credit(state: TiesState, t: int, action: int, signal: int, reward: float) -> None:
    credit(state.inner, t, action, signal, reward)


def main() -> None:
    """Print the mean regret of 50 runs, by how ties are broken."""
    print("   W     D    random     first     exact")
    for window, delay in ((400, 0), (800, 0), (800, 100), (800, 500), (800, 1000)):
        specs = [ft.NsdUcrl2(window=window), Ties(window, ties="first"), Ties(window, ties="exact")]
        batches = ft.simulate(ft.scenario("paper", delay=delay), specs, horizon=8000, runs=50)
        means = "".join(f"{batch.final.mean():10.0f}" for batch in batches.values())
        print(f"{window:4}  {delay:4}{means}")


if __name__ == "__main__":
    main()
