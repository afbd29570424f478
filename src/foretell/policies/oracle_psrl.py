"""Oracle-PSRL: posterior sampling that is told when to restart."""

from __future__ import annotations

from dataclasses import dataclass

from foretell.policies.nsd_psrl import NsdPsrl
from foretell.policies.oracle import OracleState, new_oracle
from foretell.policies.registry import register
from foretell.policies.spec import Spec
from foretell.policies.verbs import begin
from foretell.types import Problem


@register(
    "oracle-psrl",
    lab_only=True,
    needs=("change points",),
    use="the sharpest yardstick: what is left to gain once changes are known",
    cost="O(K S)",
)
@dataclass(frozen=True)
class OraclePsrl(Spec):
    """NSD-PSRL without a window that restarts its law at every true change point.

    Theta is kept, for the meaning of a signal does not change.
    """


@begin.register(OraclePsrl)
def _begin(spec: OraclePsrl, problem: Problem) -> OracleState:
    return new_oracle(begin(NsdPsrl(), problem), problem, keeps_rewards=True)
