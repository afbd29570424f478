"""The decider shares traffic among actions that are not known yet, and keeps expensive tables."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.model import decider
from foretell.service.model.campaign import Campaign
from foretell.service.model.value_table import Basis, make_table
from tests.service.engine_driver import Served

POLICIES = (
    "nsd-ucrl2",
    "nsd-kl",
    "nsd-kl-glr",
    "ucb",
    "kl-ucb",
    "nsd-psrl",
    "nsd-psrl-cp",
    "nsd-adaptive",
    "metabio",
    "exp3s",
)


async def _burst_after_an_action_was_added(path: Path, policy: str) -> Counter[str]:
    engine = await Engine.open(path / "a.db", durability="relaxed", compiled=False)
    try:
        await engine.create(
            protocol.NewCampaign(
                "c",
                ["a", "b", "c", "d"],
                ["none", "click"],
                policy,
                signal_silence="unknown",
                reward_silence="unknown",
            )
        )
        for index in range(200):
            answer, _ = await engine.decide("c", protocol.DecisionRequest())
            signal = "click" if index % 3 else "none"
            await engine.feedback(answer.decision_id, protocol.SignalReport(signal))
            await engine.feedback(answer.decision_id, protocol.RewardReport(float(index % 2)))
        await engine.add_action("c", protocol.NewAction("new"))
        answers = await asyncio.gather(
            *[engine.decide("c", protocol.DecisionRequest()) for _ in range(1000)]
        )
        logged = [answer.propensity for answer, _ in answers if answer.action == "new"]
        assert max(logged) <= 0.2 + 1e-12
        return Counter(answer.action for answer, _ in answers)
    finally:
        await engine.close()


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_a_new_action_gets_an_even_share_until_something_is_known(
    tmp_path: Path, policy: str
) -> None:
    found = asyncio.run(_burst_after_an_action_was_added(tmp_path, policy))
    assert found["new"] < 250
    if policy not in ("nsd-psrl-cp", "nsd-adaptive", "exp3s"):  # these need no rule for that
        assert found["new"] > 100


def test_without_the_rule_a_new_action_takes_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody = Campaign.actions_without_feedback

    def known(campaign: Campaign) -> object:
        return nobody(campaign) & False

    monkeypatch.setattr(Campaign, "actions_without_feedback", known)
    with pytest.raises(AssertionError):
        asyncio.run(_burst_after_an_action_was_added(tmp_path, "nsd-kl"))


def test_an_interruption_does_not_make_a_table_expensive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a burst would go to one action, for twenty times as long as the machine was busy."""
    writes: list[int] = []

    def interruptible(basis: Basis, *arguments: Any) -> Any:
        if not writes:
            time.sleep(0.1)
        writes.append(basis.t)
        return make_table(basis, *arguments)

    with Served(tmp_path / "a.db") as served:
        served.create(actions=["a", "b", "c", "d"], policy="nsd-kl")
        for action in "abcd":
            one = served.decide(eligible=[action]).decision_id
            served.signal(one, "click")
        served.pass_time(1e6)
        monkeypatch.setattr(decider, "make_table", interruptible)
        monkeypatch.setattr(decider, "CHEAP_SECONDS", 0.01)
        found = Counter(answer.action for answer in served.decide_many(200))
        assert max(found.values()) < 100, found
        assert sorted(set(writes)) == list(range(4, 204)), "a table for each of them"
