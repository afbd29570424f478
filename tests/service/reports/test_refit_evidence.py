"""A refit loses no evidence against the signal and invents none, also where rewards stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from foretell.service.model.campaign import Campaign
from foretell.service.model.validity_ledger import evidence_over_refit
from foretell.stats.verdict import judge
from tests.service.engine_driver import Served
from tests.service.reports.feed import Feed, config_of, traffic


@pytest.fixture(autouse=True)
def log_engine() -> None:
    """Run on one log: what a refit does is no matter of its engine."""


def verdict(campaign: Campaign) -> str:
    return judge(campaign.ledger.test, campaign.counters.paid.sum(axis=1)).verdict


def same_ledger(one: Campaign, other: Campaign) -> None:
    found, known = one.ledger.arrays(), other.ledger.arrays()
    for name, array in known.items():
        assert np.array_equal(found[name], array), name


@pytest.mark.parametrize(
    ("fields", "until"),
    [
        ({}, 1600),
        ({"stop": 900.0}, 1500),
        ({"stop": 900.0, "bait": 0.1}, 1500),
        ({"reward_silence": "unknown"}, 1600),
        ({"signal_silence": "unknown", "reward_silence": "unknown"}, 1600),
    ],
)
def test_a_refit_comes_to_the_evidence_that_there_was(fields: dict[str, Any], until: int) -> None:
    feed = traffic(1500, **fields)
    same_ledger(feed.refit(until), feed.campaign(until))


def test_what_closed_in_a_pause_is_counted_and_left_out() -> None:
    feed = traffic(1500, stop=900.0)
    live, again = feed.campaign(1500), feed.refit(1500)
    assert again.ledger.closed == live.ledger.closed > 200
    assert again.ledger.left_out == live.ledger.left_out > 200
    assert verdict(again) == verdict(live) == "valid"


def test_a_pause_that_is_over_stays_left_out() -> None:
    feed = broken_job()
    live, again = feed.campaign(2100), feed.refit(2100)
    assert live.ledger.left_out > 100
    same_ledger(again, live)


def test_what_a_late_reward_repaired_in_a_pause_does_not_enter_alone() -> None:
    """Only decisions that earned are repaired: they are no sample of those that closed."""
    feed = broken_job()
    for index, number in enumerate(feed.numbers[700:850]):
        feed.feedback(number, 2100.0 + index / 1000, 1, 1.0)
    live, again = feed.campaign(2200), feed.refit(2200)
    assert again.ledger.left_out == live.ledger.left_out > 100
    assert np.array_equal(again.ledger.test.peak, live.ledger.test.peak)


def broken_job() -> Feed:
    """Return a campaign whose rewards did not come for a while."""
    rng, feed = np.random.default_rng(3), Feed()
    for index in range(2000):
        earns = rng.random() < 0.5 and not 500 < index < 1000
        feed.decide(float(index), index % 3, 2, 1.0 if earns else None)
    return feed


def misleading(served: Served) -> None:
    """Make a campaign whose second action is clicked as the first one and hardly ever bought."""
    served.create(policy="nsd-adaptive", signal_window=1.0, reward_window=20.0)
    decided = [
        (index % 2, served.decide(eligible=[("a", "b")[index % 2]]).decision_id)
        for index in range(240)
    ]
    signals = [{"decision_id": one, "signal": "click", "event_id": one[-30:]} for _, one in decided]
    served.batch(signals)
    served.pass_time(5.0)
    bought = [one for index, (action, one) in enumerate(decided) if not action or index % 20 == 1]
    served.batch(
        [{"decision_id": one, "value": 1.0, "event_id": f"r{one[-30:]}"} for one in bought]
    )
    served.pass_time(30.0)
    served.reward(served.decide(eligible=["a"]).decision_id, 1.0)


@pytest.mark.parametrize(
    "patch",
    [{"policy": "ucb"}, {"reward_window": 2.0}, {"reward_window": 900.0}, {"signal_window": 2.0}],
)
def test_a_misleading_signal_stays_so_over_a_refit(tmp_path: Path, patch: dict[str, Any]) -> None:
    with Served(tmp_path / "f.db") as served:
        misleading(served)
        before = served.run(served.engine.validity("c"))
        since = served.campaign().ledger.misleading_at
        assert before.verdict == "misleading"
        served.patch(**patch)
        served.pass_time(0.5)
        after = served.run(served.engine.validity("c"))
        assert after.verdict == "misleading"
        assert after.e_value >= before.e_value
        assert served.campaign().ledger.misleading_at == since
        served.save_states()
        served.pass_time(1.0)
        assert served.rebuilt().ledger.evidence == served.campaign().ledger.evidence
        assert [one.comparison for one in served.verify().campaigns] == ["same"]


def test_evidence_is_forgotten_where_a_reward_is_another_thing() -> None:
    config, ledger = config_of(), traffic(900, bait=0.1).campaign(1000).ledger
    assert ledger.evidence.misleading_at > 0
    wider = msgspec.structs.replace(config, reward_range=(0.0, 10.0))
    assert evidence_over_refit(ledger, config, config) == ledger.evidence
    assert evidence_over_refit(ledger, config, wider) is None
    unknown = config_of(reward_silence="unknown")
    assert evidence_over_refit(ledger, config, unknown) is None
