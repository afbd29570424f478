"""What a policy is told many things at a time brings it to the same bytes as one by one."""

from __future__ import annotations

import random

import pytest

from foretell.service.model.campaign import Campaign
from foretell.service.model.events import SLOTS, Record
from foretell.service.model.snapshot import pack
from foretell.sim.replayer import MANY_DECISIONS, refit_reader
from tests.service.model.test_refit_columns import SECOND, config_of, drawn_log


@pytest.fixture(autouse=True)
def log_engine() -> None:
    """Need no log."""


@pytest.mark.compiled
@pytest.mark.parametrize("silence", ["default", "unknown"])
@pytest.mark.parametrize("policy", ["nsd-adaptive", "d-ucb"])
def test_records_folded_compiled_come_to_the_same_bytes(policy: str, silence: str) -> None:
    decisions = drawn_log(random.Random(7), plain=False)  # noqa: S311
    records = [Record(one.number, 1, one.number, one.decided) for one in decisions]
    records += [record for one in decisions for record in one.feedback]
    records.sort()
    plain, compiled = (Campaign(config_of(policy, silence, silence)) for _ in range(2))
    reader = refit_reader(compiled.state, MANY_DECISIONS)
    assert reader is not None
    compiled.read_compiled(reader)
    for number, record in enumerate(records):
        for campaign in (plain, compiled):
            assert campaign.close_windows(record.seq)
            campaign.apply(record)
        if number % 100 == 0:  # somebody looks at it
            assert pack(compiled) == pack(plain)
    for campaign in (plain, compiled):
        assert campaign.close_windows(records[-1].seq + 9 * SECOND * SLOTS)
    assert compiled.reads_compiled
    assert pack(compiled) == pack(plain)
