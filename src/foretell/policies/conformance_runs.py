"""Short histories with fixed seeds, on which `conformance` tries the laws of policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from foretell.policies.registry import entry, start
from foretell.policies.verbs import choose, credit, has, indices, observe, play, unplay
from foretell.types import GRAIN, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretell.policies.spec import Spec
    from foretell.types import Floats

ACTIONS, SIGNALS, ROUNDS = 4, 3, 60
SAMPLES = 600


class SampleRound(NamedTuple):
    """What happened in one round."""

    t: int
    action: int
    signal: int
    reward: float


def sample_problem(spec: Spec, horizon: int | None = ROUNDS) -> Problem:
    """Return a problem that the policy accepts, with change points only for who may know them."""
    changes = (20, 40) if entry(spec).lab_only else ()
    return Problem(ACTIONS, SIGNALS, entry(spec).rewards[0], horizon, changes)


def sample_history(seed: int) -> list[SampleRound]:
    """Draw what happens in each round."""
    rng = np.random.default_rng(seed)
    return [
        SampleRound(
            t,
            int(rng.integers(ACTIONS)),
            int(rng.integers(SIGNALS)),
            float(np.floor(rng.random() * GRAIN) / GRAIN),
        )
        for t in range(ROUNDS)
    ]


def state_after(spec: Spec, history: list[SampleRound], horizon: int | None = ROUNDS) -> Any:
    """Return the state after a history in which everything arrives at once."""
    state = start(spec, sample_problem(spec, horizon))
    for t, action, signal, reward in history:
        play(state, t, action)
        observe(state, t, action, signal)
        credit(state, t, action, signal, reward)
    return state


def state_with_signal(
    spec: Spec, history: list[SampleRound], probed: int, signal: int | None
) -> Any:
    """Return the state after a history in which one round has this signal or none, no reward."""
    state = start(spec, sample_problem(spec))
    for one in history:
        play(state, *one[:2])
        if one.t != probed:
            observe(state, *one[:3])
            credit(state, *one)
        elif signal is not None:
            observe(state, *one[:2], signal)
    return state


def state_without_play(spec: Spec, history: list[SampleRound], probed: int) -> Any:
    """Return the state after a history in which one round was never shown, as was known at once."""
    state = start(spec, sample_problem(spec))
    for one in history:
        play(state, *one[:2])
        if one.t != probed:
            observe(state, *one[:3])
            credit(state, *one)
        else:
            unplay(state, *one[:2])
    return state


def state_after_shuffled(spec: Spec, history: list[SampleRound], rng: np.random.Generator) -> Any:
    """Return the state after the same history with signals and rewards late, in random order."""
    state = start(spec, sample_problem(spec))
    waiting: list[tuple[Callable[..., None], tuple[Any, ...]]] = []

    def deliver(count: int) -> None:
        for _ in range(count):
            verb, arguments = waiting.pop(int(rng.integers(len(waiting))))
            verb(state, *arguments)

    for t, action, signal, reward in history:
        play(state, t, action)
        waiting.append((observe, (t, action, signal)))
        waiting.append((credit, (t, action, signal, reward)))
        deliver(int(rng.integers(min(4, len(waiting)) + 1)))
    deliver(len(waiting))
    return state


def sample_choices(state: Any, t: int, draws: int = SAMPLES, actions: int = ACTIONS) -> Any:
    """Return the choices made in one state with many random numbers."""
    eligible = np.ones(actions, np.bool_)
    return np.array(
        [choose(state, t, eligible, np.random.default_rng(draw)) for draw in range(draws)]
    )


def sample_indices(state: Any, t: int, actions: int = ACTIONS) -> Floats:
    """Return the indices of one state."""
    values = np.zeros(actions)
    indices(state, t, values)
    return values


def is_remembered(spec: Spec, what: str, length: int, probed: int) -> bool:
    """Return whether the signal, or the reward, of one round changes what is chosen at the end.

    The round's reward is withheld when its signal is probed, so that only the law can tell.
    """
    ends = []
    for signal, reward in ((0, 0.0), (1, 0.0)) if what == "signal" else ((0, 0.0), (0, 1.0)):
        state = start(spec, Problem(2, 2, entry(spec).rewards[0], length))
        for t in range(length):
            here = t == probed
            one = SampleRound(
                t, t % 2, signal if here else t // 2 % 2, reward if here else t // 2 % 4 / 4
            )
            play(state, *one[:2])
            observe(state, *one[:3])
            if not (here and what == "signal"):
                credit(state, *one)
        if has(indices, state):
            ends.append(sample_indices(state, length, actions=2))
        else:
            ends.append(sample_choices(state, length, draws=4 * SAMPLES, actions=2))
    return not np.array_equal(ends[0], ends[1])
