"""A state in one block is the same state, and one copy brings it back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

import foretell as ft
from foretell.policies.registry import start
from foretell.policies.state import fingerprint, in_one_block, restore
from foretell.policies.verbs import observe, play
from foretell.types import Bools, Floats, Ints


@pytest.mark.parametrize("name", list(ft.registered_policies()))
def test_a_state_in_one_block_is_the_same_and_can_be_brought_back(name: str) -> None:
    state = start(ft.policy(name), ft.Problem(5, 3, horizon=100, changes=(20, 50)))
    moved, block = in_one_block(state)
    assert type(moved) is type(state)
    assert fingerprint(moved) == fingerprint(state)
    pristine = block.copy()
    for t in range(30):
        play(moved, t, t % 5)
        observe(moved, t, t % 5, t % 3)
    restore(block, pristine)
    assert fingerprint(moved) == fingerprint(state)


class Inner(NamedTuple):
    none: Floats
    number: float
    deep: Floats


class Outer(NamedTuple):
    flags: Bools
    table: npt.NDArray[np.int32]
    inner: Inner
    last: Ints


def test_arrays_of_any_type_and_shape_keep_apart_in_the_block() -> None:
    inner = Inner(np.zeros(0), 2.5, np.full((1, 1, 1), np.inf))
    table = np.arange(6, dtype=np.int32).reshape(2, 3)
    moved, block = in_one_block(Outer(np.ones(3, np.bool_), table, inner, np.array([-1])))
    moved.table[:] = 7
    assert moved.flags.tolist() == [True] * 3
    assert moved.inner.none.size == 0
    assert moved.inner.number == 2.5
    assert moved.inner.deep.item() == np.inf
    assert moved.last.tolist() == [-1]
    assert all(np.shares_memory(block, array) for array in (moved.flags, moved.table, moved.last))
