"""The signals of a campaign: how often each action has them, and the reward that each predicts."""

from __future__ import annotations

from typing import Any

from foretell import protocol
from foretell.service.model.counters import Counters
from foretell.service.model.events import CampaignConfig
from foretell.service.model.outcome import Rules
from foretell.service.model.timestamps import format_timestamp
from foretell.service.reports.periods import EVERYTHING, Asked, Periods, mature
from foretell.stats.estimate import Estimate, estimate_signal
from foretell.types import Ints

_WARNINGS: dict[protocol.Verdict, str | None] = {
    "valid": None,
    "doubtful": "The signal is doubtful: see validity.",
    "misleading": "The signal is misleading: see validity.",
    "too early": "It is too early to say whether all actions share this mean.",
}
_UNTESTED = "Actions may differ in this mean without having been seen to: see validity."


def signal_table(
    config: CampaignConfig,
    rules: Rules,
    counters: Counters,
    now: int,
    asked: Asked = EVERYTHING,
    verdict: protocol.Verdict = "too early",
    *,
    untested: bool = False,
) -> protocol.SignalTable:
    """Return the settled signals by action and period, given the verdict on the signal.

    `untested` is whether it is valid, and even the largest difference might not have been seen.
    """
    stretches = counters.stretches
    periods = Periods.of(stretches, asked)
    traffic = periods.total(stretches.traffic).sum(axis=(1, 2))
    counts = periods.total(stretches.cells[..., 0])
    return protocol.SignalTable(
        campaign=config.name,
        as_of=format_timestamp(now),
        width=periods.length / 1e6,
        at=periods.at,
        mature=mature(periods, rules, 0, traffic, now),
        actions=[
            _action_signals(config, action, counts[:, index])
            for index, action in enumerate(config.actions)
        ],
        signals=signal_rows(config, counters, verdict, untested=untested),
    )


def _action_signals(config: CampaignConfig, action: str, counts: Ints) -> protocol.SignalTableRow:
    """Return the signals of one action; `counts` is (periods, signals)."""
    settled = counts.sum(axis=1)
    return protocol.SignalTableRow(
        action=action,
        count=int(settled.sum()),
        rates=signal_rates(config, counts.sum(axis=0)),
        counts=settled.tolist(),
        by_period={
            signal: row
            for signal, row in zip(config.signals, counts.T.tolist(), strict=True)
            if any(row)
        },
    )


def signal_rows(
    config: CampaignConfig, counters: Counters, verdict: protocol.Verdict, *, untested: bool
) -> list[protocol.SignalReportRow]:
    """Return the estimated reward of each signal, with a warning where it is not to be trusted."""
    return [
        protocol.SignalReportRow(
            signal,
            *natural_estimate(config, estimate),
            int(counters.paid[:, index].sum()),
            int(counters.seen[:, index].sum()),
            _UNTESTED if untested else _WARNINGS[verdict],
        )
        for index, (signal, estimate) in enumerate(
            zip(config.signals, signal_estimates(counters), strict=True)
        )
    ]


def signal_estimates(counters: Counters) -> list[Estimate | None]:
    """Return the estimated unit reward of each signal; None where none is settled."""
    settled = zip(counters.paid.sum(axis=0), counters.grains.sum(axis=0), strict=True)
    return [estimate_signal(int(paid), int(grains)) for paid, grains in settled]


def natural_estimate(
    config: CampaignConfig, estimate: Estimate | None
) -> tuple[float | None, float | None, float | None]:
    """Return an estimate and its interval in the unit of the campaign's rewards."""
    if estimate is None:
        return None, None, None
    mean, low, high = (natural_reward(config, one) for one in estimate)
    return mean, low, high


def signal_rates(config: CampaignConfig, counts: Any) -> dict[str, float]:
    """Return the share of each signal."""
    total = max(1, int(counts.sum()))
    return {name: float(one / total) for name, one in zip(config.signals, counts, strict=True)}


def natural_reward(config: CampaignConfig, unit: float) -> float:
    """Return a unit reward in the unit of the campaign's rewards."""
    low, high = config.reward_range
    return low + unit * (high - low)
