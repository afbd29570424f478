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
    import numpy.typing as npt

Function = TypeVar("Function", bound="Callable[..., object]")

KERNELS: list[Callable[..., object]] = []


def kernel(function: Function) -> Function:
    """Mark `function` as one that compiled code may call; it stays the same plain function."""
    KERNELS.append(function)
    return function


def uniform(rng: np.random.Generator) -> float:
    """Draw a number from [0, 1): `rng.random()`, which compiled code draws without a call."""
    return rng.random()


WARM_UP = 12
"""Numbers of SFC64 that are thrown away after its words are set, as NumPy does."""


def reseed(rng: np.random.Generator, words: npt.NDArray[np.uint64]) -> None:
    """Let an SFC64 generator begin again from these three words; nothing of before is left."""
    rng.bit_generator.state = {
        "bit_generator": "SFC64",
        "state": {"state": [*words, 1]},
        "has_uint32": 0,
        "uinteger": 0,
    }
    for _ in range(WARM_UP):
        rng.random()
