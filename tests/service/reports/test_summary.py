"""The report of a campaign: what is recent, which number to go by, uplift over time, repairs."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foretell.protocol import CampaignPatch, NewCampaign
from foretell.service.engine import queries
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.events import Author, Decided
from foretell.service.model.stage_fields import with_fields
from foretell.service.reports.campaign_copy import CampaignCopy
from foretell.service.reports.config_changes import change_sentence, config_changes, settings_of
from foretell.service.reports.periods import Asked
from foretell.service.reports.series import timeseries
from foretell.service.reports.signals import signal_table
from foretell.service.reports.validity import validity_report
from foretell.stats.uplift import RewardSums, uplift
from tests.service.engine_driver import Served
from tests.service.reports.feed import DAY, HOLDOUT, HOUR, Feed, config_of, report_of, traffic


@pytest.fixture(autouse=True)
def log_engine() -> None:
    """Run on one log, where one is needed."""


MADE = ("campaign_report", "validity_report", "signal_table", "timeseries", "delay_report")


@pytest.mark.parametrize("policy", ["nsd-adaptive", "ucb"])
def test_no_report_is_made_in_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    made: dict[str, int] = {}
    for name in (*MADE, "current_belief", "values_now"):
        real = getattr(queries, name)

        def seen(*args: Any, _name: str = name, _real: Any = real, **more: Any) -> Any:
            made[_name] = threading.get_ident()
            return _real(*args, **more)

        monkeypatch.setattr(queries, name, seen)
    with Served(tmp_path / "f.db") as served:
        served.create(policy=policy, signal_window=1.0, reward_window=2.0)
        served.reward(served.decide().decision_id, 1.0)
        served.pass_time(5.0)
        for name in ("report", "validity", "signals", "timeseries", "delays"):
            served.run(getattr(served.engine, name)("c"))

        async def loop() -> int:
            await asyncio.sleep(0)
            return threading.get_ident()

        assert set(made) == {*MADE, "current_belief", "values_now"}
        assert served.run(loop()) not in made.values()


def test_a_copy_stays_as_it_is_while_the_fold_goes_on() -> None:
    feed = traffic(600)
    active = feed.active(400)
    copy = CampaignCopy.of(active)
    digest, report = copy.digest(), report_of(CampaignCopy.of(feed.active(400)))
    assert digest == active.campaign.digest()
    for record in feed.records:
        if record.seq >= active.campaign.position:
            active.campaign.close_windows(record.seq)
            active.campaign.apply(record)
    assert active.campaign.digest() != digest
    assert copy.digest() == digest
    assert report_of(copy) == report


@pytest.mark.parametrize(
    ("feed", "until"),
    [
        (traffic(1000), 1100),
        (traffic(300), 400),
        (traffic(1000, bait=0.1), 1100),
        (traffic(60), 100),
    ],
    ids=["valid", "untested", "misleading", "too early"],
)
def test_signals_are_warned_of_as_the_verdict_is(feed: Feed, until: float) -> None:
    copy = feed.copy(until)
    found, untested = validity_report(copy), copy.judgement.untested
    parts = (copy.config, copy.rules, copy.counters, copy.as_of)
    rows = signal_table(*parts, verdict=found.verdict, untested=untested).signals
    assert rows == report_of(copy).signals
    trusted = found.verdict == "valid" and found.detectable is not None
    assert all((row.warning is None) == trusted for row in rows)


def test_the_signals_of_a_server_are_warned_of(tmp_path: Path) -> None:
    with Served(tmp_path / "f.db") as served:
        served.create()
        found = served.run(served.engine.signals("c"))
        assert all(row.warning for row in found.signals)
        assert found.signals == served.report().signals


def test_who_paused_a_campaign_is_read_from_the_log(tmp_path: Path) -> None:
    with Served(tmp_path / "f.db") as served:
        served.create()
        served.decide()
        by = Author("0123456789ab", "ops")
        served.run(served.engine.set_status("c", "paused", by=by))
        served.patch(explore=0.1)
        served.pass_time(7200.0)
        found = served.report()
        assert found.status == "paused"
        assert found.sentence.startswith("Paused 2 hours ago by key ops. Nothing is decided;")
        assert found.sentence.endswith("and 1 decision waits for its own.")


def test_a_refit_says_how_far_it_is(tmp_path: Path) -> None:
    shares: list[float] = []

    class Seen(ActiveCampaign):
        """Keeps every share that was said."""

        def __setattr__(self, name: str, value: object) -> None:
            if name == "refit_share" and isinstance(value, float):
                shares.append(value)
            super().__setattr__(name, value)

    with Served(tmp_path / "f.db") as served:
        served.create()
        served.decide_many(100)
        served.campaign()
        served.engine.runtime.by_name["c"].__class__ = Seen
        served.run(served.engine.refit("c"))
    assert shares[0] == 0.0
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def spread_out(change: float | None, days: float) -> Feed:
    """Return a campaign that goes from `a` to `b` when the signals change, and later to both."""
    rng, feed = np.random.default_rng(0), Feed(reward_window=HOUR)
    for index in range(int(days * 96)):
        at = index * DAY / 96
        after = change is not None and at >= change
        often = 0.1 if not after else 0.5 if change is not None and at >= change + 3 * DAY else 0.9
        action = int(rng.random() < often)
        likely = 0.1 if action == 0 and after else 0.8 if action == 0 else 0.5
        feed.decide(at, action, int(rng.random() < likely), 1.0, reward_after=60.0)
    return feed


def test_recent_is_since_the_last_change_and_at_least_a_day() -> None:
    feed = spread_out(6 * DAY, 10)
    copy = feed.copy(10 * DAY)
    begin = copy.counters.stretches.begin(int(copy.changed.max()))
    assert abs(begin - (copy.as_of - 4 * 86_400_000_000)) < 12 * 3_600_000_000
    since = [
        record.event.action
        for record in feed.records
        if isinstance(record.event, Decided) and record.recorded_at >= begin
    ]
    found = report_of(copy).actions[1]
    assert found.recent_share is not None
    assert found.recent_share == pytest.approx(np.mean(since))
    assert found.recent_share > 0.7, "the last day alone has about 0.5"
    assert found.share < 0.5
    young = spread_out(9.8 * DAY, 10.2).copy(10.2 * DAY)
    least = report_of(young).actions[1].recent_share
    assert least is not None
    assert 0.3 < least < 0.8, "a day holds some of the time before the change"
    same = spread_out(None, 3).copy(3 * DAY)
    assert not same.changed.any()


def test_where_record_and_belief_disagree_a_sentence_says_which_to_go_by() -> None:
    agree = report_of(traffic(1000).copy(1100))
    assert [row.sentence for row in agree.actions] == [None] * 3
    changed = report_of(traffic(3000, swap=1500).copy(3100)).actions[1]
    assert changed.sentence == (
        "Go by value: the signals of b changed about Wed 15 Nov, and observed still holds what it "
        "earned before."
    )
    trusting = report_of(traffic(1500, bait=0.1, policy="nsd-psrl-cp").copy(1600)).actions[1]
    assert trusting.sentence is not None
    assert trusting.sentence.startswith("Go by observed: the signal misleads here")


def test_observed_counts_where_a_difference_might_not_have_been_seen() -> None:
    """The second action has nearly all decisions, and its downloads are worth less than others'."""
    rng, feed = np.random.default_rng(5), Feed(policy="nsd-psrl-cp")
    for index in range(2000):
        action = 1 if index % 12 else index // 12 % 2 * 2
        signal = int(rng.integers(3))
        earns = rng.random() < (0.0, 0.3, 0.7)[signal] * (1.0 if action != 1 else 0.5)
        feed.decide(float(index), action, signal, float(earns) or None)
    copy = feed.copy(2200)
    assert copy.judgement.untested
    said = [row.sentence for row in report_of(copy).actions]
    assert any(one and one.startswith("Go by observed: value goes by the signal") for one in said)


def test_sentences_stand_exactly_where_intervals_are_apart() -> None:
    for feed in (traffic(2000, swap=1000), traffic(1000, bait=0.1, policy="nsd-psrl-cp")):
        for row in report_of(feed.copy(2100)).actions:
            assert row.observed is not None
            assert row.value is not None
            apart = row.observed.low > row.value.high or row.value.low > row.observed.high
            assert (row.sentence is not None) == apart


@pytest.mark.parametrize("width", [None, 60, 600])
def test_uplift_over_time_is_that_of_all_decisions_so_far(width: int | None) -> None:
    feed = traffic(1500)
    copy = feed.copy(1600)
    parts = (copy.config, copy.rules, copy.counters, copy.as_of)
    found = timeseries(*parts, Asked.of(None, None, width))
    assert len(found.uplift) == len(found.at)
    assert found.uplift[-1] == report_of(copy).uplift
    modes = {one.name: one for one in found.modes}
    sums = []
    for mode in ("policy", "holdout"):
        series, half = modes[mode], len(found.at) // 2 + 1
        count = sum(series.rewards[:half])
        part = sum(
            n * (mean or 0.0)
            for n, mean in zip(series.rewards[:half], series.reward[:half], strict=True)
        )
        sums.append(RewardSums(count, part, part))
    known = uplift(*sums)
    shown = found.uplift[len(found.at) // 2]
    assert known is not None
    assert shown is not None
    assert (shown.mean, shown.low, shown.high) == pytest.approx(tuple(known))


def test_uplift_from_a_moment_on_still_counts_from_the_first_decision() -> None:
    copy = traffic(1500).copy(1600)
    parts = (copy.config, copy.rules, copy.counters, copy.as_of)
    whole = timeseries(*parts, Asked.of(None, None, 60))
    late = timeseries(*parts, Asked.of(whole.at[10], None, 60))
    assert late.uplift == whole.uplift[10:]
    nobody = traffic(300, holdout=False).copy(400)
    parts = (nobody.config, nobody.rules, nobody.counters, nobody.as_of)
    assert not any(timeseries(*parts).uplift)


def test_what_comes_back_repairs_the_numbers_and_the_status() -> None:
    """The job runs again, and reports every reward that was earned meanwhile."""
    rng, feed = np.random.default_rng(5), Feed()
    truth: list[list[float]] = [[], [], []]
    held_back = []
    laws, theta = np.array([[0.6, 0.4], [0.2, 0.8], [0.5, 0.5]]), (0.05, 0.6)
    for index in range(2000):
        action = int(rng.integers(3))
        signal = int(rng.random() < laws[action, 1])
        truth[action].append(float(laws[action] @ theta))
        earns, after = rng.random() < theta[signal], float(rng.uniform(5, 60))
        stopped = index + after > 1000
        mode = HOLDOUT if index % 10 == 0 else 0
        number = feed.decide(
            float(index),
            action,
            signal,
            1.0 if earns and not stopped else None,
            mode=mode,
            reward_after=after,
        )
        if earns and stopped:
            held_back.append(number)
    before = feed.report(2100)
    assert before.status == "rewards stopped"
    assert before.freshness.closed_meanwhile > 500
    fallen = [row.observed for row in before.actions]
    assert all(
        one is not None and one.high < np.mean(mean)
        for one, mean in zip(fallen, truth, strict=True)
    )
    for index, number in enumerate(held_back):
        feed.feedback(number, 2101.0 + index / 100, 1, 1.0)
    after_all = feed.report(2150)
    assert after_all.status != "rewards stopped"
    assert after_all.freshness.closed_meanwhile < 100
    for row, mean in zip(after_all.actions, truth, strict=True):
        assert row.observed is not None
        assert row.value is not None
        assert row.observed.low <= np.mean(mean) <= row.observed.high
        assert row.value.low <= np.mean(mean) <= row.value.high
        assert row.sentence is None


CHANGED = {
    "signals": ("none", "click", "download", "buy"),
    "policy": "ucb",
    "signal_window": 2.0,
    "reward_window": 200.0,
    "default_reward": 0.5,
    "reward_range": (0.0, 2.0),
    "signal_silence": "unknown",
    "reward_silence": "unknown",
    "typical_delay": 60.0,
    "explore": 0.1,
    "holdout": 0.2,
    "sticky": True,
    "signals_ordered": False,
    "signal_values": {"click": 0.2},
    "signal_values_weight": 3.0,
    "reward_name": "sales",
}


@pytest.mark.parametrize("name", CampaignPatch.__struct_fields__)
def test_every_setting_that_can_be_changed_is_told(name: str) -> None:
    before = config_of()
    changes = config_changes(before, with_fields(before, {name: CHANGED[name]}))
    assert list(changes) == [name]
    assert changes[name]["before"] == settings_of(before)[name]
    sentence = change_sentence(changes, "changed", None)
    assert sentence.startswith(f"The server changed {name} ")
    assert name in NewCampaign.__struct_fields__
