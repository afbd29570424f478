"""The counters of a campaign: what all records of every decision say, counted again from nothing.

They are whole numbers that follow outcomes: records in any order, corrections, refits and restarts
come to the same.
"""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
import pytest

from foretell.service.model.arrivals import EDGES, bin_of
from foretell.service.model.campaign import Campaign
from foretell.service.model.events import ADJUST, RETRACT
from foretell.service.model.outcome import Rules
from foretell.service.model.running import Running
from foretell.service.model.snapshot import pack, state_version, unpack
from foretell.service.model.stretches import Stretches, kept_stretches, longer
from tests.reference.campaign_counts import campaign_counts
from tests.service.engine_driver import Served
from tests.service.model.script import Script, config_of

SECOND = 1_000_000
SEEDS = range(6)
SILENCE = ("default", "unknown")


def random_campaign(seed: int, silence: str, policy: str = "ucb") -> Script:
    """Return a campaign to which everything happens, over seconds, hours or years."""
    rng = random.Random(seed)  # noqa: S311  (not for secrets)
    pause = (0.3, 3_000.0, 4e6)[seed % 3]
    script = Script(
        config_of(
            policy,
            signals=["none", "click", "buy"],
            signal_silence=silence,
            reward_silence=silence,
            reward_range=(-1.0, 2.0),
            default_reward=0.25,
            signal_window=2 * pause,
            reward_window=5 * pause,
        )
    )
    numbers: list[int] = []
    rewarded: list[tuple[int, str]] = []
    for t in range(150):
        action = rng.randrange(len(script.config.actions))
        numbers.append(script.decide(action, mode=rng.randrange(4)))
        for number in rng.choices(numbers[-12:], k=2):
            script.signal(number, rng.randrange(3))
            if rng.random() < 0.6:
                rewarded.append((number, script.reward(number, rng.uniform(-1.5, 2.5))))
        if rewarded and rng.random() < 0.3:
            number, target = rng.choice(rewarded)
            script.correct(number, rng.choice((ADJUST, RETRACT)), rng.random(), target)
        if rng.random() < 0.05:
            script.void(rng.choice(numbers[-5:]))
        if t == 70:
            script.add_action("c")
        script.pass_time(rng.random() * pause)
    return script


def differences(campaign: Campaign, script: Script) -> list[str]:
    """Return which counts are not what the records say."""
    found = campaign.counters.arrays()
    expected = campaign_counts(campaign.config, script.decisions(), campaign.as_of)
    return [name for name, array in expected.items() if not np.array_equal(array, found[name])]


@pytest.mark.parametrize("silence", SILENCE)
@pytest.mark.parametrize("seed", SEEDS)
def test_they_are_what_all_records_say(seed: int, silence: str) -> None:
    script = random_campaign(seed, silence)
    assert differences(script.folded(), script) == []
    halfway = script.records[len(script.records) // 2].seq
    before = Script(script.config)
    before.records = [record for record in script.records if record.seq < halfway]
    assert differences(script.folded(halfway), before) == []


@pytest.mark.parametrize("policy", ["ucb", "nsd-adaptive"])
@pytest.mark.parametrize("silence", SILENCE)
def test_a_refit_counts_what_a_replay_counts(policy: str, silence: str) -> None:
    script = random_campaign(1, silence, policy)
    replayed = script.folded()
    refit = Campaign.refit(script.config, script.decisions(), script.end)
    known = replayed.counters.arrays()
    for name, array in refit.counters.arrays().items():
        if name != "counts":  # of revisions, which a refit has read
            assert np.array_equal(array, known[name]), name


def test_a_refit_with_other_windows_counts_by_them() -> None:
    script = random_campaign(2, "default")
    longer_windows = tuple(
        msgspec.structs.replace(stage, window=stage.window * 2) for stage in script.config.stages
    )
    script.refit(msgspec.structs.replace(script.config, stages=longer_windows))
    assert differences(script.folded(), script) == []


def test_a_saved_state_has_every_count() -> None:
    script = random_campaign(3, "default")
    campaign = script.folded()
    body = pack(campaign)
    again = unpack(state_version(campaign.config), body)
    assert again is not None
    assert pack(again) == body
    assert differences(again, script) == []
    again.counters.decide(again.cache.add(_running(script)))
    assert again.counters.stretches.traffic[..., 0].sum() == 151, "it can go on"


def _running(script: Script) -> Running:
    records = script.decisions()[-1]
    return Running(Rules.of(script.config), records.number + 1, records.rank + 1, records.decided)


@pytest.mark.parametrize("gap", [1, SECOND, 977 * SECOND, 86_400 * SECOND])
@pytest.mark.parametrize("grows", [False, True])
def test_stretches_are_as_short_as_there_is_room_for(gap: int, grows: bool) -> None:
    """And begin where the clock does, whatever was there before."""
    stretches = Stretches(2, 2)
    start = 1_700_000_123_456_789
    for number in range(2000):
        if grows and number == 1000:
            stretches.grow(60, 20)
        stretches.decide(start + number * gap, number % 4, number % 2)
    assert stretches.traffic[..., 0].sum() == 2000
    assert stretches.traffic[..., 0].sum(axis=(0, 1))[:2].tolist() == [1000, 1000]
    kept = kept_stretches(60, 20) if grows else kept_stretches(2, 2)
    last = start + 1999 * gap
    assert len(stretches) == last // stretches.length - start // stretches.length + 1 <= kept
    assert stretches.begin(0) <= start < stretches.begin(1)
    assert stretches.begin(0) % stretches.length == 0
    if stretches.length > SECOND:
        shorter = next(
            one for one, longer_one in pairwise(_lengths()) if longer_one == stretches.length
        )
        assert last // shorter - start // shorter + 1 > kept


def _lengths() -> list[int]:
    found = [SECOND]
    while found[-1] < 2_000 * 86_400 * SECOND:
        found.append(longer(found[-1]))
    return found


def test_every_length_is_a_multiple_of_the_one_before() -> None:
    assert all(after % before == 0 for before, after in pairwise(_lengths()))
    assert {60 * SECOND, 3600 * SECOND, 86_400 * SECOND} <= set(_lengths())


def test_the_bins_of_ages_have_no_gap_and_are_narrow() -> None:
    assert list(EDGES) == sorted(set(EDGES))
    assert max(after / before for before, after in pairwise(EDGES)) < 1.1893
    assert EDGES[-1] > 20 * 365.25 * 86_400 * SECOND
    for index, edge in enumerate(EDGES):
        assert (bin_of(edge - 1), bin_of(edge)) == (index, index + 1)


def test_the_actions_of_a_report_add_up_to_its_decisions(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        for _ in range(300):
            served.decide()
            served.pass_time(100)
        report = served.report()
        assert sum(row.decisions for row in report.actions) == report.counts.decisions == 300
        assert sum(row.share for row in report.actions) == pytest.approx(1.0)
