"""Every status has its sentence, and the one that needs somebody comes first."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import msgspec
import numpy as np
import pytest

from foretell.protocol.campaign_report import ReportStatus
from foretell.service.model.events import Author
from foretell.service.reports.campaign_copy import CampaignCopy, StatusChange
from foretell.service.reports.summary import campaign_report
from foretell.service.reports.validity import validity_report
from foretell.service.reports.values import current_belief
from foretell.stats.value_now import values_now
from tests.service.reports.feed import (
    DAY,
    HOLDOUT,
    HOUR,
    SECOND,
    START,
    Feed,
    plain,
    report_of,
    traffic,
)


@pytest.fixture(autouse=True)
def log_engine() -> None:
    """Need no log."""


def said(copy: CampaignCopy) -> tuple[str, str]:
    found = report_of(copy)
    return found.status, plain(found.sentence)


def with_status(copy: CampaignCopy, status: str) -> CampaignCopy:
    copy.config = msgspec.structs.replace(copy.config, status=status)
    return copy


def daily(days: int, from_hour: int = 8, to_hour: int = 20, per_hour: int = 6) -> Feed:
    """Return a campaign that is asked at the same hours of every day, with a signal each."""
    feed = Feed(signal_window=600.0, reward_window=3600.0)
    for day in range(days):
        for one in range((to_hour - from_hour) * per_hour):
            at = day * DAY + (from_hour + one / per_hour) * HOUR
            feed.decide(at, one % 3, 1 + one % 2, float(one % 2), reward_after=60.0)
    return feed


def learning_copy() -> CampaignCopy:
    return slow(days=2).copy(2 * DAY)


def slow(days: int) -> Feed:
    feed = Feed(reward_window=7 * DAY)
    for hour in range(24 * days):
        feed.decide(hour * HOUR, hour % 3, 1)
    return feed


def test_rewards_stopped() -> None:
    status, sentence = said(traffic(1200, stop=800.0).copy(1200))
    assert status == "rewards stopped"
    assert sentence.startswith("No readings have come since Wed 15 Nov, 00:1")
    assert "Decisions and signals go on, so look at the job that reports readings." in sentence
    assert "were due by now" in sentence
    assert "are repaired when theirs come" in sentence


def test_rewards_stopped_says_only_what_goes_on() -> None:
    feed = traffic(900, stop=800.0, reward_window=400.0)
    status, sentence = said(feed.copy(1250))
    assert status == "rewards stopped"
    assert "go on" in sentence
    quiet = Feed(reward_window=400.0)
    for index in range(400):
        reward = 1.0 if index < 200 else None
        quiet.decide(index / 10, 0, 1, reward, reward_after=100.0 + index / 10)
    status, sentence = said(quiet.copy(390))
    assert status == "rewards stopped"
    assert "go on" not in sentence
    assert "Look at the job that reports readings." in sentence


def test_signals_stopped() -> None:
    feed = Feed(signal_window=60.0, reward_window=5000.0)
    for index in range(1000):
        feed.decide(float(index), index % 3, index % 2 if index < 800 else 0, signal_after=5.0)
    status, sentence = said(feed.copy(1000))
    assert status == "signals stopped"
    assert sentence.startswith("No signal has come for 3.3 minutes; about ")
    assert 'Since Wed 15 Nov, 00:14 silence counts as "none".' in sentence
    early = said(feed.copy(850))
    assert early[0] == "signals stopped"
    assert 'From Wed 15 Nov, 00:14 on silence will count as "none".' in early[1]


def test_signals_that_an_action_never_has_are_not_missed() -> None:
    feed = Feed(signal_window=60.0, reward_window=5000.0)
    for index in range(1000):
        action = index % 2 if index < 700 else 0
        feed.decide(float(index), action, action, signal_after=5.0)
    assert said(feed.copy(1000))[0] != "signals stopped"


def test_traffic_stopped_and_quiet() -> None:
    feed = daily(5)
    night = said(feed.copy(4 * DAY + 23 * HOUR))
    assert night[0] == "quiet"
    assert (
        night[1]
        == "Nobody has asked for a decision for 3.2 hours, as at these hours of other days."
    )
    noon = said(feed.copy(5 * DAY + 14 * HOUR))
    assert noon[0] == "traffic stopped"
    assert "Nobody has asked for a decision for 18 hours; at these hours of other days" in noon[1]
    first = said(daily(1).copy(23 * HOUR))
    assert first[0] == "quiet"
    assert "too early to say whether that is usual" in first[1]


def test_a_paused_campaign_misses_no_traffic() -> None:
    copy = with_status(daily(5).copy(5 * DAY + 14 * HOUR), "paused")
    assert said(copy)[0] == "paused"


def test_misleading_signal() -> None:
    copy = traffic(1200, bait=0.1).copy(1300)
    status, sentence = said(copy)
    assert status == "misleading signal"
    assert sentence.startswith("'b' has 'download' most often and the fewest readings: ")
    assert "The policy corrects the values of actions by their own rewards." in sentence


def test_what_is_not_true_of_a_misleading_action_is_not_said() -> None:
    """An action that is followed by more rewards than others has not the fewest."""
    feed = traffic(1200, bait=0.3, theta=np.array([0.02, 0.3, 0.3]))
    shown = feed.copy(1300)
    best = traffic(1200, bait=3.0, theta=np.array([0.02, 0.1, 0.3])).copy(1300)
    assert said(shown)[1].startswith("'b' has")
    assert said(best)[0] == "misleading signal"
    assert said(best)[1].startswith("'download' of 'b' is followed by more readings")


def test_a_holdout_that_earns_more_is_an_alert() -> None:
    rng, feed = np.random.default_rng(0), Feed()
    for index in range(2000):
        held = index % 2
        earns = rng.random() < (0.6 if held else 0.2)
        mode = HOLDOUT if held else 0
        feed.decide(float(index), 0 if held else 1, 1 + held, float(earns), mode=mode)
    status, sentence = said(feed.copy(2200))
    assert status == "holdout ahead"
    assert sentence.startswith("The holdout earns more than the policy, and that is no chance. ")
    assert "less than the holdout (between \u2212" in sentence


def test_doubtful_signal() -> None:
    copy = traffic(1000).copy(1100)
    copy.ledger.test.peak[0] = np.log(10.0)
    status, sentence = said(copy)
    assert status == "doubtful signal"
    assert "It may be chance; the policy goes on and watches." in sentence


@pytest.mark.parametrize("within", [1.0, 10.0])
def test_a_meaning_that_moves_is_said(within: float) -> None:
    copy = traffic(1000).copy(1100)
    copy.ledger.test.peak[:] = np.log([within, 50.0])
    copy.ledger.doubtful_at = START if within >= 5.0 else -1
    copy.ledger.moves_at = START + 900 * SECOND
    found = validity_report(copy)
    assert found.verdict == "doubtful"
    assert found.sentence.startswith("What a signal means moves over time")
    assert ("Within periods" in found.sentence) == (within >= 5.0)
    assert all(row.value is None for row in report_of(copy).actions)


@pytest.mark.parametrize("status", ["paused", "stopped"])
def test_paused_and_stopped_say_when_and_by_whom(status: str) -> None:
    copy = with_status(slow(days=2).copy(2 * DAY), status)
    copy.status_change = StatusChange(START + round(45 * HOUR) * SECOND, Author("1", "ops"))
    found = said(copy)
    assert found[0] == status
    assert found[1] == (
        f"{status.capitalize()} 3 hours ago by key ops. Nothing is decided; feedback still counts, "
        f"and 48 decisions wait for theirs."
    )
    copy.status_change = StatusChange(START - 86_400_000_000, None)
    assert said(copy)[1].startswith(f"{status.capitalize()} on Tue 14 Nov, 00:00 by the server.")


def test_draft() -> None:
    assert said(with_status(Feed().copy(1), "draft"))[0] == "draft"


def test_rebuilding_says_how_far() -> None:
    copy = traffic(300).copy(400)
    copy.refit_share = 0.42
    assert said(copy) == (
        "rebuilding",
        "The policy is being rebuilt from the log, 42 % done. The old one decides until then.",
    )


def test_learning() -> None:
    assert said(learning_copy()) == (
        "learning",
        (
            "Day 3 of the first 7 days: no readings count yet, so it is too early to say which "
            "action wins. Until Wed 22 Nov the policy goes by the order of your signals."
        ),
    )
    unordered = slow(days=1)
    unordered.config = msgspec.structs.replace(unordered.config, signals_ordered=False)
    assert "nothing tells the policy which" in said(unordered.copy(DAY))[1]
    blind = slow(days=1)
    blind.config = msgspec.structs.replace(blind.config, policy="ucb")
    assert "nothing tells the policy which" in said(blind.copy(DAY))[1]


def test_healthy() -> None:
    status, sentence = said(traffic(1000, holdout=False).copy(1100))
    assert status == "healthy"
    assert sentence == (
        "b is the best choice (> 99 %). What the policy earns over a holdout is unknown: this "
        "campaign has no holdout."
    )
    changed = said(traffic(2400, swap=1200, holdout=False).copy(2500))
    assert changed[0] == "healthy"
    assert changed[1].startswith("Since the change of Wed 15 Nov, c is the best choice (")


@pytest.mark.parametrize(("best", "words"), [(0.96, "b is"), (0.9, "b is probably")])
def test_how_sure_it_is_is_said(best: float, words: str) -> None:
    copy = traffic(600, holdout=False).copy(700)
    belief = current_belief(copy)
    assert belief is not None
    drawn = values_now(belief, copy.choosable, np.random.default_rng(0))
    found = campaign_report(copy, drawn._replace(best=np.array([1.0 - best, best, 0.0])))
    assert found.status == "healthy"
    assert plain(found.sentence).startswith(f"{words} the best choice ({100 * best:.0f} %).")


def test_what_the_policy_earns() -> None:
    rng, feed = np.random.default_rng(0), Feed()
    for index in range(3000):
        held = index % 2
        mode = HOLDOUT if held else 0
        earns = rng.random() < (0.2 if held else 0.6)
        feed.decide(float(index), 0 if held else 1, 1 + (not held), float(earns), mode=mode)
    status, sentence = said(feed.copy(3200))
    assert status == "healthy"
    assert "more than the holdout (between " in sentence


def test_a_holdout_of_which_nothing_is_settled_is_not_said_to_be_missing() -> None:
    feed = traffic(1000, holdout=False)
    feed.decide(1050.0, 0, mode=HOLDOUT)
    sentence = said(feed.copy(1100))[1]
    assert "no readings of the holdout are settled, first on Wed 15 Nov" in sentence
    asked_for = traffic(1000, holdout=False)
    asked_for.config = msgspec.structs.replace(asked_for.config, holdout=0.1)
    assert "none of its decisions is made yet" in said(asked_for.copy(1100))[1]


def test_undecided() -> None:
    status, sentence = said(traffic(1000).copy(1100))
    assert status == "undecided"
    assert "which may still be chance." in sentence
    rng, same = np.random.default_rng(1), Feed()
    for index in range(600):
        same.decide(float(index), index % 3, 1 + index % 2, float(rng.random() < 0.5))
    status, sentence = said(same.copy(700))
    assert status == "undecided"
    assert sentence.startswith("No action stands out yet: ")
    assert " are close. " in sentence


def test_an_action_that_is_alone_is_not_praised_as_the_best() -> None:
    copy = traffic(300, holdout=False).copy(400)
    copy.choosable[:] = [False, False, True]
    status, sentence = said(copy)
    assert status == "healthy"
    assert sentence.startswith("c is the only action that can be chosen. ")


def test_every_status_is_tested_here() -> None:
    text = Path(__file__).read_text()
    assert [one for one in get_args(ReportStatus) if f'"{one}"' not in text] == []


def test_valid_is_said_as_how_often() -> None:
    sentence = plain(validity_report(traffic(1500).copy(1600)).sentence)
    assert sentence.startswith(
        "Whichever action was shown, 'download' was followed by readings about 68 % of the time. "
        "A difference of "
    )
    assert " points would usually have been seen by now." in sentence


def test_valid_is_no_reason_for_trust_where_no_difference_would_have_been_seen() -> None:
    found = validity_report(traffic(300).copy(400))
    assert (found.verdict, found.detectable) == ("valid", None)
    sentence = plain(found.sentence)
    assert "Whichever action was shown" not in sentence
    assert sentence.startswith(
        "No difference between actions was found, but even the largest might not have been seen "
        "yet: of 'c' only about 9 'download' could be compared with those of others. That is no "
        "reason to trust the signal: "
    )


def test_a_difference_that_would_matter_and_may_be_there_is_named() -> None:
    """At first 42 points less would not be seen, and would make another action the best."""
    ends = [plain(validity_report(traffic(n).copy(n + 100)).sentence) for n in (1500, 6000)]
    assert ends[0].endswith(
        " A smaller one may be there: 42 points less after 'download' of 'b' would make 'c' the "
        "better one."
    )
    assert ends[1].endswith(" would usually have been seen by now.")


def test_what_would_matter_is_said_of_the_actions_as_they_are_since_the_last_change() -> None:
    """Over all time two actions are alike, which have changed places: now one is far ahead."""
    feed = traffic(3000, swap=1500)
    copy = feed.copy(3100)
    assert copy.changed.any()
    sentence = plain(validity_report(copy).sentence)
    ahead = [one.action for one in report_of(copy).actions if (one.best or 0.0) > 0.95]
    assert len(ahead) == 1
    lead = re.search(r"([\d.]+) points less after 'download' of '(.)'", sentence)
    assert lead is None or (lead[2] == ahead[0] and float(lead[1]) > 20.0)


def test_too_early_says_when_it_will_not_be() -> None:
    feed = slow(days=3)
    sentence = validity_report(feed.copy(3 * DAY)).sentence
    assert sentence.endswith("They will be there on Tue 28 Nov, if decisions go on as they do.")
    more = slow(days=10)
    sentence = validity_report(more.copy(6.9 * DAY)).sentence
    assert sentence.endswith("They will be there on Tue 28 Nov.")
