"""foretell decides now, on outcomes known only much later, in a world that keeps changing.

>>> import foretell as ft
>>> scenario = ft.scenario("paper", delay=500)
>>> agent = ft.Agent("nsd-ucrl2(window=800)", actions=["a", "b"], signals=["none", "click"], seed=0)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from foretell.agent import Agent, Decision
from foretell.errors import ForetellError
from foretell.kernel import kernel
from foretell.policies import (
    NsdPsrl,
    NsdUcrl2,
    OracleNsd,
    OracleNsdNd,
    OracleUcb,
    OracleUcbNd,
    Spec,
    SwUcb,
    Ucb,
    Uniform,
    policies,
    policy,
    register,
)
from foretell.policies.check import check_policy
from foretell.types import Problem
from foretell.worlds import (
    Scenario,
    delays,
    interpolation,
    random_walk,
    redraws,
    rewards,
    scenario,
    scenarios,
    shifts,
)

if TYPE_CHECKING:
    from foretell.sim import Batch, Batches, load, simulate

_FROM_SIM = ("Batch", "Batches", "load", "simulate")

__all__ = [
    "Agent",
    "Batch",
    "Batches",
    "Decision",
    "ForetellError",
    "NsdPsrl",
    "NsdUcrl2",
    "OracleNsd",
    "OracleNsdNd",
    "OracleUcb",
    "OracleUcbNd",
    "Problem",
    "Scenario",
    "Spec",
    "SwUcb",
    "Ucb",
    "Uniform",
    "check_policy",
    "delays",
    "interpolation",
    "kernel",
    "load",
    "policies",
    "policy",
    "random_walk",
    "redraws",
    "register",
    "rewards",
    "scenario",
    "scenarios",
    "shifts",
    "simulate",
]


def __getattr__(name: str) -> Any:
    """Import the simulator when it is first asked for, so that agents start fast."""
    if name in _FROM_SIM:
        return getattr(importlib.import_module("foretell.sim"), name)
    raise AttributeError(f"module 'foretell' has no attribute {name!r}")
