"""Whether intervals lie on the right side of their limits: yes, no, or open (None)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from foretell.stats.estimate import Estimate


def all_below(found: Iterable[tuple[Estimate, float]]) -> bool | None:
    """Return whether every interval lies below its limit; None where that is open."""
    return all_of([_below(estimate, limit) for estimate, limit in found])


def all_above(found: Iterable[tuple[Estimate, float]]) -> bool | None:
    """Return whether every interval lies above its limit; None where that is open."""
    below = [_below(estimate, limit) for estimate, limit in found]
    return all_of([None if one is None else not one for one in below])


def all_of(parts: Collection[bool | None]) -> bool | None:
    """Return whether all parts hold; None where none fails and one is open."""
    if False in parts:
        return False
    return None if None in parts else True


def _below(estimate: Estimate, limit: float) -> bool | None:
    if estimate.high < limit:
        return True
    return False if estimate.low > limit else None
