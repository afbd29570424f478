"""The pending wheel gives every reward back in its round, in the order of rounds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foretell.sim.pending import (
    NO_ENTRY,
    Pending,
    add_pending,
    doubled,
    is_full,
    new_pending,
    take_due,
)
from tests.reference.pending_and_window import NaivePending


def taken(pending: Pending, t: int) -> list[tuple[int, int, int, float]]:
    rewards = []
    entry = take_due(pending, t)
    while entry != NO_ENTRY:
        rewards.append(
            (
                int(pending.round[entry]),
                int(pending.action[entry]),
                int(pending.signal[entry]),
                float(pending.reward[entry]),
            )
        )
        entry = take_due(pending, t)
    return rewards


def lived_through(delays: list[int | None], room: int) -> Pending:
    """Add one reward a round as a run does, comparing with the naive twin all the way."""
    pending, naive = new_pending(room), NaivePending()
    most = 0
    for t in range(len(delays) + 300):
        if is_full(pending):
            pending = doubled(pending)
        if t < len(delays):
            delay = delays[t]
            if delay is not None:
                add_pending(pending, t + delay, t, t % 7, t % 3, t / 8)
                naive.add(t + delay, t, t % 7, t % 3, t / 8)
        most = max(most, len(naive.waiting))
        assert taken(pending, t) == naive.take(t)
    assert not naive.waiting
    assert len(pending.due) <= 2 * max(room, most)
    return pending


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 5), st.integers(0, 280)), max_size=150),
    st.sampled_from([1, 2, 8]),
)
def test_it_gives_back_what_the_naive_twin_gives(delays: list[int | None], room: int) -> None:
    lived_through(delays, room)


def test_many_rewards_due_in_one_round_come_in_the_order_of_their_rounds() -> None:
    lived_through([200 - t for t in range(150)], room=1)


def test_whole_turns_of_the_wheel_are_told_apart() -> None:
    lived_through([8 * (t % 4) for t in range(150)], room=8)


def test_room_is_reused_and_stays_in_proportion_to_what_waits() -> None:
    pending = lived_through([40] * 1000, room=1)
    assert len(pending.due) == 64
    assert len(pending.first) == 64


def test_a_delay_of_zero_needs_a_single_place() -> None:
    assert len(lived_through([0] * 500, room=1).due) == 1


def test_a_full_wheel_says_so() -> None:
    pending = new_pending(2)
    assert not is_full(pending)
    add_pending(pending, 9, 0, 0, 0, 0.0)
    add_pending(pending, 9, 1, 0, 0, 0.0)
    assert is_full(pending)
    larger = doubled(pending)
    assert not is_full(larger)
    assert [one[0] for one in taken(larger, 9)] == [0, 1]
