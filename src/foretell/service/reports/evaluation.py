"""An evaluation as it is answered: in rewards as they are reported, with a sentence."""

from __future__ import annotations

import math

from foretell import protocol
from foretell.evaluation.evaluate import Evaluation, ValueEstimates
from foretell.service.reports.words import many
from foretell.stats.estimate import Estimate
from foretell.types import RewardScale

FEW = 100
"""Effective decisions below which a sentence says that they are few."""


def evaluation_result(
    policy: str, found: Evaluation, scale: RewardScale, voided: int
) -> protocol.EvaluationResult:
    """Return an evaluation in rewards as they are reported."""
    without = found.without_signal
    return protocol.EvaluationResult(
        decisions=found.decisions,
        voided=voided,
        settled=found.settled,
        counted=found.counted,
        earned=_natural(found.earned, scale),
        value=_policy_value(found.value, scale),
        without_signal=None if without is None else _policy_value(without, scale),
        sentence=_sentence(policy, found, scale),
    )


def _policy_value(value: ValueEstimates, scale: RewardScale) -> protocol.PolicyValue:
    return protocol.PolicyValue(
        inverse_propensity=_natural(value.inverse_propensity, scale),
        self_normalised=_natural(value.self_normalised, scale),
        doubly_robust=_natural(value.doubly_robust, scale),
        gain=_interval(*(one * scale.width for one in value.gain)),
        effective_decisions=value.effective_decisions,
    )


def _natural(estimate: Estimate, scale: RewardScale) -> protocol.Interval:
    return _interval(*map(scale.natural, estimate))


def _interval(*ends: float) -> protocol.Interval:
    return protocol.Interval(*(None if math.isnan(one) else one for one in ends))


def _sentence(policy: str, found: Evaluation, scale: RewardScale) -> str:
    """Say what was found, as one would say it aloud."""
    value, name = found.value, policy.partition("(")[0]
    low, high = value.gain.low, value.gain.high
    if low > 0.0:
        verdict = f"the policy {name} would have earned more than was earned"
    elif high < 0.0:
        verdict = f"the policy {name} would have earned less than was earned"
    else:
        verdict = f"the log cannot tell whether {name} would have earned more or less"
    rewards = Estimate(*map(scale.natural, value.doubly_robust))
    words = f"{verdict}: {rewards} per decision, against {scale.natural(found.earned.mean):.3g}"
    if found.without_signal is not None:
        without = Estimate(*map(scale.natural, found.without_signal.doubly_robust))
        words += f"; without the signal it would have been {without}"
    if value.effective_decisions < FEW:
        words += (
            f"; the {many(found.counted, 'settled decision counts', 'settled decisions count')} as "
            f"{value.effective_decisions:,.0f} only, so wait, or raise explore"
        )
    return words[0].upper() + words[1:] + "."
