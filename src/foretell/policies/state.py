"""Walking over the arrays of a state: to compare, to save, and to grow it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from foretell.policies.verbs import admit, begin, has

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretell.types import Problem


def leaves(state: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the scalars and arrays of a state with their dotted names, scratch left out.

    >>> from foretell.policies import Ucb
    >>> from foretell.types import Problem
    >>> [name for name, _ in leaves(begin(Ucb(), Problem(2, 2)))]
    ['scale', 'rewards.counts', 'rewards.grains', 'mean', 'root']
    """
    for name, value in zip(state._fields, state, strict=True):
        if name.startswith("scratch"):
            continue
        if hasattr(value, "_fields"):
            yield from leaves(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def fingerprint(state: Any) -> bytes:
    """Return all that a state knows as bytes: equal bytes, equal knowledge."""
    return b"".join(
        name.encode() + np.asarray(value).tobytes() + str(np.shape(value)).encode()
        for name, value in leaves(state)
    )


def grow(spec: Any, state: Any, known_actions: int, problem: Problem) -> Any:
    """Return the state for a problem with more actions than were known, or more signals.

    Arrays are indexed by action, by signal or by the round of a window along each axis, so what is
    known keeps its index, bit for bit, and what is added is what `begin` puts there, or `admit`.
    """
    grown = begin(spec, problem)
    for (_, known), (_, blank) in zip(leaves(state), leaves(grown), strict=True):
        if isinstance(blank, np.ndarray):
            blank[tuple(slice(length) for length in known.shape)] = known
    if has(admit, grown) and problem.actions > known_actions:
        admit(grown, known_actions)
    return grown
