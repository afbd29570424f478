"""What a stationary problem costs in the long run: regret per ln T, with signals and without.

No policy that is good everywhere has less than C ln T regret in the long run, with

    C = min { sum_a eta_a Delta_a : eta·I >= 1 for every alternative, eta >= 0 }

an alternative being a world that the best actions cannot tell from the true one and in which
another action is best, and I(a) the information of one play of a against it [Graves1997,
Combes2017]. Proof and algorithm: `docs/explanation/what-is-possible.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from foretell.errors import InvalidInput
from foretell.theory.cheapest_alternative import Task, cheapest_alternative
from foretell.theory.gaps import NO_GAP, ROWS, checked_laws
from foretell.theory.kinf import (
    known_theta_information,
    rewards_only_information,
    separate_information,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from foretell.types import Bools, Floats

NEGLIGIBLE = 1e-15
"""Probabilities below this are rounding where only their size matters, not whether they are 0."""
CLOSE = 1e-9
"""Lower and upper ends this close, relatively, are one number."""
TURNS = 60
"""Usual problems need one to ten; the ends say how far apart they are where this is not enough."""
SMALLEST_SHARE = 1e-11
"""No action's plays cost less than this share of all, so that every logarithm is finite."""


@dataclass(frozen=True)
class InstanceConstant:
    """Regret per ln T that no good policy can avoid, by what it may use."""

    known_theta: float
    """For who is told theta and has to learn the laws only."""
    lower: float
    """With signals, from below: the optimum over the alternatives that were found."""
    upper: float
    """With signals, from above: what `plays` cost, which no alternative contradicts."""
    separate: float
    """With signals, if every action had to learn theta by its own plays: never below `upper`."""
    rewards_only: float
    """For who ignores the signals [Lai1985]."""
    plays: tuple[float, ...]
    """eta: plays of each action per ln T at the optimum, inf for a best action."""
    best: tuple[int, ...]
    off: tuple[int, ...]
    """Signals that no best action shows: what they are worth has to be explored."""
    turns: int
    """Rounds of the search; 0 where a formula gives the answer."""

    @property
    def value(self) -> float:
        """C, with signals."""
        return self.upper

    @property
    def ratio(self) -> float | None:
        """What signals are worth in the long run; None where nobody pays anything."""
        return self.rewards_only / self.upper if self.upper > 0.0 else None


def instance_constant(
    law: npt.ArrayLike, theta: npt.ArrayLike, support: npt.ArrayLike | None = None
) -> InstanceConstant:
    """Compute the constants of one law (actions, signals) and theta (signals,) in [0, 1].

    C jumps where an entry of a best action's law becomes 0. `support` marks the entries that are
    possible, some of them perhaps with probability 0 in `law`: with it C is the limit from there.

    >>> table = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.1, 0.4, 0.5]]
    >>> found = instance_constant(table, [0.8, 0.4, 0.2])
    >>> round(found.value, 6), round(found.rewards_only, 6), round(found.ratio, 2)
    (0.927882, 4.101941, 4.42)
    """
    laws, values = checked_laws(law, theta)
    if np.ndim(law) != ROWS:
        raise InvalidInput(
            f"the constant is that of one law, got {laws.shape[0]} segments: "
            f"compute it for each of them"
        )
    rows: Floats = laws[0] / laws[0].sum(axis=1, keepdims=True)
    possible = _support(rows, support)
    means = rows @ values
    best = float(means.max())
    optimal: Bools = means >= best - NO_GAP
    off: Bools = ~np.any(possible[optimal], axis=0)
    highest = float(values[~off].max())
    if highest - best <= NO_GAP:  # then every signal of a best action has this very value
        best = highest
    losing, missing = rows[~optimal], best - means[~optimal]
    losing[losing < NEGLIGIBLE] = 0.0
    if best >= 1.0 - NO_GAP or losing.size == 0:
        return _result(optimal, off, (0.0, 0.0, 0.0, 0.0, 0.0), np.zeros(len(losing)), 0)
    known = np.array([known_theta_information(row, values, best) for row in losing])
    separate = np.array([separate_information(row, values, off, best) for row in losing])
    rewards = np.array([rewards_only_information(row, values, best) for row in losing])
    lower = upper = float(missing @ (1.0 / separate))
    plays, turns = 1.0 / separate, 0
    if off.any() and len(losing) > 1:
        lower, plays, turns = _search(losing, values, off, best, missing, plays)
        upper = float(missing @ plays)
    ends = (
        float((missing / known).sum()),
        lower,
        upper,
        float((missing / separate).sum()),
        float((missing / rewards).sum()),
    )
    return _result(optimal, off, ends, plays, turns)


def _result(
    optimal: Bools,
    off: Bools,
    ends: tuple[float, float, float, float, float],
    plays: Floats,
    turns: int,
) -> InstanceConstant:
    each = np.full(optimal.size, math.inf)
    each[~optimal] = plays
    best, unseen = np.flatnonzero(optimal), np.flatnonzero(off)
    return InstanceConstant(
        *ends, tuple(each.tolist()), tuple(best.tolist()), tuple(unseen.tolist()), turns
    )


def _support(rows: Floats, support: npt.ArrayLike | None) -> Bools:
    if support is None:
        return rows > 0.0
    possible = np.asarray(support)
    if possible.shape != rows.shape or possible.dtype != np.bool_:
        raise InvalidInput(
            f"support must be True or False for each entry of the law, {rows.shape}, got "
            f"{possible.dtype} of shape {possible.shape}: mark the signals an action can show"
        )
    if (rows[~possible] > 0.0).any():
        raise InvalidInput(
            "support says False where the law has a positive probability: "
            "mark every signal that an action can show"
        )
    return possible


def _search(
    laws: Floats, theta: Floats, off: Bools, best: float, missing: Floats, plays: Floats
) -> tuple[float, Floats, int]:
    """Return the lower end, the plays that cost the upper end, and the turns.

    Each turn finds the alternatives that the plays rule out least, scales the plays until none is
    left, and solves the programme of all alternatives found so far for the next plays.
    """
    good, upper, lower = plays, float(missing @ plays), 0.0
    columns: list[Floats] = []
    turn = 0
    for turn in range(1, TURNS + 1):
        plays = np.maximum(plays, SMALLEST_SHARE * float(missing @ plays) / missing)
        found = [
            cheapest_alternative(Task(laws, row, theta, off, best, plays))
            for row in range(len(laws))
        ]
        certain = min(float(plays @ information) for information in found)
        if certain > 0.0 and float(missing @ plays) / certain < upper:
            good = plays / certain
            upper = float(missing @ good)
        columns += found
        lower, plays = packing_optimum(np.array(columns).T, missing)
        if upper - lower <= CLOSE * upper:
            break
        if turn % 2:
            plays = 0.5 * (plays + good)
    return min(lower, upper), good, turn


def packing_optimum(columns: Floats, room: Floats) -> tuple[float, Floats]:
    """Solve max sum(y) with columns @ y <= room, y >= 0; return the optimum and its multipliers.

    The simplex method from the empty solution, by Bland's rule once it has taken long. The optimum
    is that of a y that keeps all rows, so it never exceeds the true one.

    >>> packing_optimum(np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]), np.array([1.0, 2.0]))
    (3.0, array([1., 1.]))
    """
    rows, count = columns.shape
    table = np.hstack([columns, np.eye(rows)])
    gain = np.concatenate([np.ones(count), np.zeros(rows)])
    basis = list(range(count, count + rows))
    prices = np.zeros(rows)
    amounts = room
    for step in range(50 * (count + rows)):
        inverse = np.linalg.inv(table[:, basis])
        amounts, prices = inverse @ room, gain[basis] @ inverse
        profit = gain - prices @ table
        profit[basis] = 0.0
        better = np.flatnonzero(profit > 1e-12)
        if better.size == 0:
            break
        entering = int(better[0] if step > 10 * rows else better[np.argmax(profit[better])])
        change = inverse @ table[:, entering]
        limits = np.full(rows, math.inf)
        limits[change > 1e-14] = np.maximum(0.0, amounts[change > 1e-14]) / change[change > 1e-14]
        leaving = min(range(rows), key=lambda row: (limits[row], basis[row]))
        basis[leaving] = entering
    solution = np.zeros(count + rows)
    solution[basis] = np.maximum(0.0, amounts)
    used = columns @ solution[:count]
    scale = min(1.0, float((room[used > 0.0] / used[used > 0.0]).min(initial=1.0)))
    return scale * float(solution[:count].sum()), np.maximum(0.0, prices)
