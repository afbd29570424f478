"""A refit over columns comes to the same bytes as one that reads decision by decision."""

from __future__ import annotations

import random

import msgspec
import pytest

from foretell import protocol
from foretell.service.model.campaign import Campaign
from foretell.service.model.config import new_config
from foretell.service.model.events import (
    ADJUST,
    OBSERVED,
    RETRACT,
    SLOTS,
    VOID,
    CampaignConfig,
    Decided,
    DecisionRecords,
    Feedback,
    Record,
    stamp,
)
from foretell.service.model.refit_columns import RefitColumns
from foretell.service.model.snapshot import pack

START, SECOND = 1_700_000_000_000_000, 1_000_000
DECISIONS = 250


@pytest.fixture(autouse=True)
def log_engine() -> None:
    """Need no log."""


def config_of(policy: str, signal_silence: str, reward_silence: str) -> CampaignConfig:
    """Return a campaign whose first decisions keep a shorter window."""
    new = protocol.NewCampaign(
        "c",
        ["a", "b", "c"],
        ["none", "click", "buy"],
        policy,
        signal_window=1.0,
        reward_window=2.0,
        reward_range=(-1.0, 2.0),
        default_reward=0.25,
        signal_silence=signal_silence,  # type: ignore[arg-type]
        reward_silence=reward_silence,  # type: ignore[arg-type]
    )
    config = new_config(new, 7)
    kept = ((START + SECOND, 0.5),)
    stages = tuple(msgspec.structs.replace(one, kept_windows=kept) for one in config.stages)
    return msgspec.structs.replace(config, stages=stages)


def drawn_log(rng: random.Random, *, plain: bool) -> list[DecisionRecords]:
    """Draw decisions and what came of them: where `plain`, a signal and a reward at most."""
    at, found = START, []
    for rank in range(DECISIONS):
        at += rng.choice((1, 500, 30_000))
        number = stamp(at)
        events = []
        if rng.random() < 0.7:
            events.append(Feedback(1, "s", 0, OBSERVED, float(rng.randrange(3))))
        if rng.random() < 0.5:
            events.append(Feedback(1, "r", 1, OBSERVED, rng.choice((0.0, 1.0, 0.37, 2.5, -3.0))))
        more = 0 if plain else rng.choice((0, 0, 1, 2, 4))
        events += [_any_feedback(rng, index) for index in range(more)]
        feedback = [
            Record((at + rng.randrange(4 * SECOND)) * SLOTS + index, 1, number, event)
            for index, event in enumerate(events, 1)
        ]
        decided = Decided(1, rng.randrange(3), 0.3, rng.randrange(4), 3, rank, 0)
        found.append(DecisionRecords(number, rank, decided, sorted(feedback)))
    return found


def _any_feedback(rng: random.Random, index: int) -> Feedback:
    return rng.choice(
        (
            Feedback(1, f"s{index}", 0, OBSERVED, float(rng.randrange(3))),
            Feedback(1, f"r{index}", 1, OBSERVED, rng.random()),
            Feedback(1, f"a{index}", 1, ADJUST, rng.random(), "r"),
            Feedback(1, f"t{index}", 1, RETRACT, 0.0, "r"),
            Feedback(1, f"v{index}", 0, VOID, 0.0),
        )
    )


@pytest.mark.parametrize("policy", ["nsd-adaptive", "nsd-kl", "exp3s", "ts"])
@pytest.mark.parametrize("signal_silence", ["default", "unknown"])
@pytest.mark.parametrize("reward_silence", ["default", "unknown"])
def test_columns_and_single_decisions_come_to_the_same_bytes(
    policy: str, signal_silence: str, reward_silence: str
) -> None:
    config = config_of(policy, signal_silence, reward_silence)
    for seed, plain, after in ((1, True, 10.0), (2, False, 10.0), (3, False, 0.7), (4, True, 0.0)):
        rng = random.Random(seed)  # noqa: S311
        decisions = drawn_log(rng, plain=plain)
        position = decisions[-1].number + 1 + round(after * SECOND) * SLOTS
        expected = Campaign.refit(config, decisions, position)
        campaign = Campaign(config)
        assert campaign.has_columns
        columns = RefitColumns(campaign, campaign.rules, position)
        read = 0
        for records in decisions:
            read += columns.add([records])
            if len(columns) >= rng.randint(1, 100):
                campaign.refit_columns(columns)
        campaign.refit_columns(columns)
        campaign.end_refit(position)
        assert read == sum(len(one.before(position).feedback) for one in decisions)
        assert pack(campaign) == pack(expected)
        assert campaign.digest() == expected.digest()


def test_where_open_decisions_are_counted_there_are_no_columns() -> None:
    new = protocol.NewCampaign(
        "c", ["a", "b"], ["none", "buy"], reward_silence="corrected", typical_delay=5.0
    )
    assert not Campaign(new_config(new, 7)).has_columns
