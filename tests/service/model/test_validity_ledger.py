"""What enters the test of a signal: what settles while rewards come, once, in its first value."""

from __future__ import annotations

import random

import pytest

from foretell.service.model.campaign import Campaign
from foretell.service.model.snapshot import pack, state_version, unpack
from foretell.service.model.validity_ledger import HELD, OVERDUE, ValidityLedger
from tests.service.model.script import Script, config_of

DAY = 86_400_000_000


@pytest.fixture(autouse=True)
def log_engine() -> None:
    """Need no log."""


def fed(days: int, rewards_on: object, per_day: int = 40) -> ValidityLedger:
    """Return the ledger of decisions of which every second one has a reward."""
    ledger = ValidityLedger(2, 2)
    for day in range(days):
        for one in range(per_day):
            now = day * DAY + one * DAY // per_day
            if rewards_on(day) and one % 2:  # type: ignore[operator]
                ledger.rewards_came((now,))
            ledger.settle(now, one % 2, 1, float(one % 2), silent=not one % 2)
    return ledger


def test_what_settles_while_rewards_come_enters() -> None:
    ledger = fed(5, lambda _: True)
    assert ledger.test.clock[0] + len(ledger.held) == 200
    assert ledger.left_out == 0
    assert ledger.closed == 0


def test_what_closes_while_rewards_have_stopped_never_enters() -> None:
    ledger = fed(9, lambda day: day < 5 or day == 8)
    assert ledger.left_out == 3 * 40 + 2
    assert ledger.test.clock[0] + len(ledger.held) == 6 * 40 - 2
    stopped = fed(8, lambda day: day < 5)
    assert stopped.closed == 3 * 20
    assert stopped.expected > OVERDUE


def test_rewards_that_come_once_a_night_are_not_overdue_after_the_first_one() -> None:
    ledger = ValidityLedger(2, 2)
    for day in range(20):
        for one in range(100):
            ledger.settle(day * DAY + one, one % 2, 1, float(one % 2), silent=not one % 2)
        for one in range(50):
            ledger.rewards_came((day * DAY + DAY // 2 + one,))
    assert ledger.left_out <= 2 * 100
    assert ledger.test.clock[0] >= 18 * 100
    assert DAY < ledger.usual_pause <= 2 * DAY


def test_rare_rewards_are_not_waited_for() -> None:
    ledger = ValidityLedger(2, 2)
    ledger.rewards_came((0,))
    for one in range(20 * HELD):
        ledger.settle(one, one % 2, 0, 0.0, silent=True)
    assert ledger.left_out == 0
    assert ledger.test.clock[0] == 20 * HELD


def test_a_saved_ledger_goes_on_as_if_it_had_not_been_saved() -> None:
    script = Script(config_of("nsd-adaptive"))
    for index in range(120):
        number = script.decide(index % 2)
        script.signal(number, 1)
        if index % 3 == 0:
            script.reward(number, 1.0)
        script.pass_time(0.1)
    campaign = folded(script, len(script.records) // 2)
    copy = unpack(state_version(campaign.config), pack(campaign))
    assert copy is not None
    script.pass_time(10)
    for one in (campaign, copy):
        folded(script, len(script.records), one)
        one.close_windows(script.end, script.decisions())
    assert pack(campaign) == pack(copy)
    assert campaign.ledger.test.clock[0] + len(campaign.ledger.held) > 60


def folded(script: Script, upto: int, campaign: Campaign | None = None) -> Campaign:
    found = Campaign(script.config) if campaign is None else campaign
    for record in script.records[:upto]:
        if record.seq >= found.position:
            found.close_windows(record.seq, script.decisions())
            found.apply(record)
    return found


@pytest.mark.parametrize("seed", range(8))
def test_many_settled_rewards_at_a_time_are_as_one_by_one(seed: int) -> None:
    """Whether rewards come often, seldom, or stop for long: some are overdue, some fill it up."""
    rng = random.Random(seed)  # noqa: S311
    one_by_one, together = ValidityLedger(3, 2), ValidityLedger(3, 2)
    now = 0
    for turn in range(1, 61):
        moments, rewards, silent = [], [], []
        outage = 0 if turn % 20 else 10 ** (5 + turn // 10)
        for _ in range(700 if outage else rng.choice([0, 1, 5, 40, 700])):
            now += rng.choice([0, 1, 1000, outage])
            moments.append(now)
            rewards.append((rng.randrange(3), rng.randrange(2), float(rng.random() < 0.3)))
            silent.append(int(rng.random() < 0.5))
        for at, reward, was in zip(moments, rewards, silent, strict=True):
            one_by_one.settle(at, *reward, silent=bool(was))
        together.settle_all(moments, rewards, silent)
        signals = sorted(rng.randrange(now + 1) for _ in range(3))
        for at in signals:
            one_by_one.signals_came((at,))
        together.signals_came(signals)
        came = [now := now + rng.choice([1, 1000, 10**7]) for _ in range(rng.choice([1, 4]))]
        for at in came:
            one_by_one.rewards_came((at,))
        together.rewards_came(came)
        for name, known in one_by_one.arrays().items():
            assert known.tobytes() == together.arrays()[name].tobytes()
    assert one_by_one.left_out > 0
