"""A campaign over time: decisions, signals and rewards by period, for each action and each mode."""

from __future__ import annotations

from collections.abc import Sequence

from foretell import protocol
from foretell.service.model.counters import Counters
from foretell.service.model.events import MODES, CampaignConfig
from foretell.service.model.outcome import Rules
from foretell.service.model.timestamps import format_timestamp
from foretell.service.reports.periods import EVERYTHING, Asked, Periods, mature
from foretell.service.reports.signals import natural_reward
from foretell.service.reports.uplift import uplift_over_holdout
from foretell.types import GRAIN, Ints


def timeseries(
    config: CampaignConfig,
    rules: Rules,
    counters: Counters,
    now: int,
    asked: Asked = EVERYTHING,
) -> protocol.Timeseries:
    """Return the campaign over time."""
    stretches = counters.stretches
    periods = Periods.of(stretches, asked)
    traffic = periods.total(stretches.traffic)
    by_action = traffic.sum(axis=1)
    action_signals = periods.total(stretches.cells[..., 0])
    mode_signals = periods.total(stretches.mode_signals)
    total = by_action.sum(axis=1)
    return protocol.Timeseries(
        campaign=config.name,
        as_of=format_timestamp(now),
        width=periods.length / 1e6,
        kept=stretches.length / 1e6,
        at=periods.at,
        mature=protocol.Maturity(
            signals=mature(periods, rules, 0, total, now),
            rewards=mature(periods, rules, -1, total, now),
        ),
        total=_series(config, "total", total, mode_signals.sum(axis=1)),
        actions=[
            _series(config, name, by_action[:, index], action_signals[:, index])
            for index, name in enumerate(config.actions)
        ],
        modes=[
            _series(config, name, traffic[:, index].sum(axis=1), mode_signals[:, index])
            for index, name in enumerate(MODES)
        ],
        uplift=_uplift_so_far(config, stretches.traffic, periods),
    )


def _uplift_so_far(
    config: CampaignConfig, traffic: Ints, periods: Periods
) -> list[protocol.RewardInterval | None]:
    """Return the uplift of all decisions up to the end of each period.

    So the last one is that of the report. One of each period by itself would be an interval for
    each look, and not for all looks at once.
    """
    so_far = traffic.sum(axis=2).cumsum(axis=0)
    ends = [min(one.stop, len(so_far)) - 1 for one in periods.slices]
    return [uplift_over_holdout(config, so_far[end]) for end in ends]


def _series(
    config: CampaignConfig, name: str, traffic: Ints, signals: Ints
) -> protocol.PeriodSeries:
    """Return the series of one action or mode; `traffic` is (periods, `TRAFFIC`)."""
    decisions, voids, _, rewards, grains, _ = traffic.T.tolist() if len(traffic) else [[]] * 6
    return protocol.PeriodSeries(
        name=name,
        decisions=decisions,
        voids=voids,
        signals={
            signal: counts
            for signal, counts in zip(config.signals, signals.T.tolist(), strict=True)
            if any(counts)
        },
        rewards=rewards,
        reward=_means(config, rewards, grains),
    )


def _means(
    config: CampaignConfig, rewards: Sequence[int], grains: Sequence[int]
) -> list[float | None]:
    return [
        natural_reward(config, total / GRAIN / count) if count else None
        for count, total in zip(rewards, grains, strict=True)
    ]
