"""Reports say what was planted; the long form is in `planted_truths`."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from foretell.policies.state import fingerprint
from foretell.policies.verbs import choose
from foretell.service.model.campaign import Campaign
from foretell.service.model.events import stamp
from foretell.traffic.truths import TRUTHS, WEAKER
from tests.service.reports.batched_policy import BatchedPolicy
from tests.service.reports.planted_campaign import (
    SECOND,
    START,
    batched_refit,
    planted,
    planted_config,
    repaired,
    reward_record,
)
from tests.service.reports.planted_truths import failings, scored

CAMPAIGNS = 16
SEEDS = range(500_000, 500_000 + CAMPAIGNS)
CHANCE = 2.33
"""Standard deviations of chance by which so few campaigns may miss what the long form must reach:
of a coverage of just 93 %, one test in a hundred."""

pytestmark = [pytest.mark.compiled, pytest.mark.slow]


@pytest.fixture(autouse=True)
def log_engine() -> None:
    """Need no log."""


@pytest.mark.parametrize("name", TRUTHS)
def test_the_report_says_what_was_planted(name: str) -> None:
    assert failings(name, scored(TRUTHS[name], SEEDS), CHANCE) == []


def test_a_signal_that_misleads_without_being_seen_to_is_not_called_trustworthy() -> None:
    """The action that is clickbait stays the best, and others get too little traffic to compare."""
    for seed in SEEDS[:4]:
        summary, validity = planted(WEAKER, seed).report
        assert validity.detectable is None
        assert "even the largest might not have been seen yet" in validity.sentence
        assert "no reason to trust the signal" in validity.sentence
        assert all(row.warning for row in summary.signals)


def test_a_policy_that_learns_in_batches_is_in_the_same_state() -> None:
    rng = np.random.default_rng(4)
    everything = np.ones(3, np.bool_)
    campaigns = [Campaign(planted_config(TRUTHS["clickbait"])) for _ in range(2)]
    one, other = (campaign.state for campaign in campaigns)
    drawn = [np.random.Generator(np.random.SFC64(5)) for _ in range(2)]
    batched = BatchedPolicy(other, drawn[1])
    for t in range(600):
        action = choose(one, t, everything, drawn[0])
        assert batched.choose(t, everything) == action
        signal = int(rng.integers(3))
        reward = float(rng.random() < (0.05 if action == 1 else 0.3 * signal))
        for campaign, state in zip(campaigns, (one, batched), strict=True):
            campaign.state = state
            running = _Running(t, action)
            campaign.deliver(running, (None, None), (float(signal), None))  # type: ignore[arg-type]
            campaign.deliver(running, (float(signal), None), (float(signal), reward))  # type: ignore[arg-type]
    assert fingerprint(batched.learned(everything)) == fingerprint(one)


def test_a_refit_in_batches_is_the_refit() -> None:
    one = planted(TRUTHS["stopped"], 4)
    position = stamp(START + one.truth.rounds * SECOND)
    batched = batched_refit(one, position)
    assert batched.digest() == Campaign.refit(batched.config, one.records, position).digest()


class _Running(msgspec.Struct):
    """What a policy is told of a decision."""

    rank: int
    action: int


def test_sentences_name_the_action_the_rates_and_the_reward() -> None:
    one = planted(TRUTHS["clickbait"], 1)
    summary, validity = one.report
    assert summary.status == "misleading signal"
    assert summary.sentence == validity.sentence
    for word in ("'b'", "readings", "others", "fewer"):
        assert word in validity.sentence
    assert b"np." not in msgspec.json.encode(summary) + msgspec.json.encode(validity)
    assert validity.cost is not None
    assert validity.cost > 0.05
    assert validity.e_value >= 20
    assert all(row.warning for row in summary.signals)
    assert sum(cell.n for cell in validity.cells) == 2000
    assert {mode.mode for mode in summary.modes} == {"policy", "holdout"}


def test_the_policy_drops_clickbait_and_the_report_is_right_about_it() -> None:
    """The defect of old: the value of an action that the policy had long dropped was wrong."""
    one = planted(TRUTHS["clickbait"], 1)
    assert (one.played.action[-500:] == 1).mean() < 0.2
    dropped = one.report.summary.actions[1]
    assert dropped.value is not None
    assert dropped.value.low <= one.value(1) <= dropped.value.high < 0.1
    assert dropped.value.high - dropped.value.low <= 1.5 * one.value_oracle(1)


def test_what_closed_while_rewards_had_stopped_is_counted_and_repaired() -> None:
    one = planted(TRUTHS["stopped"], 2)
    summary, campaign = one.report.summary, one.active.campaign
    fresh = summary.freshness
    assert summary.status == "rewards stopped"
    assert fresh.closed_meanwhile > 100
    assert fresh.rewards_due > 30
    assert str(fresh.closed_meanwhile) in summary.sentence
    before = int(campaign.counters.grains.sum())
    evidence = campaign.ledger.test.peak.tolist()
    for index, records in enumerate(one.held[:150]):  # the job runs again, and reports the rest
        record = reward_record(records, START + one.truth.rounds * SECOND + index)
        campaign.close_windows(record.seq, [records])
        campaign.apply(record)
        records.feedback.append(record)
    assert int(campaign.counters.grains.sum()) > before
    assert campaign.ledger.closed == 0
    assert campaign.ledger.left_out > 0
    assert campaign.ledger.test.peak.tolist() == evidence


def test_a_refit_after_the_repair_restores_what_was_observed() -> None:
    one = planted(TRUTHS["stopped"], 3)
    fallen = one.report.summary.actions[1].observed
    found = repaired(one).summary.actions[1].observed
    assert fallen is not None
    assert found is not None
    assert fallen.high < one.observed(1)
    assert found.low <= one.observed(1) <= found.high
