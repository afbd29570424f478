"""From the log to a campaign: no configuration of it may be missing."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from foretell.service.engine.replay import configurations_of
from foretell.service.log.errors import Damaged
from foretell.service.log.protocol import LogReader
from foretell.service.model.events import Configured, Erased, Record
from tests.service.model.script import config_of


@pytest.fixture(autouse=True)
def log_engine() -> None:
    """Need no log."""


class Listed:
    """A log whose index lists these records about a campaign."""

    def __init__(self, events: list[Any]) -> None:
        self.records = [Record(seq, 1, 0, event) for seq, event in enumerate(events, 1)]

    async def configurations(self, _: int) -> list[Record]:
        return self.records


def configured(version: int) -> Configured:
    return Configured(version, config_of("ucb"), "changed", "1/ucb/1")


def listed(*events: Any) -> list[int]:
    """Return the versions that are found."""
    log = cast("LogReader", Listed(list(events)))
    return [event.version for _, event in asyncio.run(configurations_of(log, 1))]


def test_the_configurations_of_a_campaign_follow_one_another() -> None:
    assert listed(configured(1), Erased(2), configured(2)) == [1, 2]


@pytest.mark.parametrize("versions", [(), (2,), (1, 3), (1, 2, 2)])
def test_a_configuration_that_the_index_has_lost_is_damage(versions: tuple[int, ...]) -> None:
    with pytest.raises(Damaged, match="configuration"):
        listed(*map(configured, versions))
