"""Oracle-NSD: NSD-UCRL2 that is told when to restart; its twin also gets rewards undelayed."""

from __future__ import annotations

from dataclasses import dataclass

from foretell.policies.nsd_ucrl2 import NsdUcrl2
from foretell.policies.oracle import OracleState, new_oracle
from foretell.policies.registry import register
from foretell.policies.spec import Spec, check_delta, check_scale, option
from foretell.policies.verbs import begin
from foretell.types import Problem


@register(
    "oracle-nsd",
    lab_only=True,
    needs=("change points", "horizon"),
    use="the paper's yardstick: what knowing the changes is worth",
    cost="O(K S)",
)
@dataclass(frozen=True)
class OracleNsd(Spec):
    """NSD-UCRL2 without a window that restarts its law at every true change point.

    Theta is kept; the window in the paper's constant is the horizon.
    """

    delta: float = 0.1
    scale: float = option(1.0)

    def __post_init__(self) -> None:
        """Check the fields."""
        check_delta(self.delta)
        check_scale(self.scale)


@register(
    "oracle-nsd-nd",
    lab_only=True,
    undelayed=True,
    needs=("change points", "horizon", "undelayed rewards"),
    use="the paper's yardstick: what the delay costs besides",
    cost="O(K S)",
)
@dataclass(frozen=True)
class OracleNsdNd(OracleNsd):
    """NSD-UCRL2 that restarts at every true change point and gets rewards without delay."""


@begin.register(OracleNsd)
def _begin(spec: OracleNsd, problem: Problem) -> OracleState:
    inner = begin(NsdUcrl2(delta=spec.delta, scale=spec.scale), problem)
    return new_oracle(inner, problem, keeps_rewards=True)
