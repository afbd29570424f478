"""The world that is hardest to tell from the true one although another action is best in it.

Given how often each action is played, `cheapest_alternative` minimises over q and theta'

    eta_b KL(p_b, q) + sum over off signals of m_s kl(theta_s, theta'_s)     with q·theta' >= rho*

where m_s = sum_a eta_a p_a(s). This is not convex in (q, theta'), but its stationary points lie on
curves with one parameter, as `docs/explanation/what-is-possible.md` shows:

* q_s = p_s (z - rho*) / (z - theta'_s) for one number z, at least as large as every theta'_s;
* a follower, the usual off signal, has the smaller root of M (x - theta)(z - x) = p x (1 - x),
  with M = m / eta_b; it exists for z above the `fold` of its signal;
* at most one signal, the leader, has the larger root, or holds mass although p does not; then
  z = x + p x (1 - x) / (M (x - theta)), which rises with x.

Without a leader the constraint rises as z falls, so one bisection finds its only root. With one,
the zeros along x are looked for on a grid that is dense at both ends; those at which the
constraint rises are minima, the others maxima.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from foretell.policies.parts.bernoulli_kl import bernoulli_kl
from foretell.theory.kinf import falling_root, mean_log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from foretell.types import Bools, Floats

HALVINGS = 56
_EDGE = np.geomspace(1e-12, 1e-2, 60)
_INSIDE = np.linspace(0.0, 1.0, 301)[4:-4]
GRID: Floats = np.unique(np.concatenate([_EDGE, _INSIDE, 1.0 - _EDGE]))
"""Where in (0, 1), stretched over a leader's range, changes of sign are looked for."""
FINER: Floats = np.linspace(0.0, 1.0, 65)
"""Where a grid comes close to 0 without a change of sign, the place is looked at again."""


@dataclass(frozen=True)
class Task:
    """One action `row` of the laws of suboptimal actions, which is to be made the best."""

    laws: Floats
    """(suboptimal actions, signals)."""
    row: int
    theta: Floats
    off: Bools
    """(signals,): signals that no best action shows."""
    best: float
    """rho*."""
    plays: Floats
    """(suboptimal actions,): eta, all of it above 0."""


def cheapest_alternative(task: Task) -> Floats:
    """Return the information of a play of each action against the cheapest alternative.

    The alternative's cost is `plays` times this vector. Every candidate that is compared is an
    alternative, so the cost is never below the minimum by more than rounding.
    """
    return min(_Curve(task).candidates(), key=lambda information: float(task.plays @ information))


class _Curve:
    """The stationary points for one action."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.law = task.laws[task.row]
        self.weight: Floats = np.maximum(
            self.law, task.plays @ task.laws / task.plays[task.row]
        )
        """M_s; it cannot be below p_s."""
        self.free = task.off & (self.weight == 0.0)
        """Off signals that nobody shows: their theta' = 1 costs nothing."""
        self.moving = task.off & ~self.free & (self.law > 0.0) & (task.theta < 1.0)
        self.base: Floats = np.where(self.free, 1.0, task.theta)
        self.top = float(self.base.max())
        self.folds = np.array([self._fold(s) for s in range(self.law.size)])

    def _turn(self, signal: int) -> float:
        """Return the x at which a signal's smaller root meets its larger one, 1 if none does.

        With theta = 0 the smaller root is always 0, even where M = p and every x has the same z.
        """
        spare = float(self.weight[signal] - self.law[signal])
        theta = float(self.task.theta[signal])
        square = theta * (1.0 - theta) * float(self.law[signal])
        if square == 0.0:
            return theta
        if spare * (1.0 - theta) ** 2 <= square:
            return 1.0
        return theta + math.sqrt(square / spare)

    def _height(self, signal: int, x: Floats) -> Floats:
        """Return the z at which x is a root of this signal."""
        theta, law, weight = self.task.theta[signal], self.law[signal], self.weight[signal]
        if law == 0.0:
            return x
        if theta == 0.0:
            height: Floats = x + (law / weight) * (1.0 - x)
            return height
        height = x + law * x * (1.0 - x) / (weight * (x - theta))
        return height

    def _fold(self, signal: int) -> float:
        """Return the smallest z at which a moving signal has a smaller root."""
        if not self.moving[signal]:
            return -math.inf
        return float(self._height(signal, np.array([self._turn(signal)]))[0])

    def _followers(self, z: Floats) -> Floats:
        """Return theta' of every signal as a follower, (signals, len(z))."""
        theta = self.base[:, None]
        spare = (self.weight - self.law)[:, None]
        middle = self.weight[:, None] * (z + theta) - self.law[:, None]
        last = self.weight[:, None] * theta * z
        root = np.sqrt(np.maximum(0.0, middle * middle - 4.0 * spare * last))
        below = np.where(self.moving[:, None] & (theta > 0.0), middle + root, 1.0)
        smaller = np.clip(2.0 * last / below, theta, 1.0)
        found: Floats = np.where(self.moving[:, None] & (theta > 0.0), smaller, theta)
        return found

    def _distances(self, lowest: float, above: Floats, values: Floats) -> Floats:
        """Return z - theta' at z = lowest + above, exact for signals that do not move."""
        moved = lowest + above - values
        still = lowest - self.base[:, None] + above
        distances: Floats = np.where(self.moving[:, None], moved, still)
        return distances

    def _balance(
        self, lowest: float, above: Floats, leader: int = -1, x: Floats | None = None
    ) -> Floats:
        """Return (q·theta' - rho*) / (z - rho*) at z = lowest + above, a leader standing at x."""
        values = self._followers(lowest + above)
        distances = self._distances(lowest, above, values)
        shown = self.law > 0.0
        total = np.zeros_like(above)
        if x is not None:
            shown = shown & (np.arange(self.law.size) != leader)
            total = self._push(leader, x) * (x - self.task.best)
        with np.errstate(divide="ignore"):
            parts = self.law[shown, None] * (values[shown] - self.task.best) / distances[shown]
        balance: Floats = total + parts.sum(axis=0)
        return balance

    def _push(self, leader: int, x: Floats) -> Floats:
        """Return M (x - theta) / (x (1 - x)), which for a leader is q / (z - rho*)."""
        rise: Floats = self.weight[leader] * (1.0 - self.task.theta[leader] / x) / (1.0 - x)
        return rise

    def candidates(self) -> Iterator[Floats]:
        """Yield the information of a play of each action, for every stationary point."""
        lowest = max(self.top, float(self.folds.max()))

        def alone(above: float) -> float:
            return float(self._balance(lowest, np.array([above]))[0])

        if lowest > self.task.best:  # else every value stays below rho*
            if alone(0.0) > 0.0:
                yield self._without_leader(lowest, falling_root(alone, closed=False))
            elif lowest == self.top:
                yield self._without_leader(lowest, 0.0)
        for leader in np.flatnonzero(self.task.off & ~self.free & (self.task.theta < 1.0)):
            for x in self._leader_roots(int(leader)):
                yield self._with_leader(int(leader), x)

    def _leader_roots(self, leader: int) -> list[float]:
        """Return every x at which this leader balances the constraint and cannot do better."""
        others = np.delete(self.folds, leader)
        lowest = max(self.top, self.task.best, float(others.max()))
        start = self._turn(leader)
        if lowest >= 1.0 or start >= 1.0:
            return []
        if float(self._height(leader, np.array([start]))[0]) < lowest:
            low, high = start, 1.0
            for _ in range(HALVINGS):
                middle = 0.5 * (low + high)
                if float(self._height(leader, np.array([middle]))[0]) < lowest:
                    low = middle
                else:
                    high = middle
            start = high

        def balance(x: Floats) -> Floats:
            return self._balance(0.0, self._height(leader, x), leader, x)

        points = np.minimum(start + (1.0 - start) * GRID, np.nextafter(1.0, 0.0))
        return rising_zeros(balance, np.unique(points))

    def _without_leader(self, lowest: float, above: float) -> Floats:
        step = np.array([above])
        values = self._followers(lowest + step)
        distances = self._distances(lowest, step, values)
        return self._information(values[:, 0], distances[:, 0], lowest - self.task.best + above)

    def _with_leader(self, leader: int, x: float) -> Floats:
        place = np.array([x])
        height = self._height(leader, place)
        values = self._followers(height)
        distances = self._distances(0.0, height, values)
        values[leader] = x
        distances[leader] = self.law[leader] / self._push(leader, place)
        return self._information(values[:, 0], distances[:, 0], float(height[0]) - self.task.best)

    def _information(self, values: Floats, distances: Floats, whole: float) -> Floats:
        """Return what a play of each action says against theta' = values and its best q."""
        task = self.task
        shown = self.law > 0.0
        below = values[shown] - task.best
        divergence = mean_log(self.law[shown], below, distances[shown], whole)
        costs = np.zeros_like(values)
        for signal in np.flatnonzero(task.off & ~self.free):
            costs[signal] = bernoulli_kl(float(task.theta[signal]), float(values[signal]))
        information: Floats = task.laws @ costs
        information[task.row] += max(0.0, divergence)
        return information


def rising_zeros(function: Callable[[Floats], Floats], points: Floats) -> list[float]:
    """Return where a function rises through 0 between some points, closer where it nearly does.

    >>> [round(x, 6) for x in rising_zeros(lambda x: (x - 0.3) * (x - 0.301), np.linspace(0, 1, 9))]
    [0.301]
    """
    values = function(points)
    size = np.abs(values)
    near = (size[1:-1] <= size[:-2]) & (size[1:-1] <= size[2:])
    more = [points]
    for index in np.flatnonzero(near) + 1:
        left, right = points[index - 1], points[index + 1]
        for _ in range(2):
            finer = left + (right - left) * FINER
            more.append(finer)
            best = int(np.clip(np.argmin(np.abs(function(finer))), 1, finer.size - 2))
            left, right = finer[best - 1], finer[best + 1]
    points = np.unique(np.concatenate(more))
    values = function(points)
    roots = []
    for index in np.flatnonzero((values[:-1] < 0.0) & (values[1:] >= 0.0)):
        low, high = points[index], points[index + 1]
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            if float(function(np.array([middle]))[0]) < 0.0:
                low = middle
            else:
                high = middle
        roots.append(float(0.5 * (low + high)))
    return roots
