"""The most optimistic law in an L1 ball: Algorithm 2 of [Vernade2020, App. A].

    rho⁺ = max { q·U : q in the simplex, ‖p − q‖₁ ≤ radius }

All mass that the ball allows, radius / 2, moves to the signal with the largest U; it is taken
from the signals with the smallest U first. The mass still to be taken is carried along, so that
rounding cannot add a sweep (erratum S15).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretell.kernel import kernel

if TYPE_CHECKING:
    from foretell.types import Floats, Ints


@kernel
def sort_signals(upper: Floats, order: Ints) -> None:
    """Bring `order`, a permutation of the signals, into decreasing order of `upper`.

    Equal values are ordered by their number, so the result does not depend on where it starts;
    starting from the last round's order makes it O(S) when little has changed.
    """
    for i in range(1, order.size):
        signal = order[i]
        value = upper[signal]
        j = i - 1
        while j >= 0 and (
            upper[order[j]] < value or (upper[order[j]] == value and order[j] > signal)
        ):
            order[j + 1] = order[j]
            j -= 1
        order[j + 1] = signal


@kernel
def optimistic_value(
    counts: Ints, action: int, share: float, radius: float, upper: Floats, order: Ints
) -> float:
    """Return rho⁺ for the law `counts[action] · share`; `order` sorts `upper` decreasingly."""
    value = 0.0
    for signal in range(upper.size):
        value += counts[action, signal] * share * upper[signal]
    best = order[0]
    moving = min(0.5 * radius, 1.0 - counts[action, best] * share)
    value += moving * upper[best]
    for index in range(order.size - 1, 0, -1):
        if moving <= 0.0:
            break
        worst = order[index]
        taken = min(moving, counts[action, worst] * share)
        value -= taken * upper[worst]
        moving -= taken
    return value
