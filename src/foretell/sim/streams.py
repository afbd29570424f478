"""Random numbers of a run: one stream for each purpose, so paired policies meet the same luck."""

from __future__ import annotations

import numpy as np

WORLD_STREAM, NOISE_STREAM, POLICY_STREAM = range(3)
"""What a stream is for: drawing the world, its answers, or the choices of a policy."""


def random_stream(seed: int, run: int, kind: int) -> np.random.Generator:
    """Return the random stream of one kind of one run, whatever other streams are used for."""
    sequence = np.random.SeedSequence(seed, spawn_key=(run, kind))
    return np.random.Generator(np.random.SFC64(sequence))
