"""The outcome kept up to date is the outcome of all records at once."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.errors import InvalidInput
from foretell.service.model import decision_cache
from foretell.service.model.arrivals import Arrival
from foretell.service.model.decision_cache import (
    DECISIONS_PER_READ,
    DecisionCache,
    RecentNumbers,
)
from foretell.service.model.delivered import delivered_once
from foretell.service.model.events import (
    ADJUST,
    OBSERVED,
    RETRACT,
    VOID,
    Decided,
    DecisionRecords,
    Feedback,
    Record,
    moment,
    stamp,
)
from foretell.service.model.outcome import (
    Rules,
    StageRule,
    Window,
    correction_order,
    lacks_target,
    outcome_of,
    reward_ids,
    rewards,
    signals,
    total_reward,
)
from foretell.service.model.reward_total import NO_REWARDS, RewardTotal
from foretell.service.model.running import NO_SIGNALS, LastRefit, Running

START = 1_700_000_000_000_000
NUMBER = stamp(START)
GAPS = st.sampled_from([1, 2, 400_000, 499_999, 500_000, 1_000_000])
VALUES = st.sampled_from([0.1, 0.2, 0.7, -3.0, 1e300, -1e300, 1e-300, 5e-324, 0.0]) | st.floats(
    -1e300, 1e300
)
CLOSED = list(product((False, True), repeat=2))


@pytest.fixture(autouse=True)
def log_engine() -> None:
    """Need no log."""


class Case(NamedTuple):
    """A decision with its feedback, the rules, and a refit somewhere in between."""

    rules: Rules
    records: DecisionRecords
    refit: LastRefit


@st.composite
def windows(draw: st.DrawFn) -> Window:
    length = draw(st.sampled_from([500_000, 1_000_000, 2_000_000]))
    shorter = st.sampled_from([100_000, 500_000, 1_500_000])
    upto = st.sampled_from([START - 1, START, START + 1])
    return Window(length, tuple(draw(st.lists(st.tuples(upto, shorter), max_size=2))))


@st.composite
def events(draw: st.DrawFn, number: int) -> Feedback:
    kind = draw(st.sampled_from(["signal", "signal", "reward", "reward", "reward", "fix", "void"]))
    occurred = draw(st.none() | st.integers(START, START + 3))
    event_id = f"e{number}"
    if kind == "signal":
        return Feedback(1, event_id, 0, OBSERVED, float(draw(st.integers(0, 2))), None, occurred)
    if kind == "void":
        if draw(st.booleans()):
            return Feedback(1, event_id, 0, VOID, 0.0, None, occurred)
        kind = "fix"
    if kind == "reward":
        return Feedback(1, event_id, 1, OBSERVED, draw(VALUES), None, occurred)
    verb = draw(st.sampled_from([ADJUST, RETRACT]))
    value = draw(VALUES) if verb == ADJUST else 0.0
    target = f"e{draw(st.integers(0, 12))}"
    return Feedback(1, event_id, 1, verb, value, target, occurred)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    stages = tuple(
        StageRule(draw(windows()), draw(st.booleans()), default) for default in (0.0, 0.25)
    )
    at, feedback = START, []
    for number in range(draw(st.integers(0, 12))):
        at += draw(GAPS)
        feedback.append(Record(stamp(at), 1, NUMBER, draw(events(number))))
    records = DecisionRecords(NUMBER, 5, Decided(1, 0, 0.5, 0, 2, 1, 0), feedback)
    position = stamp(draw(st.integers(START - 1, at + 2)))
    refit = draw(st.sampled_from([LastRefit(0, 0), LastRefit(position, 5), LastRefit(position, 6)]))
    return Case(Rules(stages), records, refit)


def facts(running: Running, refit: LastRefit) -> list[Any]:
    """Return all that can be asked of a running outcome."""
    delivered = [
        delivered_once(running, refit, undoes, read=read, closed=closed)
        for undoes, read, closed in product((False, True), repeat=3)
    ]
    return [
        [running.outcome(closed) for closed in CLOSED],
        delivered,
        running.outcome_at_refit(refit),
        running.void,
        running.reward.total,
        running.reward.unmatched,
    ]


@settings(max_examples=400)
@given(case=cases())
def test_it_is_what_all_records_say_at_once(case: Case) -> None:
    rules, records, refit = case
    running = Running.of(rules, records._replace(feedback=[]), refit)
    for count in range(len(records.feedback) + 1):
        if count:
            running.add(records.feedback[count - 1], refit)
        known = records._replace(feedback=records.feedback[:count])
        for closed in CLOSED:
            assert running.outcome(closed) == outcome_of(rules, known, closed)
        rewarded = rewards(known.feedback, 1)
        assert running.reward.total == total_reward(rewarded)
        known_ids = reward_ids(rewarded)
        assert running.reward.unmatched == sum(
            lacks_target(one.event, known_ids)
            for one in rewarded
            if isinstance(one.event, Feedback)
        )
        if records.rank < refit.rounds:
            before, now = known.before(refit.position), moment(refit.position)
            closed = rules.closed_by(records.decided_at, now)
            assert running.outcome_at_refit(refit) == outcome_of(rules, before, closed)


@settings(max_examples=300)
@given(case=cases(), evicted=st.integers(0, 12))
def test_made_again_from_the_records_it_is_the_same(case: Case, evicted: int) -> None:
    rules, records, refit = case
    kept = Running.of(rules, records, refit)
    again = Running.of(rules, records._replace(feedback=records.feedback[:evicted]), refit)
    for record in records.feedback[evicted:]:
        again.add(record, refit)
    assert facts(again, refit) == facts(kept, refit)


@settings(max_examples=300)
@given(case=cases(), data=st.data())
def test_rewards_and_corrections_come_to_the_same_in_any_order(
    case: Case, data: st.DataObject
) -> None:
    """Each record keeps its time; a correction without `occurred` goes by it."""
    rewarded = rewards(case.records.feedback, 1)
    totals = []
    for order in (rewarded, data.draw(st.permutations(rewarded))):
        reward = RewardTotal()
        for record in order:
            reward.add(record)
        totals.append((reward.total, reward.unmatched))
    assert totals[0] == totals[1]


@settings(max_examples=300)
@given(case=cases())
def test_the_total_with_a_record_is_the_one_that_it_then_has(case: Case) -> None:
    reward = RewardTotal()
    for record in rewards(case.records.feedback, 1):
        foreseen = reward.total_with(record)
        reward.add(record)
        assert foreseen == reward.total


def test_what_is_left_of_a_sum_is_not_a_rounding_error_outside_its_range() -> None:
    reward = RewardTotal()
    for number, value in enumerate((0.5, 0.5, 1.051)):
        reward.add(Record(number + 1, 1, NUMBER, Feedback(1, f"r{number}", 1, OBSERVED, value)))
    retraction = Feedback(1, "c", 1, RETRACT, 0.0, "r2")
    assert reward.total_with(Record(9, 1, NUMBER, retraction)) == 1.0


@given(values=st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=40))
def test_the_sum_is_exact_and_rounded_once(values: list[float]) -> None:
    rule = StageRule(Window(1), False, 0.0)
    running = Running(Rules((rule, rule)), NUMBER, 0, Decided(1, 0, 0.5, 0, 2, 0, 0))
    for number, value in enumerate(values):
        event = Feedback(1, f"r{number}", 1, OBSERVED, value)
        running.add(Record(NUMBER + number + 1, 1, NUMBER, event), LastRefit(0, 0))
    assert running.reward.total == float(sum(map(Fraction, values)))


@given(case=cases())
def test_what_a_policy_that_cannot_undo_was_told_stays(case: Case) -> None:
    """After its turn, no record changes the signal; nor the reward, once there is one."""
    rules, records, refit = case
    running = Running.of(rules, records._replace(feedback=[]), refit)
    told: tuple[float | None, ...] = (None, None)
    for record in records.feedback:
        running.add(record, refit)
        if record.seq < refit.position:
            continue
        now = record.recorded_at
        closed = rules.closed_by(records.decided_at, now)
        read = closed[0] or (not rules.stages[0].waits and running.signals[0].first is not None)
        after = delivered_once(
            running, refit, False, read=read or records.rank < refit.rounds, closed=closed[-1]
        )
        for before, one in zip(told, after, strict=True):
            assert before is None or before == one
        told = after


@given(case=cases())
def test_the_helpers_agree_on_what_is_a_signal(case: Case) -> None:
    seen = signals(case.records.feedback, 0)
    assert [at for at, _ in seen] == sorted(at for at, _ in seen)
    corrections = [
        correction_order(one)
        for one in rewards(case.records.feedback, 1)
        if isinstance(one.event, Feedback) and one.event.target is not None
    ]
    assert len(set(corrections)) == len(corrections), "no two are equal: ids are unique"


@pytest.mark.parametrize(("shared", "name"), [(NO_SIGNALS, "first"), (NO_REWARDS, "unmatched")])
def test_what_all_decisions_share_cannot_be_changed(shared: Any, name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(shared, name, 1)
    with pytest.raises(AttributeError):
        shared.another = 1
    assert NO_SIGNALS.add(2, Arrival(0, late=False)).counted == 2
    assert NO_SIGNALS.counted is None


def test_a_cache_holds_what_is_read_for_all_stages_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(decision_cache, "MAX_DECISIONS", 2 * DECISIONS_PER_READ)
    DecisionCache(1, lambda _: None)
    with pytest.raises(InvalidInput, match="more than 128 decisions at hand, got 128"):
        DecisionCache(2, lambda _: None)


UNKNOWN = StageRule(Window(1), False, 0.0)
FACTS = [
    Feedback(1, "r1", 1, OBSERVED, 0.25),
    Feedback(1, "r2", 1, OBSERVED, 0.125),
    Feedback(1, "a1", 1, ADJUST, 0.5, "r1", 20),
    Feedback(1, "x1", 1, RETRACT, 0.0, "r1", 10),
    Feedback(1, "a0", 1, ADJUST, 0.75, "r1", 20),
    Feedback(1, "x2", 1, RETRACT, 0.0, "r2", 10),
]


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (Feedback(1, "s", 0, OBSERVED, 1.0), (1, 0.5)),
        (Feedback(1, "v", 0, VOID, 0.0), (None, None)),
    ],
)
def test_facts_come_to_the_same_in_every_order(last: Feedback, expected: Any) -> None:
    """In all 5,040 of them."""
    rules, decided = Rules((UNKNOWN, UNKNOWN)), Decided(1, 0, 1.0, 0, 2, 0, 0)
    for order in permutations([*FACTS, last]):
        records = [Record(stamp(START + at), 1, NUMBER, one) for at, one in enumerate(order, 1)]
        whole = DecisionRecords(NUMBER, 0, decided, records)
        running = Running.of(rules, whole, LastRefit(0, 0))
        assert running.outcome((False, False)) == expected
        assert outcome_of(rules, whole, (False, False)) == expected
        assert running.reward.unmatched == 0


def test_recent_numbers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_cache, "MOST_RECENT", 10)
    recent = RecentNumbers()
    for number in range(100):
        recent.add((number,))
        known = sorted(set(range(100)) - recent.lacking(set(range(100))))
        assert known == list(range(number + 1 - len(known), number + 1)), "the newest ones"
        assert min(number + 1, 10) <= len(known) <= 20
