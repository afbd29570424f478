"""NSD-Adaptive: the policy to use without thinking."""

from __future__ import annotations

from dataclasses import dataclass

from foretell.policies.censored_spec import CensoredSpec
from foretell.policies.nsd_psrl_cp import NsdPsrlCp, RobustPsrlCpState
from foretell.policies.registry import register
from foretell.policies.theta_spec import declared_fields
from foretell.policies.verbs import begin
from foretell.types import Problem


@register(
    "nsd-adaptive",
    stream=True,
    use="the default: changes at an unknown pace, any delay, a signal that may not tell all",
    cost="O(K S)",
    version=7,
)
@dataclass(frozen=True)
class NsdAdaptive(CensoredSpec):
    """Posterior sampling that finds changes and doubts the signal by itself: nothing to set.

    It is `nsd-psrl-cp(robust=True)`: a filter over when each action last changed, with learned
    rates and coupling of changes, a residual for what the signals do not explain, and a theta
    that is forgotten where it moves. `ordered` and `signal_values` declare what is known about
    theta, see `foretell.policies.theta_spec`; `censored` and `typical_delay` that only
    conversions are reported.
    """


@begin.register(NsdAdaptive)
def _begin(spec: NsdAdaptive, problem: Problem) -> RobustPsrlCpState:
    return begin(NsdPsrlCp(robust=True, **declared_fields(spec)), problem)
