"""Compiled and plain choices are equal to the byte, for every policy that may run live."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import foretell as ft
from foretell.errors import InvalidInput
from foretell.policies.draw import choices
from foretell.policies.registry import start
from foretell.policies.state import fingerprint, grow
from foretell.policies.verbs import credit, observe, play
from foretell.types import Bools, Floats, RewardKind

ACTIONS, SIGNALS, ROUNDS, DRAWS = 5, 3, 200, 16
LIVE = [name for name, known in ft.registered_policies().items() if not known.lab_only]
OTHERS = ["nsd-kl-glr(robust=True)", "nsd-ucrl2(scale=0.1)", "sw-ucb(window=40, over='rounds')"]


def sfc64(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(seed))


def spec_of(name: str) -> ft.Spec:
    windowed = name in LIVE and "window" in ft.registered_policies()[name].spec.__dataclass_fields__
    return ft.policy(f"{name}(window=60)" if windowed else name)


def experienced_state(spec: ft.Spec, rewards: RewardKind) -> Any:
    """Return the state after a history with late rewards, and some signals still to come."""
    state = start(spec, ft.Problem(ACTIONS, SIGNALS, rewards))
    rng = np.random.default_rng(5)
    late = []
    for t in range(ROUNDS):
        action, signal = int(rng.integers(ACTIONS)), int(rng.integers(SIGNALS))
        play(state, t, action)
        if t < ROUNDS - 20:
            observe(state, t, action, signal)
            late.append((t, action, signal, float(rng.integers(9) / 8)))
        if t % 3:
            credit(state, *late.pop(0))
    return state


def compiled(write: Any, state: Any, t: int, eligible: Bools, seed: int) -> Floats:
    shares = np.full(eligible.size, np.nan)
    write(state, t, eligible, sfc64(seed), DRAWS, shares)
    return shares


@pytest.mark.compiled
@pytest.mark.parametrize("name", [*LIVE, *OTHERS])
def test_compiled_and_plain_choices_are_equal_to_the_byte(name: str) -> None:
    from foretell.sim.compiled import compiled_choices

    spec = spec_of(name)
    for rewards in ft.registered_policies()[spec.name].rewards:
        fresh, old = (
            start(spec, ft.Problem(ACTIONS, SIGNALS, rewards)),
            experienced_state(spec, rewards),
        )
        grown = grow(spec, old, ACTIONS, ft.Problem(ACTIONS + 2, SIGNALS + 1, rewards))
        write = compiled_choices(fresh)
        for state, t, actions in ((fresh, 0, 5), (old, ROUNDS, 5), (grown, ROUNDS, 7)):
            known = fingerprint(state)
            for mask in (1, 6, 13, 31, 127):
                eligible = (np.int64(mask) >> np.arange(actions) & 1).astype(np.bool_)
                plain = choices(state, t, eligible, sfc64(mask), DRAWS).shares
                assert compiled(write, state, t, eligible, mask).tobytes() == plain.tobytes()
            assert fingerprint(state) == known


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["nsd-kl", "nsd-adaptive"])
def test_choices_may_be_computed_in_threads(name: str) -> None:
    from foretell.sim.compiled import compiled_choices

    states = [experienced_state(ft.policy(name), "bounded") for _ in range(4)]
    eligible = np.ones(ACTIONS, np.bool_)

    def twenty(number: int) -> list[bytes]:
        write = compiled_choices(states[number])
        return [
            compiled(write, states[number], ROUNDS, eligible, seed).tobytes() for seed in range(20)
        ]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(twenty, range(4)))
    assert found == [twenty(0)] * 4


@pytest.mark.compiled
def test_other_random_numbers_than_those_of_sfc64_are_refused() -> None:
    from foretell.sim.compiled import compiled_choices

    state = experienced_state(ft.Ucb(), "bounded")
    eligible = np.ones(ACTIONS, np.bool_)
    with pytest.raises(InvalidInput, match=r"SFC64, got PCG64: use"):
        compiled_choices(state)(state, 0, eligible, np.random.default_rng(0), 1, np.zeros(ACTIONS))
