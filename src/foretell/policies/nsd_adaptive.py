"""NSD-Adaptive: the policy to use without thinking."""

from __future__ import annotations

from dataclasses import dataclass

from foretell.policies.nsd_psrl_cp import NsdPsrlCp, RobustPsrlCpState
from foretell.policies.registry import register
from foretell.policies.spec import Spec
from foretell.policies.verbs import begin
from foretell.types import Problem


@register(
    "nsd-adaptive",
    stream=True,
    use="the default: changes at an unknown pace, any delay, a signal that may not tell all",
    cost="O(K S)",
)
@dataclass(frozen=True)
class NsdAdaptive(Spec):
    """Posterior sampling that finds changes and doubts the signal by itself: nothing to set.

    It is `nsd-psrl-cp(robust=True)`: a filter over when each action last changed, with learned
    rates and coupling of changes, and a residual for what the signals do not explain.
    """


@begin.register(NsdAdaptive)
def _begin(spec: NsdAdaptive, problem: Problem) -> RobustPsrlCpState:
    return begin(NsdPsrlCp(robust=True), problem)
