"""A live run meets the world and the luck of the lab's run with its number."""

from __future__ import annotations

import asyncio
import dataclasses

import numpy as np
import pytest

import foretell
from foretell.protocol import DecisionAnswer
from foretell.traffic.comparison import compare
from foretell.traffic.faults import Faults
from foretell.traffic.lab import Lab
from foretell.traffic.plan import Plan, make_plan
from foretell.traffic.service import WrongAnswer
from tests.traffic.scripted import Scripted, driven

pytestmark = [pytest.mark.compiled, pytest.mark.usefixtures("short_probe")]

RUNS, HORIZON = 3, 400


def plan(faults: Faults = Faults(), name: str = "paper") -> Plan:  # noqa: B008  it is frozen
    return make_plan(name, "nsd-kl", HORIZON, None, "unknown", faults, runs=RUNS, seed=5)


@pytest.mark.parametrize("name", ["paper", "heavy-delays", "bad-30", "slow-drift"])
def test_the_actions_of_the_lab_have_live_its_regret_its_signals_and_its_rewards(name: str) -> None:
    played = plan(name=name)
    scenario = played.scenario
    batch = foretell.simulate(scenario, "nsd-kl", HORIZON, RUNS, 5, trajectories=True)
    traced = batch.trajectories
    assert traced is not None
    service = Scripted(lambda number, t: int(traced.actions[number, t]))
    traffic = asyncio.run(driven(played, service))
    for run in traffic.runs:
        number = run.number
        assert run.regret == pytest.approx(batch.final[number], rel=1e-12)
        sent = {
            (event.decision_id, event.event_id): event
            for event in service.events
            if event.decision_id.startswith(f"{run.campaign}/")
        }
        for t in range(HORIZON):
            signal = sent[f"{run.campaign}/{t}", f"signal-{t}"]
            assert signal.signal == f"signal-{traced.signals[number, t]}"
            reward = sent.get((f"{run.campaign}/{t}", f"reward-{t}"))
            arrives = 0 <= traced.delays[number, t] < HORIZON - t
            assert (reward is not None) == arrives
            assert reward is None or reward.value == traced.rewards[number, t]


def test_the_first_repeat_of_the_lab_is_the_simulation() -> None:
    regret = Lab(plan()).regret(range(RUNS))
    simulated = foretell.simulate(plan().scenario, "nsd-kl", HORIZON, RUNS, 5)
    assert np.array_equal(regret[:, 0], simulated.final)
    assert (regret.std(axis=1) > 0.0).all()
    later = dataclasses.replace(plan().scenario, delay=200)
    simulated = foretell.simulate(later, "nsd-kl", HORIZON, RUNS, 5)
    assert np.array_equal(Lab(plan()).regret(range(RUNS), 200)[:, 0], simulated.final)


def test_a_server_that_always_plays_one_action_differs_from_the_lab() -> None:
    worst = plan(name="paper-stationary")
    traffic = asyncio.run(driven(worst, Scripted(lambda number, t: 2)))
    found = compare(traffic, Lab(traffic.plan))
    assert not found.alike
    assert "the server does not use what it is told" in str(found.complaint())


def test_an_event_that_the_server_has_not_counted_is_a_complaint() -> None:
    service = Scripted(lambda number, t: 0)
    service.forget = lambda event: event.event_id == "reward-3"
    traffic = asyncio.run(driven(plan(Faults(duplicates=0.3)), service))
    sentences = [sentence for run in traffic.runs for sentence in run.miscounts]
    assert len(sentences) == RUNS
    assert "rewards in traffic-" in sentences[0]


def test_two_decisions_for_one_key_are_a_wrong_answer() -> None:
    class Twice(Scripted):
        async def decide(self, campaign: str, key: str) -> DecisionAnswer:
            decision = await super().decide(campaign, key)
            self.decisions.pop((campaign, key))
            return decision

    with pytest.raises(WrongAnswer, match="gave two decisions"):
        asyncio.run(driven(plan(Faults(duplicates=0.5)), Twice(lambda number, t: 0)))
