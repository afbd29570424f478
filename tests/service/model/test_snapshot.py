"""Saved states: only one of the same version is read, and a digest is of all that they hold."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from foretell.service.model.campaign import FOLD_VERSION
from foretell.service.model.running import LastRefit
from foretell.service.model.snapshot import Snapshot, pack, state_version, unpack
from tests.service.model.script import Script, config_of
from tests.service.model.test_fold_version import scripted


@pytest.fixture(autouse=True)
def log_engine() -> None:
    """Need no log."""


def test_a_state_of_another_version_is_not_even_read() -> None:
    script = Script(config_of("ucb"))
    script.decide()
    campaign = script.folded()
    body, version = pack(campaign), state_version(campaign.config)
    loaded = unpack(version, body)
    assert loaded is not None
    assert pack(loaded) == body
    assert unpack(f"{FOLD_VERSION}/ucb/another", body) is None
    assert unpack(f"{FOLD_VERSION + 1}/ucb/1", b"bytes of another form") is None


@pytest.mark.parametrize("part", ["counters", "ledger"])
def test_a_digest_is_of_every_number_that_a_state_holds(part: str) -> None:
    campaign = scripted("nsd-adaptive corrected").folded()
    known = {name: array.copy() for name, array in getattr(campaign, part).arrays().items()}
    digest = campaign.digest()
    for name, array in known.items():
        if array.size and name != "clock":  # that of stretches says how long the others are
            other = array.copy()
            other.flat[-1] += 1
            getattr(campaign, part).restore(known | {name: other})
            assert campaign.digest() != digest, name
    getattr(campaign, part).restore(known)
    assert campaign.digest() == digest


@pytest.mark.parametrize("name", ["version", "decided", "cursors", "passed", "last_refit"])
def test_a_digest_is_of_all_that_a_state_is_saved_with(name: str) -> None:
    campaign = scripted("ucb default").folded()
    digest, saved = campaign.digest(), Snapshot.__struct_fields__
    assert set(saved) - {"version", "decided", "cursors", "passed", "last_refit"} == {
        *("config", "position", "state", "counters", "ledger")
    }, "or something is saved that no digest is of"
    value = getattr(campaign, name)
    other = LastRefit(0, 1) if name == "last_refit" else value
    setattr(campaign, name, [1, *value[1:]] if isinstance(value, list) else other)
    if isinstance(value, int):
        setattr(campaign, name, value + 1)
    assert campaign.digest() != digest
    setattr(campaign, name, value)
    assert campaign.digest() == digest
    campaign.config = replace(campaign.config, explore=0.5)
    assert campaign.digest() != digest
