"""Who takes part in the leaderboard, and with which hyper-parameters.

A policy that asks for the number of changes or the horizon is told both, and set as its paper
sets it; so the baselines know more than our own policies, which are told neither. Where only
conversions are reported, a policy that can correct for it is told so, with the mean delay of each
signal. What a policy is called stays the same, whatever it is set to in a scenario.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

from foretell.policies import NsdPsrl, NsdUcrl2, policy, registered_policies
from foretell.policies.censored_spec import CensoredSpec
from foretell.sim.legend import short_label

if TYPE_CHECKING:
    from foretell.policies import Spec
    from foretell.worlds import SuiteEntry

WINDOWS = (200, 400, 800, 1600, 3200, None)
"""The windows from which the best one is picked in hindsight; None is no window."""

USUAL_WINDOW = 800
"""The window of the fixed-window policies that take part themselves."""


GARIVIER_SCALE = round(math.sqrt(0.3), 6)
"""The xi = 0.6 of [Garivier2011], sqrt(xi ln t / N): `sw-ucb` has sqrt(2 ln t / N) at scale 1."""

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
    plain = [kind(window=window) for kind in (NsdUcrl2, NsdPsrl) for window in windows]
    family = [dataclasses.replace(spec, **_censoring(type(spec), entry)) for spec in plain]
    return {str(spec): spec for spec in family}


def _tuned(spec: type[Spec], entry: SuiteEntry) -> Spec:
    """Set a policy as its paper does for a known horizon and number of changes."""
    tuning = _tuning(spec.name, entry.horizon, entry.changes_count()) | _censoring(spec, entry)
    fields = {field.name for field in dataclasses.fields(spec)}
    return spec(**{name: value for name, value in tuning.items() if name in fields})


def _censoring(spec: type[Spec], entry: SuiteEntry) -> dict[str, Any]:
    """Return what a policy that corrects for silence is told about rewards."""
    if not entry.scenario.censored or not issubclass(spec, CensoredSpec):
        return {}
    delay: Any = entry.scenario.delay
    means = tuple(one.mean() for one in delay) if isinstance(delay, tuple) else delay.mean()
    return {"censored": True, "typical_delay": means}


def _tuning(name: str, horizon: int, changes: int) -> dict[str, Any]:
    if name in ("sw-ucb", "sw-kl-ucb", "sw-ts"):
        window = {"window": reward_window(horizon, changes)} if changes else {}
        return window | ({"scale": GARIVIER_SCALE} if name == "sw-ucb" else {})
    if name in ("d-ucb", "d-kl-ucb", "d-ts"):
        return {"gamma": discount(horizon, changes)}
    if name in ("exp3s", "m-ucb", "cusum-ucb"):
        return {"changes": changes}
    if name == "glr-kl-ucb":
        return {"growing": True}
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
