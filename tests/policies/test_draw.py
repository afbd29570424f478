"""Shares are the probabilities of what is drawn from them, exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import foretell as ft
from foretell.policies.draw import choices, pick
from foretell.policies.registry import start
from foretell.policies.state import fingerprint
from foretell.policies.verbs import choose, credit, has, indices, observe, play, weights

ACTIONS, ROUNDS = 4, 30
LIVE = [name for name, known in ft.registered_policies().items() if not known.lab_only]


class Fixed:
    """A generator that gives one number."""

    def __init__(self, number: float) -> None:
        self.number = number

    def random(self) -> float:
        return self.number


def experienced_state(name: str) -> Any:
    state = start(ft.policy(name), ft.Problem(ACTIONS, 3))
    rng = np.random.default_rng(2)
    for t in range(ROUNDS):
        action, signal = int(rng.integers(ACTIONS)), int(rng.integers(3))
        play(state, t, action)
        observe(state, t, action, signal)
        credit(state, t, action, signal, float(rng.random() < signal / 2))
    return state


@pytest.mark.slow
@pytest.mark.parametrize("name", LIVE)
@pytest.mark.parametrize("allowed", [[True] * 4, [True, False, True, True], [False] * 3 + [True]])
def test_shares_are_those_of_the_choices(name: str, allowed: list[bool]) -> None:
    state, eligible, draws = experienced_state(name), np.array(allowed), 3000
    known = fingerprint(state)
    shares = choices(state, ROUNDS, eligible, np.random.default_rng(0), draws).shares
    assert shares.sum() == pytest.approx(1.0, abs=1e-12)
    assert not shares[~eligible].any()
    rng = np.random.default_rng(1)
    chosen = [choose(state, ROUNDS, eligible, rng) for _ in range(draws)]
    np.testing.assert_allclose(np.bincount(chosen, minlength=ACTIONS) / draws, shares, atol=0.06)
    assert fingerprint(state) == known


@pytest.mark.parametrize("name", LIVE)
def test_shares_are_whole_numbers_of_ties_or_draws(name: str) -> None:
    state = experienced_state(name)
    shares = choices(state, ROUNDS, np.ones(4, np.bool_), np.random.default_rng(0), 7).shares
    if has(indices, state):
        assert set(shares) <= {0.0, 1.0 / np.count_nonzero(shares)}
    elif not has(weights, state):
        np.testing.assert_array_equal(shares, np.round(shares * 7) / 7)


few = st.lists(st.integers(0, 9), min_size=1, max_size=8).filter(any)


@given(counts=few, number=st.floats(0.0, 1.0, exclude_max=True))
def test_pick_gives_each_action_its_part_of_the_unit(counts: list[int], number: float) -> None:
    shares = np.array(counts) / sum(counts)
    action = pick(shares, Fixed(number))  # type: ignore[arg-type]
    assert counts[action] > 0
    before, after = sum(counts[:action]), sum(counts[: action + 1])
    assert before - 1e-12 <= number * sum(counts) <= after + 1e-12


@pytest.mark.parametrize("number", [0.0, np.nextafter(1.0, 0.0)])
def test_pick_never_gives_what_has_no_share(number: float) -> None:
    for size in range(1, 60):
        shares = np.concatenate([[0.0], np.full(size, 1.0 / size), [0.0, 0.0]])
        action = pick(shares, Fixed(number))  # type: ignore[arg-type]
        assert action == (1 if number == 0.0 else size)


def test_pick_draws_one_number() -> None:
    one, other = np.random.default_rng(3), np.random.default_rng(3)
    pick(np.array([0.25, 0.75]), one)
    other.random()
    assert one.random() == other.random()
