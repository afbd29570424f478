"""Delays: how long signals and rewards take to arrive."""

from __future__ import annotations

from collections.abc import Iterable

from foretell import protocol
from foretell.service.model.events import CampaignConfig, Rewarded, Signalled
from foretell.service.model.outcome import DecisionRecords, Rules, outcome_of
from foretell.stats.delay_curves import delay_curve


def delay_report(
    config: CampaignConfig, rules: Rules, decisions: Iterable[DecisionRecords], now: int
) -> protocol.DelayReport:
    """Return the ages of decisions when their signal first came, and their first reward.

    Decisions are grouped by the signal of their outcome; those whose signal is open count in the
    total only.
    """
    signal_ages: list[list[float]] = [[] for _ in config.signals]
    reward_ages: list[list[float]] = [[] for _ in config.signals]
    settled = [0] * len(config.signals)
    total = 0
    for records in decisions:
        total += 1
        signal = outcome_of(rules, records, now).signal
        if signal is None:
            continue
        settled[signal] += 1
        decided_at = records.decided.decided_at
        for event in _first_events(records, signal):
            ages = signal_ages if isinstance(event, Signalled) else reward_ages
            ages[signal].append((event.recorded_at - decided_at) / 1e6)
    return protocol.DelayReport(
        config.name,
        total,
        [_curve(*one) for one in zip(config.signals, settled, signal_ages, strict=True)],
        [_curve(*one) for one in zip(config.signals, settled, reward_ages, strict=True)],
    )


def _first_events(records: DecisionRecords, signal: int) -> Iterable[Signalled | Rewarded]:
    """Return the first event with a signal, and the first reward; corrections do not count."""
    found: dict[type, Signalled | Rewarded] = {}
    for _, event in records.feedback:
        counts = event.signal == signal if isinstance(event, Signalled) else event.kind == "reward"
        if counts:
            found.setdefault(type(event), event)
    return found.values()


def _curve(signal: str, decisions: int, ages: list[float]) -> protocol.SignalDelays:
    return protocol.SignalDelays(signal, decisions, len(ages), *delay_curve(ages))
