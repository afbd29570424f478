"""foretell decides now, on outcomes known only much later, in a world that keeps changing.

>>> import foretell as ft
>>> scenario = ft.scenario("paper", delay=500)
>>> agent = ft.Agent("nsd-ucrl2(window=800)", actions=["a", "b"], signals=["none", "click"], seed=0)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from foretell.errors import ForetellError
from foretell.kernel import kernel

if TYPE_CHECKING:
    from foretell.agent import Agent, Decision
    from foretell.client import AsyncClient, Client
    from foretell.policies import (
        BayesUcb,
        CusumUcb,
        DKlUcb,
        DTs,
        DUcb,
        Exp3S,
        GlrKlUcb,
        Ids,
        KlUcb,
        MetaBio,
        MUcb,
        NsdAdaptive,
        NsdKl,
        NsdKlGlr,
        NsdPsrl,
        NsdPsrlCp,
        NsdUcrl2,
        OracleNsd,
        OracleNsdNd,
        OraclePsrl,
        OracleTheta,
        OracleUcb,
        OracleUcbNd,
        QpmD,
        SignalGlrKlUcb,
        Spec,
        SwKlUcb,
        SwTs,
        SwUcb,
        Ts,
        Ucb,
        Uniform,
        policy,
        policy_table,
        register,
        registered_policies,
    )
    from foretell.policies.conformance import check_policy
    from foretell.sim import (
        Batch,
        Batches,
        PolicyComparison,
        detection_delay,
        false_alarms,
        load,
        regret_per_segment,
        regret_since_change,
        simulate,
    )
    from foretell.studies.claim import Claim, Finding
    from foretell.studies.leaderboard.board import leaderboard
    from foretell.studies.study import Study
    from foretell.types import Problem
    from foretell.worlds import (
        Scenario,
        delays,
        interpolation,
        random_walk,
        redraws,
        register_scenario,
        rewards,
        scenario,
        scenarios,
        shifts,
        suite,
        theta_lines,
        theta_redraws,
        theta_steps,
        theta_walk,
    )

__all__ = [
    "Agent",
    "AsyncClient",
    "Batch",
    "Batches",
    "BayesUcb",
    "Claim",
    "Client",
    "CusumUcb",
    "DKlUcb",
    "DTs",
    "DUcb",
    "Decision",
    "Exp3S",
    "Finding",
    "ForetellError",
    "GlrKlUcb",
    "Ids",
    "KlUcb",
    "MUcb",
    "MetaBio",
    "NsdAdaptive",
    "NsdKl",
    "NsdKlGlr",
    "NsdPsrl",
    "NsdPsrlCp",
    "NsdUcrl2",
    "OracleNsd",
    "OracleNsdNd",
    "OraclePsrl",
    "OracleTheta",
    "OracleUcb",
    "OracleUcbNd",
    "PolicyComparison",
    "Problem",
    "QpmD",
    "Scenario",
    "SignalGlrKlUcb",
    "Spec",
    "Study",
    "SwKlUcb",
    "SwTs",
    "SwUcb",
    "Ts",
    "Ucb",
    "Uniform",
    "check_policy",
    "delays",
    "detection_delay",
    "false_alarms",
    "interpolation",
    "kernel",
    "leaderboard",
    "load",
    "policy",
    "policy_table",
    "random_walk",
    "redraws",
    "register",
    "register_scenario",
    "registered_policies",
    "regret_per_segment",
    "regret_since_change",
    "rewards",
    "scenario",
    "scenarios",
    "shifts",
    "simulate",
    "suite",
    "theta_lines",
    "theta_redraws",
    "theta_steps",
    "theta_walk",
]


_LATER = {
    "foretell.agent": ("Agent", "Decision"),
    "foretell.client": ("AsyncClient", "Client"),
    "foretell.policies.conformance": ("check_policy",),
    "foretell.sim": (
        "Batch",
        "Batches",
        "PolicyComparison",
        "detection_delay",
        "false_alarms",
        "load",
        "regret_per_segment",
        "regret_since_change",
        "simulate",
    ),
    "foretell.studies.leaderboard.board": ("leaderboard",),
    "foretell.studies.claim": ("Claim", "Finding"),
    "foretell.studies.study": ("Study",),
    "foretell.types": ("Problem",),
    "foretell.worlds": (
        "Scenario",
        "delays",
        "interpolation",
        "random_walk",
        "redraws",
        "register_scenario",
        "rewards",
        "scenario",
        "scenarios",
        "shifts",
        "suite",
        "theta_lines",
        "theta_redraws",
        "theta_steps",
        "theta_walk",
    ),
}
_HERE = ("ForetellError", "kernel")
_HOME = {name: "foretell.policies" for name in __all__ if name not in _HERE}
_HOME |= {name: module for module, names in _LATER.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a part when it is first asked for: `import foretell` is quick and loads no NumPy."""
    if name not in _HOME:
        raise AttributeError(f"module 'foretell' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted(__all__)
