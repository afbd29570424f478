"""Changes are found when they were, and what the policy did about them is told."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from foretell.service.model.campaign import Campaign
from foretell.service.model.timestamps import parse_timestamp
from foretell.service.reports.changes import signal_changes
from foretell.service.reports.reactions import memory_of
from tests.service.engine_driver import Served
from tests.service.model.script import START, Script, config_of

CHANGED = 600


def changing(policy: str) -> Campaign:
    """Return a campaign of 1,200 decisions whose second action changes in the middle."""
    rng = random.Random(8)  # noqa: S311  (not for secrets)
    script = Script(config_of(policy, signal_window=30.0, reward_window=300.0))
    for t in range(1200):
        action = t % 2
        clicked = rng.random() < (0.8 if action == 1 and t >= CHANGED else 0.2)
        number = script.decide(action)
        if clicked:
            script.signal(number, 1)
        script.pass_time(60)
    return script.folded()


@pytest.fixture
def log_engine() -> str:
    """Need no log but where one is served."""
    return "memory"


@pytest.mark.parametrize("policy", ["nsd-adaptive", "nsd-psrl-cp", "nsd-kl-glr"])
def test_a_change_is_found_and_followed(policy: str) -> None:
    campaign = changing(policy)
    memory = memory_of(campaign)
    found = signal_changes(campaign.config, campaign.counters, memory, campaign.as_of)
    (change,) = found.changes
    assert change.action == "b"
    moments = [parse_timestamp(at) or 0 for at in (change.earliest, change.at, change.latest)]
    truth = START + CHANGED * 60_000_000
    assert moments == sorted(moments)
    assert moments[0] - campaign.counters.stretches.length <= truth <= moments[2]
    assert change.probability > 0.99
    assert change.before["click"] < 0.3
    assert change.after["click"] > 0.7
    assert change.policy.followed
    since = parse_timestamp(change.policy.since or "")
    assert since is not None
    assert abs(since - truth) < 100 * 60_000_000
    assert f"{policy} has followed: it counts them from about" in change.sentence
    assert "(> 99\u00a0% sure): " in change.sentence
    assert found.sentence.startswith("One change was found. The signals of b changed")


def test_a_policy_that_does_not_tell_is_not_guessed_at() -> None:
    campaign = changing("ucb")
    assert memory_of(campaign) is None
    found = signal_changes(campaign.config, campaign.counters, None, campaign.as_of)
    (change,) = found.changes
    assert (change.policy.followed, change.policy.since) == (None, None)
    assert change.sentence.endswith("ucb does not tell what it made of it.")


def test_where_nothing_changed_none_is_found() -> None:
    script = Script(config_of(signal_window=30.0, reward_window=300.0))
    for t in range(400):
        number = script.decide(t % 2)
        if t % 3 == 0:
            script.signal(number, 1)
        script.pass_time(60)
    campaign = script.folded()
    found = signal_changes(campaign.config, campaign.counters, None, campaign.as_of)
    assert found.changes == []
    assert found.sentence.startswith("No change was found")


def test_the_same_search_is_not_done_twice(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        served.decide()
        queries = served.engine.queries

        async def twice() -> bool:
            campaign = served.engine.runtime.by_number[1].campaign
            first = await queries.changes("c")
            known = queries._changes[1]
            assert known[0] is campaign
            queries._changes[1] = (campaign, campaign.position, first)
            return await queries.changes("c") is first or known[1] != campaign.position

        assert served.run(twice())
