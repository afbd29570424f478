"""The law of the machine: a campaign's state is a function of the log up to its position."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.policies.state import fingerprint
from foretell.service.model import decision_cache
from foretell.service.model.campaign import NOTHING, Campaign
from foretell.service.model.events import ADJUST, RETRACT, SLOTS, moment, stamp
from foretell.service.model.snapshot import pack, state_version, unpack
from tests.model.recorder import heard, recorders
from tests.service.model.script import Script, config_of

POLICIES = ["ucb", "nsd-kl", "nsd-ucrl2(window=3)", "nsd-adaptive", "nsd-kl-glr", "exp3s"]
SILENCES = st.sampled_from(["default", "unknown"])


@pytest.fixture(autouse=True)
def log_engine() -> None:
    """Need no log."""


def saved_and_loaded(campaign: Campaign) -> Campaign:
    """Return a campaign from its saved state."""
    loaded = unpack(state_version(campaign.config), pack(campaign))
    assert loaded is not None
    return loaded


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    """Draw a campaign to which everything happens."""
    script = Script(
        config_of(
            draw(st.sampled_from(POLICIES)),
            signals=["none", "click", "buy"],
            signal_silence=draw(SILENCES),
            reward_silence=draw(SILENCES),
        )
    )
    numbers, rewards = [script.decide()], ["nothing"]
    for _ in range(draw(st.integers(1, 25))):
        number = draw(st.sampled_from(numbers))
        what = draw(st.integers(0, 15))
        if what < 3:
            numbers.append(script.decide(draw(st.integers(0, 1))))
        elif what < 7:
            script.signal(number, draw(st.integers(0, 2)))
        elif what < 10:
            rewards.append(script.reward(number, draw(st.sampled_from([0.25, 1.0, 3.0]))))
        elif what < 12:
            verb = draw(st.sampled_from([ADJUST, RETRACT]))
            script.correct(number, verb, 0.5, draw(st.sampled_from(rewards)))
        elif what == 12:
            script.void(number)
        elif what == 13:
            script.refit(after=draw(st.sampled_from([0, 400_000])) if len(numbers) > 5 else 0)
        else:
            script.pass_time(draw(st.sampled_from([0.3, 0.5, 1.0])))
    script.pass_time(draw(st.sampled_from([0.0, 0.7, 3.0])))
    return script


@settings(max_examples=200)
@given(script=scripts(), data=st.data())
def test_however_it_is_read_the_state_is_the_same(script: Script, data: st.DataObject) -> None:
    """Windows close between records at any moment, and decisions are fetched in any portions."""
    first, last = script.records[0].seq, script.end
    stops = data.draw(st.lists(st.integers(first, last), max_size=6))
    whole = script.folded()
    other = script.folded(stops=stops, per_read=data.draw(st.integers(1, 3)))
    assert other.digest() == whole.digest()
    assert pack(other) == pack(whole)


@settings(max_examples=150)
@given(script=scripts())
def test_a_tiny_cache_gives_the_same_state(script: Script) -> None:
    whole = pack(script.folded())
    with pytest.MonkeyPatch.context() as tiny:
        tiny.setattr(decision_cache, "MAX_DECISIONS", 3)
        tiny.setattr(decision_cache, "DECISIONS_PER_READ", 1)
        assert pack(script.folded(per_read=1)) == whole


@settings(max_examples=150)
@given(script=scripts(), data=st.data())
def test_a_saved_state_goes_on_as_if_nothing_had_been(script: Script, data: st.DataObject) -> None:
    whole = script.folded()
    index = data.draw(st.integers(1, len(script.records)))
    at = script.records[index].seq if index < len(script.records) else script.end
    campaign = saved_and_loaded(script.folded(at))
    assert campaign.position == at
    for record in script.records[index:]:
        event: Any = record.event
        if getattr(event, "refit_from", None) is not None:
            campaign = script.refitted(record, event)
        else:
            script.fold(campaign, record)
    script.close_windows(campaign, script.end)
    assert pack(campaign) == pack(whole)


@settings(max_examples=100)
@given(script=scripts())
def test_the_position_says_what_is_in_the_state(script: Script) -> None:
    campaign = script.folded()
    assert campaign.position == script.end
    assert campaign.close_windows(script.end - SLOTS), "going back changes nothing"
    assert campaign.position == script.end
    assert campaign.needs() == NOTHING


def _at_a_close(offset: int) -> tuple[Script, Campaign, int]:
    """Return a campaign just before a record near the moment at which a window closes."""
    script = Script(config_of("ucb"))
    number = script.decide()
    campaign = script.folded()
    due = campaign.rules.due(0, moment(number))
    script.time = due + offset
    script.signal(number, 1)
    return script, campaign, due


@pytest.mark.parametrize("offset", [-1, 0, 1])
def test_a_window_closes_before_a_record_of_its_microsecond(offset: int) -> None:
    script, campaign, due = _at_a_close(offset)
    record = script.records[-1]
    script.close_windows(campaign, record.seq)
    assert campaign.cursors[0] == (offset >= 0)
    script.fold(campaign, record)
    script.close_windows(campaign, stamp(due + 2))
    late = campaign.counters.counts[3]
    assert late == (offset >= 0)
    assert campaign.counters.seen.tolist() == [[0, 1, 0], [0, 0, 0]], "late or not, it counts"


def test_a_window_is_not_closed_by_a_position_below_it() -> None:
    script, campaign, due = _at_a_close(5)
    script.close_windows(campaign, stamp(due) - 1)
    assert campaign.cursors == [0, 0]
    script.close_windows(campaign, stamp(due))
    assert campaign.cursors == [1, 0]


@pytest.mark.parametrize("windows", [(1.0, 2.0), (0.6, 0.6), (0.3, 0.3)])
@pytest.mark.parametrize("seed", range(2))
def test_many_records_that_only_count_are_as_one_by_one(
    windows: tuple[float, float], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between them windows close, decisions are at hand, and some is late, corrected or void."""
    monkeypatch.setattr(decision_cache, "MAX_DECISIONS", 129)
    rng = random.Random(seed)  # noqa: S311
    script = Script(config_of("ucb", signal_window=windows[0], reward_window=windows[1]))
    for turn in range(2):
        numbers = [script.decide(rng.randrange(2)) for _ in range(280)]
        for _ in range(300):
            number = rng.choice(numbers[:150] if rng.random() < 0.98 else numbers)
            what = rng.random()
            if what < 0.02 * turn:
                script.correct(number, ADJUST, 0.5, "r")
            elif what < 0.01:
                script.void(number)
            elif what < 0.5:
                script.reward(number, rng.choice([0.5, 1.0, 3.0]))
            else:
                script.signal(number, rng.randrange(2))
            script.pass_time(rng.choice([0.0, 0.002, 0.006]))
    one_by_one, in_runs = script.folded(script.records[1].seq), script.folded(script.records[1].seq)
    left, together = script.records[1:], 0
    while left:
        run, left = left[: (size := rng.choice([1, 3, 32]))], left[size:]
        taken = in_runs.apply_early(run)
        together += taken * len(run)
        for record in run:
            script.fold(one_by_one, record)
            if not taken:
                script.fold(in_runs, record)
        assert in_runs.position == one_by_one.position
        assert not taken or in_runs.digest() == one_by_one.digest()
    assert in_runs.digest() == one_by_one.digest()
    assert together > 32, "or nothing is tried here"
    assert one_by_one.counters.counts[3] > 0 or windows[1] > 1, "some is late"


def test_it_asks_for_what_it_does_not_know_and_nothing_else() -> None:
    script = Script(config_of("ucb"))
    number = script.decide()
    other = script.decide()
    script.signal(number, 1)
    campaign = saved_and_loaded(script.folded(script.records[3].seq))
    needs = campaign.needs(script.records[3])
    assert (needs.numbers, set(needs.after)) == ((number,), {0})
    campaign.learn(script.fetch(needs))
    assert campaign.needs(script.records[3]) == NOTHING
    assert campaign.knows(other)


def test_what_is_fetched_may_know_more_than_the_position() -> None:
    """Whoever fetches may read records that are not applied yet: they count when they are."""
    script = Script(config_of("ucb"))
    number = script.decide()
    script.signal(number, 1)
    script.reward(number, 1.0)
    script.pass_time(5.0)
    campaign = saved_and_loaded(script.folded(script.records[2].seq))
    for record in script.records[2:]:
        campaign.learn(script.decisions())
        script.fold(campaign, record)
    script.close_windows(campaign, script.end)
    assert campaign.digest() == script.folded().digest()


def test_feedback_without_its_decision_is_parked() -> None:
    script = Script(config_of("ucb"))
    script.signal(stamp(1), 1)
    assert script.folded().counters.counts[4] == 1


# --- decisions that were never shown -----------------------------------------------------------

WHEN = ["before the signal", "after the signal", "after the signal window", "after both windows"]


def _voided(policy: str, when: str, silence: str, *, void: bool = True) -> Script:
    """Return two decisions with feedback, of which the first is voided."""
    fields = {"signals": ["none", "click", "buy"]}
    script = Script(config_of(policy, signal_silence=silence, reward_silence=silence, **fields))
    one, other = script.decide(0), script.decide(1)
    for stage in WHEN:
        if stage == when and void:
            script.void(one)
        if stage == WHEN[0]:
            script.signal(one, 1)
            script.signal(other, 2)
            script.reward(one, 1.0)
            script.reward(other, 0.5)
        elif stage != WHEN[-1]:
            script.pass_time(1.01)
    script.pass_time(1.01)
    return script


@pytest.mark.parametrize("policy", ["nsd-ucrl2", "nsd-kl", "nsd-kl-glr", "nsd-kl-glr(robust=True)"])
def test_the_play_of_a_voided_decision_is_not_waited_for(policy: str) -> None:
    script = Script(config_of(policy, signal_silence="unknown", reward_silence="unknown"))
    for action in (0, 1):
        script.signal(script.decide(action), 1)
    unseen = [script.decide(0) for _ in range(10)]
    script.pass_time(0.5)
    assert _waiting(script.folded().state) == [10, 0]
    for number in unseen:
        script.void(number)
    assert _waiting(script.folded().state) == [0, 0]
    script.refit()
    assert _waiting(script.folded().state) == [0, 0]


def _waiting(state: Any) -> list[int]:
    """Return how many plays of each action count without a signal."""
    base = getattr(state, "base", state)
    waiting = base.pending if hasattr(base, "pending") else base.law.plays - base.law.seen
    found: list[int] = waiting.tolist()
    return found


@pytest.mark.parametrize("policy", ["ucb", "nsd-kl", "nsd-psrl", "ts"])
@pytest.mark.parametrize("silence", ["default", "unknown"])
def test_a_policy_that_can_undo_knows_nothing_of_a_voided_decision(
    policy: str, silence: str
) -> None:
    """Whenever it is voided, and after a refit too."""
    script = Script(config_of(policy, signal_silence=silence, reward_silence=silence))
    script.decide(0)
    other = script.decide(1)
    script.signal(other, 2 if silence == "default" else 1)
    script.reward(other, 0.5)
    script.pass_time(4.0)
    states = set()
    for when in WHEN:
        voided = _voided(policy, when, silence)
        states.add(fingerprint(voided.folded().state))
        assert voided.folded().counters.counts[7] == 1
        voided.refit()
        states.add(fingerprint(voided.folded().state))
    assert len(states) == 1
    shown = _voided(policy, WHEN[0], silence, void=False)
    assert fingerprint(shown.folded().state) not in states


@pytest.mark.parametrize("silence", ["default", "unknown"])
@pytest.mark.parametrize("when", WHEN)
def test_what_a_stream_policy_has_read_stays_until_the_refit(silence: str, when: str) -> None:
    with recorders():
        script = _voided("recorder", when, silence)
        campaign = script.folded()
        told = [call[:2] for call in heard(campaign.state) if call[1] == 0]
        in_time = when == WHEN[0] or (silence == "default" and when == WHEN[1])
        paid = when == WHEN[3] or silence == "unknown"
        expected = [("play", 0), ("observe", 0), ("credit", 0)]
        assert told == (expected[:1] if in_time else expected if paid else expected[:2])
        revisions = campaign.counters.counts[6]
        assert revisions == (not in_time)
        script.refit()
        script.pass_time(9.0)
        refitted = script.folded()
        assert [call[:2] for call in heard(refitted.state)] == [
            ("play", 0), ("play", 1), ("observe", 1), ("credit", 1),
        ]  # fmt: skip
        assert refitted.counters.counts[6] == 0


def test_a_decision_voided_before_a_refit_is_not_read_after_it() -> None:
    """Its signal had come, and waited for its turn behind an earlier decision."""
    with recorders():
        script = Script(config_of("recorder", signal_silence="unknown", reward_silence="unknown"))
        script.decide()
        one = script.decide()
        script.signal(one, 1)
        script.void(one)
        script.refit()
        script.pass_time(9.0)
        assert {verb for verb, *_ in heard(script.folded().state)} == {"play"}


def test_a_reward_taken_back_before_a_refit_does_not_hide_the_next_one() -> None:
    with recorders():
        script = Script(config_of("recorder", signal_silence="unknown", reward_silence="unknown"))
        one = script.decide()
        script.signal(one, 1)
        script.correct(one, RETRACT, 0.0, script.reward(one, 0.5))
        script.refit()
        script.reward(one, 0.25)
        assert heard(script.folded().state)[1:] == [
            ("observe", 0, 0, 1, 0.0),
            ("credit", 0, 0, 1, 0.25),
        ]


def test_the_outcome_is_free_of_the_order_of_a_void() -> None:
    for policy in POLICIES:
        for silence in ("default", "unknown"):
            found = []
            for when in WHEN:
                campaign = _voided(policy, when, silence).folded()
                counters = campaign.counters
                found.append((counters.seen.tolist(), counters.paid.tolist(), counters.counts[7]))
            assert all(one == found[0] for one in found)


def test_a_record_is_applied_once_and_in_order() -> None:
    script = Script(config_of("ucb"))
    script.decide()
    positions = []
    campaign = Campaign(script.config)
    for record in script.records:
        script.fold(campaign, record)
        positions.append(campaign.position)
    assert positions == [record.seq + 1 for record in script.records]


@pytest.mark.parametrize("policy", ["exp3s", "metabio"])
def test_a_policy_that_weights_by_propensities_gets_the_logged_ones(policy: str) -> None:
    """Its own probability is 1/2 or more; exploration and holdouts had a hand in the logged one."""
    script = Script(config_of(policy))
    numbers = [script.decide(t % 2, propensity=0.125) for t in range(4)]
    folded = script.folded()
    refit = Campaign.refit(script.config, script.decisions(), script.end)
    for campaign in (folded, refit):
        kept = campaign.state.played if policy == "exp3s" else campaign.state.probability
        assert kept[: len(numbers)].tolist() == [0.125] * len(numbers)
