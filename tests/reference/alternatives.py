"""The instance constant, slowly: Kinf by a search over lambda, alternatives by trying them."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import linprog, minimize, minimize_scalar

from foretell.types import Bools, Floats
from tests.reference.baselines import slow_kl


def slow_kinf(law: Floats, values: Floats, level: float) -> float:
    """Return max over lambda of sum p ln(1 - lambda (v - x)), inf where no law reaches x."""
    if float(law @ values) >= level:
        return 0.0
    top = float(values.max())
    if top <= level:
        return math.inf
    shown = law > 0.0

    def loss(share: float) -> float:
        factors = 1.0 - share / (top - level) * (values[shown] - level)
        return -float(law[shown] @ np.log(np.maximum(factors, 1e-300)))

    found = minimize_scalar(loss, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-12})
    return max(0.0, -float(found.fun), -loss(1.0))


def parts(law: Floats, theta: Floats) -> tuple[Floats, Floats, Bools, float]:
    """Return the suboptimal laws, their gaps, the off signals and rho*."""
    means = law @ theta
    best = float(means.max())
    optimal = means >= best - 1e-12
    off: Bools = ~np.any(law[optimal] > 0.0, axis=0)
    return law[~optimal], best - means[~optimal], off, best


def information(
    rows: Floats, row: int, theta: Floats, raised: Floats, off: Bools, best: float
) -> Floats:
    """Return what a play of each action says against theta' = raised and the best q of a row."""
    costs = np.zeros(theta.size)
    for signal in np.flatnonzero(off & (rows > 0.0).any(axis=0)):
        costs[signal] = slow_kl(float(theta[signal]), float(raised[signal]))
    each: Floats = rows @ costs
    each[row] += slow_kinf(rows[row], raised, best)
    return each


def raised_theta(theta: Floats, off: Bools, rises: Floats) -> Floats:
    """Return theta with its off signals raised, each by a share of its room below 1."""
    raised = theta.copy()
    raised[off] += (1.0 - theta[off]) * np.clip(rises, 0.0, 1.0 - 1e-12)
    return raised


def slow_cheapest(
    rows: Floats, row: int, theta: Floats, off: Bools, best: float, plays: Floats
) -> float:
    """Return the cost of the cheapest alternative that many starts of Nelder and Mead find."""

    def cost(rises: Floats) -> float:
        found = plays @ information(rows, row, theta, raised_theta(theta, off, rises), off, best)
        return float(found) if math.isfinite(found) else 1e9

    count = int(off.sum())
    starts = [np.zeros(count), *np.random.default_rng(0).random((4, count))]
    for signal, height in itertools.product(range(count), (0.1, 0.3, 0.5, 0.7, 0.9, 0.97)):
        start = np.zeros(count)
        start[signal] = height
        starts.append(start)
    starts = sorted(starts, key=cost)[:2]
    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 1000}
    return min(
        float(minimize(cost, start, method="Nelder-Mead", options=options).fun) for start in starts
    )


def slow_constant(law: Floats, theta: Floats, steps: int) -> float:
    """Return C with the alternatives of a grid alone, theta' = rho* among them: a little small."""
    rows, gaps, off, best = parts(law, theta)
    level = (best - theta[off]) / (1.0 - theta[off])
    even = np.linspace(0.0, 1.0, steps, endpoint=False)
    grids = [np.sort(np.append(even, [one, one + 1e-6])) for one in level]
    lines = [
        information(rows, row, theta, raised_theta(theta, off, np.array(rises)), off, best)
        for row in range(len(rows))
        for rises in itertools.product(*grids)
    ]
    finite = np.array([line for line in lines if np.isfinite(line).all()])
    return float(linprog(gaps, A_ub=-finite, b_ub=-np.ones(len(finite))).fun)
