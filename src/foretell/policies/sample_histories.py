"""Short histories with fixed seeds, on which `check` tries the laws of policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from foretell.policies.registry import entry, start
from foretell.policies.verbs import choose, credit, has, indices, observe, play
from foretell.types import GRAIN, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretell.policies.spec import Spec
    from foretell.types import Floats

ACTIONS, SIGNALS, ROUNDS = 4, 3, 60
DRAWS = 600


class Round(NamedTuple):
    """What happened in one round."""

    t: int
    action: int
    signal: int
    reward: float


def problem_of(spec: Spec, horizon: int | None = ROUNDS) -> Problem:
    """Give a problem that the policy accepts, with change points only for who may know them."""
    changes = (20, 40) if entry(spec).lab_only else ()
    return Problem(ACTIONS, SIGNALS, entry(spec).rewards[0], horizon, changes)


def history_of(seed: int) -> list[Round]:
    """Draw what happens in each round."""
    rng = np.random.default_rng(seed)
    return [
        Round(
            t,
            int(rng.integers(ACTIONS)),
            int(rng.integers(SIGNALS)),
            float(np.floor(rng.random() * GRAIN) / GRAIN),
        )
        for t in range(ROUNDS)
    ]


def lived(spec: Spec, history: list[Round], horizon: int | None = ROUNDS) -> Any:
    """Give the state after a history in which everything arrives at once."""
    state = start(spec, problem_of(spec, horizon))
    for t, action, signal, reward in history:
        play(state, t, action)
        observe(state, t, action, signal)
        credit(state, t, action, signal, reward)
    return state


def lived_but(spec: Spec, history: list[Round], probed: int, signal: int | None) -> Any:
    """Give the state after a history in which one round has this signal, or none, and no reward."""
    state = start(spec, problem_of(spec))
    for one in history:
        play(state, *one[:2])
        if one.t != probed:
            observe(state, *one[:3])
            credit(state, *one)
        elif signal is not None:
            observe(state, *one[:2], signal)
    return state


def lived_late(spec: Spec, history: list[Round], rng: np.random.Generator) -> Any:
    """Give the state after the same history with signals and rewards late, in random order."""
    state = start(spec, problem_of(spec))
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


def choices_of(state: Any, t: int, draws: int = DRAWS, actions: int = ACTIONS) -> Any:
    """Give the choices made in one state with many random numbers."""
    eligible = np.ones(actions, np.bool_)
    return np.array(
        [choose(state, t, eligible, np.random.default_rng(draw)) for draw in range(draws)]
    )


def indices_of(state: Any, t: int, actions: int = ACTIONS) -> Floats:
    """Give the indices of one state."""
    values = np.zeros(actions)
    indices(state, t, values)
    return values


def matters(spec: Spec, what: str, length: int, probed: int) -> bool:
    """Tell whether the signal, or the reward, of one round changes what is chosen at the end.

    The round's reward is withheld when its signal is probed, so that only the law can tell.
    """
    ends = []
    for signal, reward in ((0, 0.0), (1, 0.0)) if what == "signal" else ((0, 0.0), (0, 1.0)):
        state = start(spec, Problem(2, 2, entry(spec).rewards[0], length))
        for t in range(length):
            here = t == probed
            one = Round(
                t, t % 2, signal if here else t // 2 % 2, reward if here else t // 2 % 4 / 4
            )
            play(state, *one[:2])
            observe(state, *one[:3])
            if not (here and what == "signal"):
                credit(state, *one)
        if has(indices, state):
            ends.append(indices_of(state, length, actions=2))
        else:
            ends.append(choices_of(state, length, draws=4 * DRAWS, actions=2))
    return not np.array_equal(ends[0], ends[1])
