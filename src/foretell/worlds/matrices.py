"""Rows of numbers and laws as a scenario keeps them: tuples, checked."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from foretell.errors import InvalidInput

Row: TypeAlias = tuple[float, ...]
Matrix: TypeAlias = tuple[Row, ...]
_SUM_TOLERANCE = 1e-9


def read_row(name: str, values: Any) -> Row:
    """Return a list of numbers as a tuple, or refuse what is none."""
    try:
        row = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        row = np.zeros((0, 0))
    if row.ndim != 1 or row.size == 0:
        raise InvalidInput(f"{name} must be a list of numbers, got {values!r}")
    return tuple(float(value) for value in row)


def read_law(values: Any, signals: int) -> Matrix:
    """Return a law as tuples, or refuse what is no law of so many signals."""
    try:
        law = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        law = np.zeros(0)
    if law.ndim != 2:
        raise InvalidInput(
            "a law must be a matrix of numbers, one row per action and one column per signal"
        )
    if law.shape[1] != signals:
        raise InvalidInput(
            f"a law needs one column per signal: theta has {signals} signals, "
            f"the law {law.shape[1]} columns"
        )
    for action, row in enumerate(law):
        if not (row >= 0.0).all():
            raise InvalidInput(
                f"the law of action {action} must not hold a negative probability, "
                f"got {row.tolist()}"
            )
        if abs(row.sum() - 1.0) > _SUM_TOLERANCE:
            raise InvalidInput(
                f"the law of action {action} must sum to 1, got {row.tolist()} with sum "
                f"{row.sum():.6g}: correct the row"
            )
    return tuple(tuple(float(p) for p in row) for row in law)
