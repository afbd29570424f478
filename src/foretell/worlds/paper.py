"""The problem of the paper's experiments: Table 1 and its variations [Vernade2020, Sec. 5].

Table 1 prints (.8, .1, .8) for action 3, which sums to 1.7; the printed mean .28 needs
(.1, .1, .8) (erratum E1). Rewards are Bernoulli; round 2000, counted from 0, is the first of the
new law.
"""

from __future__ import annotations

from foretell.worlds.changes import Changes, Stationary, shifts
from foretell.worlds.delays import Delay
from foretell.worlds.scenario import Scenario

HORIZON = 8000
CHANGES = (2000, 4000, 6000)
THETA = (0.8, 0.4, 0.2)
LAW = ((0.8, 0.1, 0.1), (0.1, 0.8, 0.1), (0.1, 0.1, 0.8), (0.1, 0.4, 0.5))


def paper(
    delay: Delay | int = 500,
    changes: Changes | None = None,
    alpha: float = 0.0,
    mu: tuple[float, ...] | None = None,
) -> Scenario:
    """Table 1 with shifts at rounds 2000, 4000 and 6000, made for a horizon of 8000."""
    return Scenario(
        law=LAW,
        theta=THETA,
        changes=shifts(at=CHANGES) if changes is None else changes,
        delay=delay,
        alpha=alpha,
        mu=mu,
    )


def paper_stationary(delay: Delay | int = 500) -> Scenario:
    """Table 1 without changes."""
    return Scenario(law=LAW, theta=THETA, delay=delay)


def paper_two_actions(
    delay: Delay | int = 0, alpha: float = 0.1, mu: tuple[float, ...] = (0.9, 0.1)
) -> Scenario:
    """Actions 1 and 2 of Table 1, stationary and misspecified: Figures 4 and 5."""
    return Scenario(law=LAW[:2], theta=THETA, changes=Stationary(), delay=delay, alpha=alpha, mu=mu)
