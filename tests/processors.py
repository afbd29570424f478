"""An older processor: the environment in which NumPy does not use what newer ones have."""

from __future__ import annotations

import importlib
import os


def as_on_an_older_processor() -> dict[str, str]:
    """Return the environment of a process that computes as if on an older processor."""
    features = importlib.import_module("numpy._core._multiarray_umath")
    newer = [name for name in features.__cpu_dispatch__ if features.__cpu_features__.get(name)]
    blas = {"OPENBLAS_CORETYPE": "Nehalem"}
    return os.environ | blas | {"NPY_DISABLE_CPU_FEATURES": " ".join(newer)}
