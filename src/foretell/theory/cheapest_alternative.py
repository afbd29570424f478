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
_EDGE = np.geomspace(1e-16, 1e-2, 80)
_INSIDE = np.linspace(0.0, 1.0, 301)[4:-4]
GRID: Floats = np.unique(np.concatenate([_EDGE, _INSIDE, 1.0 - _EDGE]))
"""Where in (0, 1), stretched over a leader's range, changes of sign are looked for."""
ALMOST = 1.0 - 2.0**-53
"""The largest number below 1: theta' = 1 is seen through by one reward that does not come."""
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
    """The stationary points for one action; theta' is kept as its rise above theta."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.law = task.laws[task.row]
        self.weight: Floats = np.maximum(self.law, task.plays @ task.laws / task.plays[task.row])
        """M_s; it cannot be below p_s."""
        self.free = task.off & (self.weight == 0.0)
        """Off signals that nobody shows: their theta' = 1 costs nothing."""
        self.theta: Floats = np.where(self.free, 1.0, task.theta)
        self.room = 1.0 - self.theta
        self.leaders = task.off & ~self.free & (self.theta < 1.0)
        self.moving = self.leaders & (self.law > 0.0)
        self.top = float(self.theta.max())
        self.folds = np.array([self._fold(signal) for signal in range(self.law.size)])

    def _turn(self, signal: int) -> float:
        """Return the rise at which a signal's smaller root meets its larger one.

        All its room if they never meet.
        """
        spare = float(self.weight[signal] - self.law[signal])
        square = float(self.theta[signal] * self.room[signal] * self.law[signal])
        if spare * self.room[signal] ** 2 <= square:
            return float(self.room[signal])
        return math.sqrt(square / spare)

    def _height(self, signal: int, rise: Floats) -> Floats:
        """Return the z - theta at which this rise is a root of its signal."""
        if self.law[signal] == 0.0:
            return rise
        factor = self.law[signal] / self.weight[signal] * (self.room[signal] - rise)
        if self.theta[signal] > 0.0:
            factor = factor * (1.0 + self.theta[signal] / rise)
        height: Floats = rise + factor
        return height

    def _fold(self, signal: int) -> float:
        """Return the smallest z at which a moving signal has a smaller root."""
        if not self.moving[signal]:
            return -math.inf
        height = self._height(signal, np.array([self._turn(signal)]))
        return float(self.theta[signal] + height[0])

    def _follow(self, lowest: float, above: Floats) -> tuple[Floats, Floats]:
        """Return the rises of followers at z = lowest + above, and their z - theta'.

        Both are (signals, len(above)). A rise u solves (M - p) u² - b u + p theta (1 - theta) = 0
        with b = M (z - theta) - p (1 - 2 theta); the smaller root is written without a difference.
        """
        height = (lowest - self.theta)[:, None] + above
        spare = (self.weight - self.law)[:, None]
        last = (self.law * self.theta * self.room)[:, None]
        middle = self.weight[:, None] * height - (self.law * (self.room - self.theta))[:, None]
        root = np.sqrt(np.maximum(0.0, middle * middle - 4.0 * spare * last))
        rising = self.moving[:, None] & (last > 0.0) & (middle > 0.0)
        smaller = 2.0 * last / np.where(rising, middle + root, 1.0)
        most = np.minimum(self.room[:, None] * ALMOST, height * ALMOST)
        rise: Floats = np.where(rising, np.minimum(smaller, most), 0.0)
        return rise, height - rise

    def _push(self, leader: int, rise: Floats) -> Floats:
        """Return M (x - theta) / (x (1 - x)), which for a leader is q / (z - rho*)."""
        share = rise / (self.theta[leader] + rise)
        push: Floats = self.weight[leader] * share / (self.room[leader] - rise)
        return push

    def _balance(self, lowest: float, above: Floats) -> Floats:
        """Return (q·theta' - rho*) / (z - rho*) at z = lowest + above, without a leader."""
        rise, distance = self._follow(lowest, above)
        return self._pulls(rise, distance).sum(axis=0)

    def _pulls(self, rise: Floats, distance: Floats) -> Floats:
        """Return each signal's part of the balance, as a follower."""
        pulls = self.law[:, None] * ((self.theta - self.task.best)[:, None] + rise)
        with np.errstate(divide="ignore"):  # the highest value may have mass at distance 0
            np.divide(pulls, distance, out=pulls, where=pulls != 0.0)
        found: Floats = pulls
        return found

    def _leader_balance(self, leader: int, rise: Floats) -> Floats:
        """Return the same with a leader at this rise."""
        pulls = self._pulls(*self._follow(float(self.theta[leader]), self._height(leader, rise)))
        pulls[leader] = self._push(leader, rise) * (self.theta[leader] - self.task.best + rise)
        return pulls.sum(axis=0)

    def candidates(self) -> Iterator[Floats]:
        """Yield the information of a play of each action, for every stationary point."""
        lowest = max(self.top, float(self.folds.max()))

        def alone(above: float) -> float:
            return float(self._balance(lowest, np.array([above]))[0])

        if lowest > self.task.best:  # else every value stays below rho*
            if alone(0.0) > 0.0:
                yield self._without_leader(lowest, falling_root(alone, closed=False))
            elif lowest == self.top or lowest >= 1.0:  # the rest of q's mass is on that value
                yield self._without_leader(lowest, 0.0)
        for leader in np.flatnonzero(self.leaders).tolist():
            for rise in self._leader_rises(leader):
                yield self._with_leader(leader, rise)

    def _leader_rises(self, leader: int) -> list[float]:
        """Return every rise at which this leader balances the constraint and cannot do better."""
        others = np.delete(self.folds, leader)
        lowest = max(self.top, self.task.best, float(others.max())) - float(self.theta[leader])
        start, room = self._turn(leader), float(self.room[leader])
        if lowest >= room or start >= room:
            return []
        if float(self._height(leader, np.array([start]))[0]) < lowest:
            low, high = start, room
            for _ in range(HALVINGS):
                middle = 0.5 * (low + high)
                if float(self._height(leader, np.array([middle]))[0]) < lowest:
                    low = middle
                else:
                    high = middle
            start = high

        def balance(rise: Floats) -> Floats:
            return self._leader_balance(leader, rise)

        points = np.unique(np.minimum(start + (room - start) * GRID, room * ALMOST))
        rises = rising_zeros(balance, points)
        if balance(points[-1:])[0] < 0.0:  # it is shown so seldom that theta' = 1 costs nothing
            rises.append(float(points[-1]))
        return rises

    def _without_leader(self, lowest: float, above: float) -> Floats:
        rise, distance = self._follow(lowest, np.array([above]))
        return self._information(rise[:, 0], distance[:, 0], lowest - self.task.best + above)

    def _with_leader(self, leader: int, rise: float) -> Floats:
        place = np.array([rise])
        lowest, height = float(self.theta[leader]), self._height(leader, place)
        rises, distance = self._follow(lowest, height)
        rises[leader] = rise
        distance[leader] = self.law[leader] / self._push(leader, place)
        whole = lowest - self.task.best + float(height[0])
        return self._information(rises[:, 0], distance[:, 0], whole)

    def _information(self, rise: Floats, distance: Floats, whole: float) -> Floats:
        """Return what a play of each action says against these theta' and the best q for them."""
        task = self.task
        shown = self.law > 0.0
        below = (self.theta - task.best + rise)[shown]
        divergence = mean_log(self.law[shown], below, distance[shown], whole)
        costs = np.zeros_like(rise)
        for signal in np.flatnonzero(self.leaders):
            theta = float(self.theta[signal])
            costs[signal] = bernoulli_kl(theta, min(theta + float(rise[signal]), ALMOST))
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
