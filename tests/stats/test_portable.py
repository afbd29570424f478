"""Logarithm and exponential: near the true ones, and the same on processors of every age."""

from __future__ import annotations

import hashlib
import math
import subprocess
import sys

import numpy as np

from foretell.stats.portable import portable_exp, portable_log
from foretell.types import Floats
from tests.processors import as_on_an_older_processor

_SCRIPT = "from tests.stats.test_portable import digest; print(digest())"


def drawn() -> Floats:
    """Return numbers of every size, drawn without any function that differs by processor."""
    rng = np.random.default_rng(3)
    scaled = np.ldexp(rng.random(5000) + 0.5, rng.integers(-300, 9, 5000))
    return np.concatenate([rng.random(20_000), rng.random(2000) * 700.0, scaled])


def digest() -> str:
    found = portable_log(drawn()).tobytes() + portable_exp(-drawn()).tobytes()
    return hashlib.sha256(found).hexdigest()


def test_both_are_near_the_true_values() -> None:
    values = drawn()
    true = np.array([math.log(value) for value in values.tolist()])
    assert np.all(
        np.abs(portable_log(values) - true) <= 2 * np.spacing(np.maximum(np.abs(true), 1e-3))
    )
    true = np.array([math.exp(-value) for value in values.tolist()])
    assert np.all(np.abs(portable_exp(-values) - true) <= 3 * np.spacing(true))


def test_older_processors_give_the_same_bytes() -> None:
    """NumPy is told not to use what newer ones have; its own logarithm then differs, or may."""
    called = [sys.executable, "-c", _SCRIPT]
    told = subprocess.run(
        called, env=as_on_an_older_processor(), check=True, capture_output=True, text=True
    )
    assert told.stdout.strip() == digest()
