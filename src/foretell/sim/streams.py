"""Random numbers of a run: one stream for each purpose, so paired policies meet the same luck.

A stream is an SFC64 generator whose three words are numbers of SplitMix64 [Steele2014], begun from
the seed, the run and the kind of the stream. So the streams of many runs are seeded at once, and
compiled code begins one by writing three words.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from foretell.kernel import reseed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretell.types import Ints

Words: TypeAlias = npt.NDArray[np.uint64]

WORLD_STREAM, NOISE_STREAM, POLICY_STREAM = range(3)
"""What a stream is for: drawing the world, its answers, or the choices of a policy."""
KINDS = (WORLD_STREAM, NOISE_STREAM, POLICY_STREAM)

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_STEPS = np.arange(1, 4, dtype=np.uint64) * _GOLDEN


def random_stream(seed: int, run: int, kind: int) -> np.random.Generator:
    """Return the random stream of one kind of one run, whatever other streams are used for."""
    rng = new_generator()
    reseed(rng, stream_words(seed, np.array([run]), (kind,))[0, 0])
    return rng


def new_generator() -> np.random.Generator:
    """Return a generator that waits for the words of a stream."""
    return np.random.Generator(np.random.SFC64(0))


def stream_words(seed: int, runs: Ints, kinds: Sequence[int] = KINDS) -> Words:
    """Return (runs, kinds, 3): the words from which the streams of these runs begin."""
    of_run = _mixed(np.uint64(digest(seed)) + _steps(runs))
    of_kind = _mixed(of_run[:, None] + _steps(np.array(kinds)))
    return _mixed(of_kind[:, :, None] + _STEPS)


def digest(seed: int) -> int:
    """Return 64 bits for any whole seed.

    >>> digest(0) != digest(1) != digest(2**64)
    True
    """
    return int.from_bytes(hashlib.sha256(str(seed).encode()).digest()[:8], "little")


def _steps(numbers: Ints) -> Words:
    return (numbers.astype(np.uint64) + np.uint64(1)) * _GOLDEN


def _mixed(words: Words) -> Words:
    """Return the number of SplitMix64 at each state."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
