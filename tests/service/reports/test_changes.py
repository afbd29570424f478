"""Changes are found when they were, and what the policy did about them is told."""

from __future__ import annotations

import random

import pytest

from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.timestamps import parse_timestamp
from foretell.service.reports.campaign_copy import CampaignCopy
from foretell.service.reports.changes import signal_changes
from foretell.service.reports.reactions import memory_of
from tests.service.model.script import START, Script, config_of

CHANGED = 600


def copy_of(script: Script) -> CampaignCopy:
    """Return what a report on the campaign of a script is made of."""
    return CampaignCopy.of(ActiveCampaign(1, script.folded(), START))


def changing(policy: str) -> CampaignCopy:
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
    return copy_of(script)


@pytest.fixture
def log_engine() -> str:
    """Need no log but where one is served."""
    return "memory"


@pytest.mark.parametrize("policy", ["nsd-adaptive", "nsd-psrl-cp", "nsd-kl-glr"])
def test_a_change_is_found_and_followed(policy: str) -> None:
    copy = changing(policy)
    found = signal_changes(copy)
    (change,) = found.changes
    assert change.action == "b"
    moments = [parse_timestamp(at) or 0 for at in (change.earliest, change.at, change.latest)]
    truth = START + CHANGED * 60_000_000
    assert moments == sorted(moments)
    assert moments[0] - copy.counters.stretches.length <= truth <= moments[2]
    assert change.probability > 0.99
    assert change.before["click"] < 0.3
    assert change.after["click"] > 0.7
    assert change.policy.followed
    since = parse_timestamp(change.policy.since or "")
    assert since is not None
    assert abs(since - truth) < 100 * 60_000_000
    assert f"{policy} has followed: it counts them from about" in change.sentence
    assert "(>\u00a099\u00a0% sure): " in change.sentence
    assert found.sentence.startswith("One change was found. The signals of b changed")


def test_a_policy_that_does_not_tell_is_not_guessed_at() -> None:
    copy = changing("ucb")
    assert memory_of(copy) is None
    found = signal_changes(copy)
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
    found = signal_changes(copy_of(script))
    assert found.changes == []
    assert found.sentence.startswith("No change was found")
