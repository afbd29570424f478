"""Marks the plain functions that the simulator may compile.

A kernel is ordinary Python over numbers and NumPy arrays. Marking it changes nothing here; it
only lets `foretell.sim.compiled` hand the same function to the compiler later, so that compiled
and plain runs share one source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

Function = TypeVar("Function", bound="Callable[..., object]")

KERNELS: list[Callable[..., object]] = []


def kernel(function: Function) -> Function:
    """Mark `function` as one that compiled code may call; it stays the same plain function."""
    KERNELS.append(function)
    return function


def uniform(rng: np.random.Generator) -> float:
    """Draw a number from [0, 1): `rng.random()`, which compiled code draws without a call."""
    return rng.random()
