"""Delays: how long signals and rewards take to arrive."""

from __future__ import annotations

from collections.abc import Iterable

from foretell import protocol
from foretell.service.model.events import OBSERVED, CampaignConfig, DecisionRecords, Feedback
from foretell.service.model.outcome import Rules, outcome_of, rewards, signals
from foretell.service.model.timestamps import format_timestamp
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
        decided_at = records.decided_at
        signal = outcome_of(rules, records, rules.closed_by(decided_at, now))[0]
        if signal is None:
            continue
        settled[int(signal)] += 1
        signalled = [at for at, one in signals(records.feedback, 0) if one == signal]
        rewarded = [
            record.recorded_at
            for record in rewards(records.feedback, len(rules.stages) - 1)
            if isinstance(record.event, Feedback) and record.event.verb_index == OBSERVED
        ]
        for ages, moments in ((signal_ages, signalled), (reward_ages, rewarded)):
            ages[int(signal)] += [(at - decided_at) / 1e6 for at in moments[:1]]
    return protocol.DelayReport(
        config.name,
        format_timestamp(now),
        total,
        [_curve(*one) for one in zip(config.signals, settled, signal_ages, strict=True)],
        [_curve(*one) for one in zip(config.signals, settled, reward_ages, strict=True)],
    )


def _curve(signal: str, decisions: int, ages: list[float]) -> protocol.SignalDelays:
    return protocol.SignalDelays(signal, decisions, len(ages), *delay_curve(ages))
