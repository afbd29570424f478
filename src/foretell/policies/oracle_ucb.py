"""Oracle-UCB: UCB that is told when to restart; its twin also gets rewards without delay."""

from __future__ import annotations

from dataclasses import dataclass

from foretell.policies.oracle import OracleState, new_oracle
from foretell.policies.registry import register
from foretell.policies.ucb import Ucb
from foretell.policies.verbs import begin
from foretell.types import Problem


@register(
    "oracle-ucb",
    lab_only=True,
    needs=("change points",),
    use="the paper's yardstick: knowing the changes without the signals",
    cost="O(K)",
)
@dataclass(frozen=True)
class OracleUcb(Ucb):
    """UCB that restarts at every true change point."""


@register(
    "oracle-ucb-nd",
    lab_only=True,
    undelayed=True,
    needs=("change points", "undelayed rewards"),
    use="the paper's yardstick: the same without delay",
    cost="O(K)",
)
@dataclass(frozen=True)
class OracleUcbNd(OracleUcb):
    """UCB that restarts at every true change point and gets rewards without delay."""


@begin.register(OracleUcb)
def _begin(spec: OracleUcb, problem: Problem) -> OracleState:
    return new_oracle(begin(Ucb(scale=spec.scale), problem), problem, keeps_rewards=False)
