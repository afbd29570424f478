"""Every registered policy obeys the laws, and each law refuses a policy that breaks it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import foretell as ft
from foretell.errors import PolicyDefect
from foretell.policies.conformance import LAWS
from foretell.policies.ucb import UcbState
from foretell.policies.verbs import credit, uncredit
from tests.policies.wrong_policies import (
    choose_mutates,
    choose_remembers,
    chooses_what_is_not_there_when_grown,
    gets_rewards_early,
    ignores_eligible,
    knows_the_changes,
    like_ucb,
    means_another_spec,
    prefers_high_numbers,
    samples_high_numbers,
    takes_the_first_of_ties,
    uncredits_too_little,
    unobserves_too_little,
    unobserves_what_left_the_window,
    weighs_the_last_arrival,
    window_of_rewards,
    window_of_signals,
    window_that_forgets_nothing,
)

HONEST = "no reward is used early"
READS = "choose reads only"
ELIGIBLE = "only eligible actions are chosen"
TIES = "ties are broken at random"
NAMES = "actions are only names"
ORDER = "the order of arrival does not matter"
WINDOW = "a window forgets what is older, and only that"
UNDO = "uncredit undoes credit"
UNSEE = "unobserve undoes observe"
UNPLAY = "unplay undoes play, whenever it comes"
GROWTH = "growth keeps what is known"
TEXT = "a spec is read back from its text"


@pytest.mark.parametrize("name", list(ft.registered_policies()))
def test_every_registered_policy_obeys(name: str) -> None:
    assert [one.law for one in ft.check_policy(name)] == list(LAWS)


@pytest.mark.parametrize(
    "text",
    [
        "ucb(scale=0.0)",
        "sw-ucb(window=5)",
        "sw-ucb(window=5, over='rounds')",
        "nsd-ucrl2(window=1)",
        "nsd-ucrl2(window=30, delta=1.0, scale=0.2)",
        "oracle-nsd(scale=0.2)",
    ],
)
def test_other_hyper_parameters_obey_too(text: str) -> None:
    assert [one.law for one in ft.check_policy(text)] == list(LAWS)


@pytest.mark.parametrize("over", ["rewards", "rounds"])
def test_indices_that_are_infinite_can_be_compared(over: str) -> None:
    assert [one.law for one in ft.check_policy(ft.SwUcb(window=1, over=over))] == list(LAWS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("uniform", {WINDOW: "it has no window"}),
        ("sw-ucb(window=5)", {}),
        ("nsd-psrl-cp", {ORDER: "it reads signals as a stream", WINDOW: "it has no window"}),
    ],
)
def test_a_law_about_what_a_policy_does_not_have_does_not_apply(
    text: str, expected: dict[str, str]
) -> None:
    checked = ft.check_policy(text)
    undone = {law: f"it has no {law.split()[0]}" for law in (UNDO, UNSEE, UNPLAY)}
    reasons = {one.law: one.reason for one in checked if not one.applies}
    assert {law: why for law, why in reasons.items() if law not in undone} == expected
    assert all(undone[law] == why for law, why in reasons.items() if law in undone)
    for one in checked:
        assert str(one) == (one.law if one.applies else f"{one.law}: does not apply, {one.reason}")


@pytest.mark.usefixtures("own_registry")
@pytest.mark.parametrize(
    ("make", "law"),
    [
        (means_another_spec, TEXT),
        (gets_rewards_early, HONEST),
        (knows_the_changes, HONEST),
        (choose_mutates, READS),
        (choose_remembers, READS),
        (ignores_eligible, ELIGIBLE),
        (takes_the_first_of_ties, TIES),
        (prefers_high_numbers, NAMES),
        (samples_high_numbers, NAMES),
        (weighs_the_last_arrival, ORDER),
        (window_of_rewards(1), WINDOW),
        (window_of_rewards(-1), WINDOW),
        (window_of_signals(1), WINDOW),
        (window_of_signals(-1), WINDOW),
        (window_that_forgets_nothing, WINDOW),
        (uncredits_too_little, UNDO),
        (unobserves_too_little, UNSEE),
        (unobserves_what_left_the_window, UNSEE),
        (chooses_what_is_not_there_when_grown, GROWTH),
    ],
)
def test_a_wrong_policy_is_refused_for_the_law_it_breaks(
    make: Callable[[], ft.Spec], law: str
) -> None:
    spec = make()
    with pytest.raises(PolicyDefect) as caught:
        ft.check_policy(spec)
    assert caught.value.law == law
    assert str(caught.value).startswith(f"{law}: {spec}")
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("own_registry")
def test_what_is_wrong_becomes_right_when_it_is_registered_as_what_it_is() -> None:
    class State(UcbState):
        pass

    @credit.register(State)
    def credits_last(state: State, t: int, action: int, signal: int, reward: float) -> None:
        state.rewards.counts[action] += 1
        state.rewards.grains[action] = state.rewards.grains[action] // 2 + int(reward * 2**30)

    @uncredit.register(State)
    def uncredits(state: State, t: int, action: int, signal: int, reward: float) -> None:
        raise AssertionError("a stream has no uncredit")

    uncredit.register(State)(uncredit.dispatch(object))
    assert ft.check_policy(like_ucb("an-oracle", UcbState, lab_only=True, undelayed=True)())
    assert ft.check_policy(like_ucb("a-stream", State, stream=True)())


@pytest.mark.usefixtures("own_registry")
def test_a_policy_of_gaussian_rewards_alone_can_be_checked() -> None:
    assert ft.check_policy(like_ucb("gaussian-only", UcbState, rewards=("gaussian",))())


def test_the_defect_is_an_assertion_with_its_law() -> None:
    defect = PolicyDefect("a law", "x breaks it")
    assert isinstance(defect, AssertionError)
    assert str(defect) == "a law: x breaks it"
