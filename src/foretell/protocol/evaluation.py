"""What another policy would have earned: what is asked for, and the answer."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from foretell.protocol.requests import RequestBody


class NewEvaluation(RequestBody):
    """A policy to evaluate on a campaign's log."""

    policy: Annotated[str, Meta(min_length=1, max_length=500)]
    """A name, or a name with its settings, as in `nsd-ucrl2(window=800)`."""


class Interval(Struct):
    """A mean with its 95 % interval, in rewards per decision."""

    mean: float | None
    """The estimate; null where there is none."""
    low: float | None
    """Where the interval begins."""
    high: float | None
    """Where the interval ends."""


class PolicyValue(Struct):
    """What a policy would have earned per decision, estimated in three ways."""

    inverse_propensity: Interval
    """Rewards weighted by how much likelier the policy makes each action."""
    self_normalised: Interval
    """The same, divided by the weights: less noise, a little bias."""
    doubly_robust: Interval
    """The one to read first."""
    gain: Interval
    """The doubly robust estimate, minus what was earned."""
    effective_decisions: float
    """So many decisions of equal weight would say as much."""


class EvaluationResult(Struct):
    """What another policy would have earned on a log, and what was."""

    decisions: int
    """Decisions in the log, without those that were never shown."""
    voided: int
    """Decisions that were never shown."""
    settled: int
    """Decisions whose reward window is closed and whose reward is known."""
    counted: int
    """Settled decisions in which every eligible action had a chance: the estimates are theirs."""
    earned: Interval
    """What the counted decisions earned that were not held out; all that were not, if only the
    holdout is counted."""
    value: PolicyValue
    """What the policy would have earned."""
    without_signal: PolicyValue | None
    """The same policy, had it known each signal with its reward only; null: it uses no signals."""
    sentence: str
    """The finding, in words."""


class EvaluationView(Struct):
    """An evaluation, as far as it has come."""

    id: str
    """What it is asked for by."""
    campaign: str
    """The campaign whose log is read."""
    policy: str
    """The policy, with its settings."""
    status: Literal["running", "done", "failed"]
    """How far it is."""
    progress: float
    """The share of the work that is done."""
    as_of: str
    """The moment up to which the log is read."""
    result: EvaluationResult | None = None
    """What was found; null until it is done."""
    detail: str = ""
    """Why it failed, in one sentence."""


class EvaluationList(Struct):
    """The latest evaluations of a campaign, oldest first."""

    evaluations: list[EvaluationView]
    """Each as far as it has come."""
