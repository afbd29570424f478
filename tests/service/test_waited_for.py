"""An action that is waited for: traffic goes on while nothing is known about it."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.model.campaign import Campaign

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
        for place in range(200):
            answer, _ = await engine.decide("c", protocol.DecisionRequest())
            signal = "click" if place % 3 else "none"
            await engine.signal(answer.decision_id, protocol.SignalReport(signal))
            await engine.reward(answer.decision_id, protocol.RewardReport(float(place % 2)))
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
    if policy not in ("nsd-adaptive", "exp3s"):  # these would not play it more than that anyway
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
