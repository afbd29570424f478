"""Streams depend on seed, run and kind alone, and are the same in plain and compiled code."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from foretell.kernel import reseed, uniform
from foretell.sim.streams import (
    NOISE_STREAM,
    POLICY_STREAM,
    digest,
    new_generator,
    random_stream,
    stream_words,
)

SEEDS = (0, 1, 2**32, 2**63, 2**64, 10**40)


def test_any_whole_seed_gives_streams_of_its_own() -> None:
    streams = itertools.product(SEEDS, (0, 1, 10**6), (0, 1, 2, 21, 1000))
    first = {random_stream(seed, run, kind).random() for seed, run, kind in streams}
    assert len(first) == len(SEEDS) * 3 * 5
    assert len({digest(seed) for seed in SEEDS}) == len(SEEDS)
    assert all(0 <= digest(seed) < 2**64 for seed in SEEDS)


def test_the_words_of_a_stream_are_those_of_splitmix64() -> None:
    """From the state 0 it gives the numbers of the reference code of [Steele2014]."""
    from foretell.sim.streams import _STEPS, _mixed

    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert _mixed(_STEPS).tolist() == expected


def test_the_words_of_many_runs_are_those_of_each() -> None:
    together = stream_words(7, np.arange(3, 40))
    assert together.shape == (37, 3, 3)
    for run in (3, 20, 39):
        for kind in (NOISE_STREAM, POLICY_STREAM):
            alone = stream_words(7, np.array([run]), (kind,))
            np.testing.assert_array_equal(together[run - 3, kind], alone[0, 0])


def test_neighbouring_streams_are_not_alike() -> None:
    drawn = np.array([random_stream(0, run, 1).random(200) for run in range(200)])
    assert drawn.mean() == pytest.approx(0.5, abs=0.01)
    apart = np.corrcoef(drawn)[~np.eye(200, dtype=bool)]
    assert np.abs(apart).max() < 0.4
    assert drawn[:, 0].std() == pytest.approx(12**-0.5, abs=0.03)


def test_nothing_of_before_is_left_in_a_stream_that_begins_again() -> None:
    rng = new_generator()
    rng.integers(2**16, dtype=np.uint32)
    assert rng.bit_generator.state["has_uint32"] == 1
    words = stream_words(1, np.array([2]))[0, NOISE_STREAM]
    reseed(rng, words)
    assert str(rng.bit_generator.state) == str(
        random_stream(1, 2, NOISE_STREAM).bit_generator.state
    )


@pytest.mark.compiled
def test_compiled_code_begins_the_same_streams() -> None:
    import numba

    from foretell.sim import compiled

    compiled._learn_kernels()

    def begin(rng: np.random.Generator, words: Any) -> float:
        reseed(rng, words)
        return uniform(rng)

    njit: Any = numba.njit
    function = njit(**compiled._OPTIONS)(begin)
    for words in stream_words(5, np.arange(20)).reshape(-1, 3):
        ours, theirs = new_generator(), new_generator()
        ours.integers(2**16, dtype=np.uint32)
        assert function(ours, words) == begin(theirs, words)
        assert str(ours.bit_generator.state) == str(theirs.bit_generator.state)
