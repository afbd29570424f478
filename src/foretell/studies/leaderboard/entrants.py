"""Who takes part in the leaderboard, and with which hyper-parameters.

A policy that asks for the number of changes or the horizon is told both, and set as its paper
sets it; so the baselines know more than our own policies, which are told neither. What a policy
is called stays the same, whatever it is set to in a scenario.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

from foretell.policies import NsdPsrl, NsdUcrl2, policy, registered_policies
from foretell.studies.legend import short_label

if TYPE_CHECKING:
    from foretell.policies import Spec
    from foretell.worlds import SuiteEntry

WINDOWS = (200, 400, 800, 1600, 3200, None)
"""The windows from which the best one is picked in hindsight; None is no window."""

USUAL_WINDOW = 800
"""The window of the fixed-window policies that take part themselves."""


VARIANTS = ("nsd-ucrl2(window=800, tight=True)", "nsd-kl-glr(robust=True)")
"""Options of our own policies that take part besides the defaults."""


def entrants(entry: SuiteEntry) -> dict[str, Spec]:
    """Return every policy that comes with foretell, set for one scenario, by name."""
    own = {
        name: _tuned(one.spec, entry)
        for name, one in registered_policies().items()
        if one.spec.__module__.startswith("foretell.")
    }
    return own | {short_label(str(spec)): spec for spec in map(policy, VARIANTS)}


def window_family(entry: SuiteEntry) -> dict[str, Spec]:
    """Return the fixed-window policies of the paper with every window, by printed spec."""
    windows = [w for w in WINDOWS if w is None or w < entry.horizon]
    family = [kind(window=window) for kind in (NsdUcrl2, NsdPsrl) for window in windows]
    return {str(spec): spec for spec in family}


def _tuned(spec: type[Spec], entry: SuiteEntry) -> Spec:
    """Set a policy as its paper does for a known horizon and number of changes."""
    tuning = _tuning(spec.name, entry.horizon, entry.changes_count())
    fields = {field.name for field in dataclasses.fields(spec)}
    return spec(**{name: value for name, value in tuning.items() if name in fields})


def _tuning(name: str, horizon: int, changes: int) -> dict[str, int | float]:
    if name in ("sw-ucb", "sw-ts"):
        return {"window": reward_window(horizon, changes)} if changes else {}
    if name in ("d-ucb", "d-ts"):
        return {"gamma": discount(horizon, changes)}
    if name == "exp3s":
        return {"changes": changes}
    if name in ("nsd-ucrl2", "nsd-psrl", "nsd-kl"):
        return {"window": USUAL_WINDOW}
    return {}


def reward_window(horizon: int, changes: int) -> int:
    """Return W = 2 sqrt(T ln T / G) of [Garivier2011], at most T.

    >>> reward_window(8000, 3)
    309
    """
    return min(horizon, max(1, int(2.0 * math.sqrt(horizon * math.log(horizon) / changes))))


def discount(horizon: int, changes: int) -> float:
    """Return gamma = 1 − sqrt(G / T) / 4 of [Garivier2011].

    >>> discount(8000, 3)
    0.995159
    """
    return round(1.0 - 0.25 * math.sqrt(changes / horizon), 6)
