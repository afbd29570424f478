"""Planted truths are what they say, and a real server tells them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from foretell import protocol
from foretell.cli.traffic import simulate_traffic
from foretell.policies import policy
from foretell.traffic.batcher import EventBatcher
from foretell.traffic.faults import Faults
from foretell.traffic.pace import Timing
from foretell.traffic.run import RunPlayer
from foretell.traffic.truth_plan import TruthPlan, make_truth_plan
from foretell.traffic.truths import LAWS, SIGNALS, THETA, TRUTHS, WEAKER, Truth, shown, true_values
from foretell.worlds.world import before_round_zero, move_to
from tests.service.server_process import KEY, Server
from tests.traffic.scripted import STEP, Scripted


def values_at(truth: Truth, t: int) -> list[float]:
    """Return what each action is worth in a round."""
    world = truth.scenario().draw(truth.rounds, np.random.default_rng(0))
    now = before_round_zero(world)
    move_to(world, now, t)
    return [round(float(value), 6) for value in true_values(world, now)]


def test_worlds_are_worth_what_is_planted() -> None:
    plain = [round(float(one), 6) for one in np.array(LAWS) @ np.array(THETA)]
    last = TRUTHS["valid"].rounds - 1
    assert values_at(TRUTHS["valid"], 0) == values_at(TRUTHS["valid"], last) == plain
    for truth in (TRUTHS["clickbait"], WEAKER):
        assert values_at(truth, 0) == [plain[0], round(plain[1] * truth.bait, 6), plain[2]]
    assert values_at(TRUTHS["drift"], last) == [round(one * 0.2, 6) for one in plain]
    assert values_at(TRUTHS["change"], 0) == plain
    assert values_at(TRUTHS["change"], last) == [plain[2], plain[0], plain[1]]


@pytest.mark.parametrize("name", TRUTHS)
def test_every_truth_is_a_campaign_that_sees_signals_alone(name: str) -> None:
    plan = make_truth_plan(name, "nsd-adaptive", runs=1, seed=0)
    campaign = msgspec.convert(plan.campaign("c", 1.0, 100.0), protocol.NewCampaign)
    assert tuple(campaign.signals) == SIGNALS
    reported = [SIGNALS[shown(outcome)] for outcome in range(plan.scenario.signals)]
    assert plan.signal_names() == reported
    assert set(reported) == set(SIGNALS)


def test_no_reward_is_sent_once_rewards_have_stopped() -> None:
    truth = TRUTHS["stopped"]._replace(settled=350)
    plan = TruthPlan(
        "stopped",
        truth.scenario(),
        policy("nsd-adaptive"),
        truth.rounds,
        runs=1,
        seed=3,
        silence="default",
        faults=Faults(),
        truth=truth,
    )
    service = Scripted(lambda number, t: 1)
    timing = Timing(clock_rate=1e7, round_length=STEP, signal_window=1.0, reward_window=100 * STEP)
    player = RunPlayer(service, EventBatcher(service), plan, timing, 0)
    run = asyncio.run(player.play(lambda rounds: None))
    rewards = [
        event
        for event in service.events
        if event.signal is None and "-probe-" not in event.decision_id
    ]
    assert truth.stops_at == 50
    assert 5 <= len(rewards) <= 40
    assert not run.miscounts
    assert run.finding is not None
    assert plan.complaint([run.finding], []) is None
    assert plan.complaint([run.finding], ["one is lost"]) == "one is lost"
    wrong = run.finding._replace(
        validity=msgspec.structs.replace(run.finding.validity, verdict="doubtful")
    )
    assert "0 of 1 campaigns say 'valid'" in str(plan.complaint([wrong], []))


@pytest.mark.slow
def test_a_server_says_what_was_planted(tmp_path: Path) -> None:
    with Server(tmp_path, "--time-scale", "1000") as server:
        fixed = ["--url", server.url, "--key", KEY, "--truth", "little"]
        done = CliRunner().invoke(simulate_traffic, [*fixed, "--runs", "2", "--json"])
        shown_to_people = CliRunner().invoke(simulate_traffic, fixed)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["complaint"] is None
    assert [one["validity"]["verdict"] for one in found["campaigns"]] == ["too early"] * 2
    assert all(one["report"]["counts"]["decisions"] == 190 for one in found["campaigns"])
    assert found["campaigns"][0]["values"] == pytest.approx(values_at(TRUTHS["little"], 0))
    assert shown_to_people.exit_code == 0
    for words in (TRUTHS["little"].sentence, "too early", "true value", "readings"):
        assert words in shown_to_people.output


@pytest.mark.parametrize("option", ["--scenario paper", "--lost 0.1", "--horizon 100"])
def test_options_of_scenarios_are_refused(option: str) -> None:
    done = CliRunner().invoke(simulate_traffic, ["--truth", "valid", *option.split()])
    assert done.exit_code == 2
    assert "--truth has a world of its own" in done.output


def test_a_comparison_needs_two_runs() -> None:
    done = CliRunner().invoke(simulate_traffic, ["--runs", "1"])
    assert done.exit_code == 2
    assert "at least 2 runs" in done.output
