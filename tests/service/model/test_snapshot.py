"""Saved states: only one of the same version is read."""

from __future__ import annotations

import pytest

from foretell.service.model.campaign import FOLD_VERSION
from foretell.service.model.snapshot import pack, state_version, unpack
from tests.service.model.script import Script, config_of


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
