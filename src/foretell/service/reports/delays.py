"""How long signals and rewards take to arrive."""

from __future__ import annotations

from collections.abc import Iterable

from foretell import protocol
from foretell.service.model.events import CampaignConfig, Rewarded, Signalled
from foretell.service.model.outcome import DecisionRecords, Rules, outcome_of
from foretell.stats.delay_curves import delay_curve


def delays(
    config: CampaignConfig, rules: Rules, every: Iterable[DecisionRecords], now: int
) -> protocol.DelayReport:
    """Return the ages at which a decision's signal first came, and its first reward.

    Decisions are told apart by the signal that they stand at; those whose signal is open count in
    the total only.
    """
    signal_ages: list[list[float]] = [[] for _ in config.signals]
    reward_ages: list[list[float]] = [[] for _ in config.signals]
    decisions = [0] * len(config.signals)
    total = 0
    for records in every:
        total += 1
        outcome = outcome_of(rules, records, now).signal
        if outcome is None:
            continue
        decisions[outcome] += 1
        decided_at = records.decided.recorded_at
        for event in _firsts(records, outcome):
            ages = signal_ages if isinstance(event, Signalled) else reward_ages
            ages[outcome].append((event.recorded_at - decided_at) / 1e6)
    return protocol.DelayReport(
        config.name,
        total,
        [_curve(*one) for one in zip(config.signals, decisions, signal_ages, strict=True)],
        [_curve(*one) for one in zip(config.signals, decisions, reward_ages, strict=True)],
    )


def _firsts(records: DecisionRecords, signal: int) -> Iterable[Signalled | Rewarded]:
    """Return the first event of a signal, and the first reward; a correction is none."""
    found: dict[type, Signalled | Rewarded] = {}
    for _, event in records.feedback:
        counts = event.signal == signal if isinstance(event, Signalled) else event.kind == "reward"
        if counts:
            found.setdefault(type(event), event)
    return found.values()


def _curve(signal: str, decisions: int, ages: list[float]) -> protocol.DelayCurve:
    return protocol.DelayCurve(signal, decisions, len(ages), *delay_curve(ages))
