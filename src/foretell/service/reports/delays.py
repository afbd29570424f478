"""How long signals and rewards take to arrive."""

from __future__ import annotations

from collections.abc import Iterable

from foretell import protocol
from foretell.service.model.events import Rewarded, Setup, Signalled
from foretell.service.model.outcome import Facts, Rules, standing
from foretell.stats.delay_curves import delay_curve


def delays(setup: Setup, rules: Rules, every: Iterable[Facts], now: int) -> protocol.Delays:
    """Give the ages at which a decision's signal first came, and its first reward.

    Decisions are told apart by the signal that they stand at; those whose signal is open count in
    the total only.
    """
    signal_ages: list[list[float]] = [[] for _ in setup.signals]
    reward_ages: list[list[float]] = [[] for _ in setup.signals]
    decisions = [0] * len(setup.signals)
    total = 0
    for facts in every:
        total += 1
        stands = standing(rules, facts, now).signal
        if stands is None:
            continue
        decisions[stands] += 1
        made = facts.decided.at
        for event in _firsts(facts, stands):
            ages = signal_ages if isinstance(event, Signalled) else reward_ages
            ages[stands].append((event.at - made) / 1e6)
    return protocol.Delays(
        setup.name,
        total,
        [_curve(*one) for one in zip(setup.signals, decisions, signal_ages, strict=True)],
        [_curve(*one) for one in zip(setup.signals, decisions, reward_ages, strict=True)],
    )


def _firsts(facts: Facts, signal: int) -> Iterable[Signalled | Rewarded]:
    """Give the first event of a signal, and the first reward; a correction is none."""
    found: dict[type, Signalled | Rewarded] = {}
    for _, event in facts.lines:
        counts = event.signal == signal if isinstance(event, Signalled) else event.kind == "reward"
        if counts:
            found.setdefault(type(event), event)
    return found.values()


def _curve(signal: str, decisions: int, ages: list[float]) -> protocol.DelayRow:
    return protocol.DelayRow(signal, decisions, len(ages), *delay_curve(ages))
