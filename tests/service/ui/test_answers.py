"""The sentences of the pages: true of one as of many, and in agreement with what stands beside."""

from __future__ import annotations

from typing import Any

import pytest

from foretell import protocol
from foretell.service.reports.changes import signal_changes
from foretell.service.ui.answers import pending_answer, signal_value_answer, traffic_answer
from foretell.service.ui.campaign_page import _rank
from foretell.service.ui.fleet_page import _uplift_note
from foretell.service.ui.formats import gain
from tests.service.reports.feed import HOLDOUT, Feed, plain


@pytest.fixture(autouse=True)
def log_engine() -> None:
    """Need no log."""


def one_decision() -> Feed:
    feed = Feed(holdout=0.5)
    feed.decide(0.0, 0)
    return feed


def test_one_decision_is_one() -> None:
    early, later = (one_decision().report(at) for at in (0.5, 10.0))
    assert plain(pending_answer(early)).startswith(
        "1 of 1 decision (100 %) waits for its reward, and for its signal too. "
    )
    assert "waits for its reward, and for no signal. " in pending_answer(later)
    two = one_decision()
    two.decide(9.8, 1)
    assert "2 of 2 decisions" in pending_answer(two.report(10.0))
    assert "wait for their reward, 1 of them for its signal too" in pending_answer(two.report(10.0))


def test_shares_are_of_the_choices_of_the_policy_and_say_so() -> None:
    feed = Feed(holdout=0.5)
    for index in range(40):
        feed.decide(float(index), index % 2, mode=HOLDOUT if index % 2 else 0)
    said = plain(traffic_answer(feed.report(50.0)))
    assert said.startswith("a has had 100 % of the policy’s choices lately")


def test_no_change_is_not_said_before_a_signal_is_settled() -> None:
    feed = one_decision()
    assert signal_changes(feed.copy(0.5)).sentence.startswith("It is too early")
    assert signal_changes(feed.copy(10.0)).sentence.startswith("No change was found")


def test_an_uplift_is_not_sure_while_rewards_have_stopped() -> None:
    sure = protocol.RewardInterval(0.3, 0.2, 0.4)
    report = one_decision().report(10.0)
    report.uplift = sure
    assert _uplift_note(report) == "sure"
    report.status = "rewards stopped"
    assert _uplift_note(report) == "too low: rewards have stopped"


def test_actions_that_are_hardly_the_best_do_not_swap() -> None:
    def action(name: str, best: float, value: float) -> protocol.ActionReport:
        found = protocol.RewardInterval(value, 0.0, 1.0)
        return protocol.ActionReport(name, "active", 1, 0.3, 0.3, None, found, best, None)

    for one, other in ((0.004, 0.009), (0.009, 0.004)):
        actions = [action("a", one, one), action("b", other, other), action("c", 0.987, 0.9)]
        assert [found.action for found in sorted(actions, key=_rank)] == ["c", "a", "b"]


def result(earned: float, value: float, without: float) -> protocol.EvaluationResult:
    def ends(mean: float) -> protocol.Interval:
        return protocol.Interval(mean, mean - 0.01, mean + 0.01)

    def of(mean: float) -> protocol.PolicyValue:
        robust = ends(mean)
        return protocol.PolicyValue(robust, robust, robust, ends(mean - earned), 100.0)

    return protocol.EvaluationResult(9, 0, 9, 9, ends(earned), of(value), of(without), "")


def test_a_difference_is_that_of_the_numbers_beside_it() -> None:
    view: Any = type("View", (), {"reward_name": "", "signals": ["none"]})
    assert gain(result(0.4054, 0.5016, 0.3)) == "+0.097"
    assert "+0.097 rewards" in signal_value_answer(view, result(0.2, 0.5016, 0.4054))
