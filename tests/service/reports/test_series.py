"""A campaign over time: every period adds up, and says whether more is to come."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from foretell.service.model.events import MODES
from foretell.service.model.stretches import lengths
from foretell.service.model.timestamps import format_timestamp, parse_timestamp
from foretell.service.reports.periods import Asked
from foretell.service.reports.series import timeseries
from foretell.service.reports.signals import signal_table
from tests.service.model.script import SECOND, Script, config_of

HOUR = 3600


@pytest.fixture(autouse=True)
def log_engine() -> None:
    """Need no log."""


def two_days() -> Script:
    """Return a campaign of two days, with a decision about every three minutes."""
    rng = random.Random(4)  # noqa: S311  (not for secrets)
    windows: dict[str, Any] = {"signal_window": 2.0 * HOUR, "reward_window": 10.0 * HOUR}
    script = Script(config_of(reward_range=(0.0, 10.0), **windows))
    for _ in range(1000):
        number = script.decide(rng.randrange(2), mode=rng.randrange(3))
        if rng.random() < 0.5:
            script.signal(number, rng.randrange(1, 3))
        if rng.random() < 0.3:
            script.reward(number, rng.choice((1.0, 10.0)))
        if rng.random() < 0.02:
            script.void(number)
        script.pass_time(rng.random() * 360)
    return script


SCRIPT = two_days()
CAMPAIGN = SCRIPT.folded()
PARTS = (CAMPAIGN.config, CAMPAIGN.rules, CAMPAIGN.counters, CAMPAIGN.as_of)


@pytest.mark.parametrize("width", [None, 1, 1800, 3600, 5000, 86_400, 10**8])
def test_actions_modes_and_periods_add_up(width: int | None) -> None:
    found = timeseries(*PARTS, Asked.of(None, None, width))
    assert found.width >= (width or found.kept)
    assert round(found.width * SECOND) in _lengths()
    assert sum(found.total.decisions) == 1000
    for groups in (found.actions, found.modes):
        for name in ("decisions", "voids", "rewards"):
            columns = np.array([getattr(group, name) for group in groups])
            assert columns.sum(axis=0).tolist() == getattr(found.total, name)
        for signal in CAMPAIGN.config.signals:
            columns = np.array([g.signals.get(signal, [0] * len(found.at)) for g in groups])
            assert columns.sum(axis=0).tolist() == found.total.signals.get(signal)
    moments = [parse_timestamp(at) for at in found.at]
    assert all(at is not None and at % round(found.width * SECOND) == 0 for at in moments)
    assert [group.name for group in found.modes] == list(MODES)


def _lengths() -> list[int]:
    return [length for length, _ in zip(lengths(), range(30), strict=False)]


def test_a_mean_reward_is_in_the_unit_of_the_campaign() -> None:
    found = timeseries(*PARTS)
    means = list(zip(found.total.rewards, found.total.reward, strict=True))
    total = sum(n * mean for n, mean in means if mean is not None)
    assert total == pytest.approx(10.0 * CAMPAIGN.counters.grains.sum() / 2**30)
    assert all((mean is None) == (n == 0) for n, mean in means)


def test_what_is_awaited_is_not_mature() -> None:
    """Signals are complete two hours after a period, rewards ten hours after it."""
    found = timeseries(*PARTS, Asked.of(None, None, HOUR))
    for at, signals, rewards in zip(
        found.at, found.mature.signals, found.mature.rewards, strict=True
    ):
        begin = parse_timestamp(at)
        assert begin is not None
        age = (CAMPAIGN.as_of - begin) / SECOND - HOUR
        if age >= 2 * HOUR + 1:
            assert signals
        elif age < 1.5 * HOUR:
            assert not signals
        if age >= 10 * HOUR + 1:
            assert rewards
        elif age < 9.5 * HOUR:
            assert not rewards
    assert found.mature.rewards == sorted(found.mature.rewards, reverse=True)
    assert any(found.mature.rewards)
    assert not found.mature.signals[-1], "the last period is not over"


def test_only_the_time_that_was_asked_for_is_shown() -> None:
    everything = timeseries(*PARTS, Asked.of(None, None, HOUR))
    first, last = everything.at[5], everything.at[9]
    found = timeseries(*PARTS, Asked.of(first, last, HOUR))
    assert found.at == everything.at[5:9]
    assert found.total.decisions == everything.total.decisions[5:9]
    middle = format_timestamp((parse_timestamp(first) or 0) + 1)
    assert timeseries(*PARTS, Asked.of(middle, last, HOUR)).at == found.at, "what it touches"
    nothing = timeseries(*PARTS, Asked.of(None, "2001-01-01T00:00:00Z", None))
    assert (nothing.at, nothing.total.decisions, nothing.mature.signals) == ([], [], [])


def test_signals_are_told_by_action_and_period() -> None:
    found = signal_table(*PARTS, Asked.of(None, None, 6 * HOUR))
    series = timeseries(*PARTS, Asked.of(None, None, 6 * HOUR))
    assert found.at == series.at
    assert found.mature == series.mature.signals
    for row, group in zip(found.actions, series.actions, strict=True):
        assert row.count == sum(row.counts)
        assert sum(row.rates.values()) == pytest.approx(1.0)
        assert row.by_period == group.signals
        assert np.array(list(row.by_period.values())).sum(axis=0).tolist() == row.counts


def test_a_campaign_without_decisions_has_no_periods() -> None:
    campaign = Script(config_of()).folded()
    parts = (campaign.config, campaign.rules, campaign.counters, campaign.as_of)
    assert timeseries(*parts).at == []
    assert signal_table(*parts).at == []


def test_periods_follow_each_other() -> None:
    found = timeseries(*PARTS, Asked.of(None, None, HOUR))
    moments = [parse_timestamp(at) or 0 for at in found.at]
    assert {after - before for before, after in pairwise(moments)} == {HOUR * SECOND}
