"""The most optimistic law: Algorithm 2 as printed, and the linear program it solves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse
from scipy.optimize import linprog

from foretell.types import Floats, Ints


class Case(NamedTuple):
    """A law given by counts, a radius and upper bounds."""

    counts: Ints
    radius: float
    upper: Floats

    @property
    def law(self) -> Floats:
        """The shares of the counts."""
        law: Floats = self.counts / self.counts.sum()
        return law


def algorithm_2(law: Floats, radius: float, upper: Floats) -> float:
    """Return rho⁺ by the pseudo-code of [Vernade2020, App. A]; it stops at the second signal."""
    order = np.argsort(-upper, kind="stable")
    q = law.copy()
    q[order[0]] = min(1.0, law[order[0]] + radius / 2)
    j = len(q) - 1
    while q.sum() > 1.0 and j >= 1:
        q[order[j]] = max(0.0, 1.0 - (q.sum() - q[order[j]]))
        j -= 1
    return float(q @ upper)


def linear_programs(cases: list[Case]) -> Floats:
    """Return max q·U over the simplex with |p − q|₁ <= radius, for each case.

    The variables of a case are q and e >= |p − q|. Cases share nothing, so they are solved as the
    blocks of one program.
    """
    cost, upper_rows, upper_ends, equal_rows = [], [], [], []
    for case in cases:
        n = len(case.upper)
        one = np.eye(n)
        upper_rows.append(
            np.block(
                [[one, -one], [-one, -one], [np.zeros((1, n)), np.ones((1, n))]],
            )
        )
        upper_ends.append(np.concatenate([case.law, -case.law, [case.radius]]))
        equal_rows.append(np.concatenate([np.ones(n), np.zeros(n)])[None, :])
        cost.append(np.concatenate([-case.upper, np.zeros(n)]))
    solved = linprog(
        np.concatenate(cost),
        A_ub=scipy.sparse.block_diag(upper_rows, format="csr"),
        b_ub=np.concatenate(upper_ends),
        A_eq=scipy.sparse.block_diag(equal_rows, format="csr"),
        b_eq=np.ones(len(cases)),
        bounds=(0, None),
        method="highs",
    )
    assert solved.success, solved.message
    values, index = [], 0
    for case in cases:
        n = len(case.upper)
        values.append(float(solved.x[index : index + n] @ case.upper))
        index += 2 * n
    return np.array(values)
