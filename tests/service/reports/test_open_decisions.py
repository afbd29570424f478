"""Open decisions: each part holds those that its label names, and all of them are in one part."""

from __future__ import annotations

from itertools import pairwise

import pytest

from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.stretches import SECOND
from foretell.service.reports.campaign_copy import CampaignCopy
from foretell.service.reports.open_decisions import open_decisions
from tests.service.reports.feed import DAY, HOUR, Feed, report_of
from tests.service.reports.test_series import CAMPAIGN


@pytest.fixture(autouse=True)
def log_engine() -> None:
    """Need no log."""


def steady(days: float, every: float = 288.0, window: float = 2 * DAY) -> Feed:
    """Return a campaign with 300 decisions a day, some with an early reward."""
    feed = Feed(signal_window=min(HOUR, window), reward_window=window)
    for index in range(round(days * DAY / every)):
        feed.decide(index * every, index % 3, reward=1.0 if index % 4 == 0 else None)
    return feed


@pytest.mark.parametrize("days", [0.3, 1.2, 2.5, 9.03, 21.4])
def test_every_part_holds_the_decisions_made_in_it(days: float) -> None:
    feed = steady(days)
    copy = feed.copy(days * DAY)
    found = open_decisions(copy)
    assert found
    times = [one.decided_at for one in feed.decisions()]
    for one in found:
        begin, end = one.begin or 0, one.end or copy.as_of + 1
        assert one.decisions == sum(begin <= at < end for at in times)
        if end <= copy.as_of - 2 * DAY * SECOND:
            assert not one.open
        if begin > copy.as_of - 2 * DAY * SECOND:
            assert one.open == one.decisions
    counts = report_of(copy).counts
    assert sum(one.decisions for one in found) == counts.decisions
    assert sum(one.open for one in found) == counts.open_rewards
    for later, earlier in pairwise(found):
        assert later.begin == earlier.end


def test_the_labels_are_moments_of_the_calendar() -> None:
    assert [one.label for one in open_decisions(steady(9.03).copy(9.03 * DAY))] == [
        "since Thu 23 Nov, 12:00",
        "Thu 23 Nov, 00:00 to 12:00",
        "Wed 22 Nov, 12:00 to Thu 23 Nov, 00:00",
        "Wed 22 Nov, 00:00 to 12:00",
        "before Wed 22 Nov, 00:00",
    ]
    short = open_decisions(steady(0.001, every=1.0, window=60.0 * 60.0).copy(90.0))
    assert [one.label for one in short] == ["all"]
    seconds = open_decisions(steady(0.001, every=1.0, window=20.0).copy(90.0))
    assert seconds[0].label == "since Wed 15 Nov, 00:01:25"


def test_decisions_that_were_never_shown_are_left_out() -> None:
    active = ActiveCampaign(1, CAMPAIGN, CAMPAIGN.counters.stretches.first)
    copy = CampaignCopy.of(active)
    counts, found = report_of(copy).counts, open_decisions(copy)
    assert counts.voided > 0
    assert sum(one.decisions for one in found) == counts.decisions - counts.voided
    assert sum(one.open for one in found) == counts.open_rewards


def test_a_campaign_without_decisions_has_no_rows() -> None:
    assert open_decisions(Feed().copy(10.0)) == []
