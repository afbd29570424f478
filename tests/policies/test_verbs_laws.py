"""Laws of the verbs, for every registered policy: order, labels, windows, delays, identity laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foretell as ft
from foretell.policies.registry import start
from foretell.policies.state import fingerprint, grow, leaves
from foretell.policies.verbs import choose, credit, has, indices, observe, play, uncredit
from tests.reference.replay import indices_of

POLICIES = list(ft.registered_policies())
ORDER_FREE = [name for name, known in ft.registered_policies().items() if not known.stream]
WINDOWED = [
    name
    for name, known in ft.registered_policies().items()
    if "window" in known.spec.__dataclass_fields__
]
ACTIONS, SIGNALS = 3, 3

Feedback = tuple[str, int]
rounds = st.lists(
    st.tuples(
        st.integers(0, ACTIONS - 1),
        st.integers(0, SIGNALS - 1),
        st.integers(0, 2**30).map(lambda grains: grains / 2**30),
    ),
    min_size=1,
    max_size=40,
)


def with_window(name: str, window: int | None) -> ft.Spec:
    return ft.policy(f"{name}(window={window})" if name in WINDOWED else name)


def problem_of(name: str, horizon: int | None = 50) -> ft.Problem:
    changes = (5, 6, 20) if ft.registered_policies()[name].lab_only else ()
    return ft.Problem(ACTIONS, SIGNALS, horizon=horizon, changes=changes)


def state_after(spec: ft.Spec, history: list[tuple[int, int, float]], arrivals: list[int]) -> Any:
    """Play the history; feedback i of round i // 2 comes right after the play of arrivals[i]."""
    state = start(spec, problem_of(spec.name))
    due: dict[int, list[int]] = {}
    for feedback, when in enumerate(arrivals):
        due.setdefault(max(when, feedback // 2), []).append(feedback)
    last = max(due, default=0)
    for t in range(max(len(history), last + 1)):
        if t < len(history):
            play(state, t, history[t][0])
        for feedback in due.get(t, []):
            u, is_reward = divmod(feedback, 2)
            action, signal, reward = history[u]
            if is_reward:
                credit(state, u, action, signal, reward)
            else:
                observe(state, u, action, signal)
    return state


@pytest.mark.parametrize("window", [None, 1, 7, 100])
@pytest.mark.parametrize("name", ORDER_FREE)
@settings(max_examples=25)
@given(history=rounds, data=st.data())
def test_the_order_of_arrival_does_not_matter(
    name: str, window: int | None, history: list[tuple[int, int, float]], data: st.DataObject
) -> None:
    if window is not None and name not in WINDOWED:
        return
    spec = with_window(name, window)
    arrivals = data.draw(
        st.lists(st.integers(0, 60), min_size=2 * len(history), max_size=2 * len(history))
    )
    at_once = [feedback // 2 for feedback in range(2 * len(history))]
    one, other = state_after(spec, history, at_once), state_after(spec, history, arrivals)
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=20)
@given(history=rounds, order=st.permutations(range(ACTIONS)))
def test_relabelled_actions_have_relabelled_indices(
    name: str, history: list[tuple[int, int, float]], order: list[int]
) -> None:
    spec = with_window(name, 15)
    arrivals = [feedback // 2 + 3 for feedback in range(2 * len(history))]
    one = state_after(spec, history, arrivals)
    other = state_after(spec, [(order[a], s, r) for a, s, r in history], arrivals)
    t = len(history)
    if has(indices, one):
        np.testing.assert_allclose(
            indices_of(one, t, ACTIONS), indices_of(other, t, ACTIONS)[order], atol=1e-12
        )


@pytest.mark.parametrize("name", ["ucb", "nsd-ucrl2", "nsd-psrl", "uniform"])
def test_relabelled_actions_are_played_as_often(name: str) -> None:
    """In law, because ties and samples are random: over many runs of the same world, twice."""
    law = [[0.8, 0.2], [0.3, 0.7], [0.5, 0.5]]
    order = [2, 0, 1]
    pulls = []
    for labels in (range(3), order):
        recipe = ft.Scenario(law=[law[a] for a in labels], theta=[0.9, 0.1], delay=2)
        batch = ft.simulate(
            recipe, with_window(name, 10), 12, runs=100, seed=3, threads=1, compiled=False
        )
        pulls.append(batch.actions.mean(axis=0))
    np.testing.assert_allclose(pulls[0][order], pulls[1], atol=1.0)


@pytest.mark.parametrize("name", WINDOWED)
def test_a_window_of_the_horizon_is_no_window(name: str) -> None:
    recipe = ft.scenario("paper", delay=ft.delays.UniformDelay(0, 40), changes=ft.shifts(at=[60]))
    specs = [with_window(name, window) for window in (None, 150, 4000)]
    batches = ft.simulate(recipe, specs, 150, runs=3, compiled=False, trajectories=True)
    plain = batches[specs[0]]
    for spec in specs[1:]:
        assert batches[spec].regret.tobytes() == plain.regret.tobytes()
        assert batches[spec].actions.tobytes() == plain.actions.tobytes()


def test_the_window_of_sw_ucb_over_rounds_may_be_the_horizon() -> None:
    recipe = ft.scenario("paper", delay=7, changes=ft.shifts(at=[60]))
    texts = ["sw-ucb(over='rounds')", "sw-ucb(window=150, over='rounds')", "ucb"]
    batches = ft.simulate(recipe, texts, 150, runs=3, compiled=False)
    assert len({batches[text].regret.tobytes() for text in texts}) == 1


@pytest.mark.parametrize("base", ["oracle-ucb", "oracle-nsd"])
def test_the_undelayed_twin_is_its_base_at_delay_zero(base: str) -> None:
    with_delay, without = f"{base}(scale=0.1)", f"{base}-nd(scale=0.1)"
    at_once = ft.scenario("paper", delay=0, changes=ft.shifts(at=[50, 51, 100]))
    late = ft.scenario("paper", delay=30, changes=ft.shifts(at=[50, 51, 100]))
    batches = ft.simulate(at_once, [with_delay, without], 150, runs=3, compiled=False)
    plain = batches[with_delay].regret.tobytes()
    assert batches[without].regret.tobytes() == plain
    assert ft.simulate(late, without, 150, runs=3, compiled=False).regret.tobytes() == plain
    assert ft.simulate(late, with_delay, 150, runs=3, compiled=False).regret.tobytes() != plain


@pytest.mark.parametrize("name", POLICIES)
def test_delay_zero_is_no_delay(name: str) -> None:
    """A constant delay of 0, a uniform one on {0} and a table of 0 pay every reward at once."""
    spec = with_window(name, 20)
    recipe = ft.scenario("paper", delay=0, changes=ft.shifts(at=[30]))
    batch = ft.simulate(recipe, spec, 60, runs=1, compiled=False, trajectories=True)
    assert batch.trajectories is not None
    assert not batch.trajectories.delays.any()
    state = start(
        spec, recipe.problem(60, (30,) if ft.registered_policies()[name].lab_only else ())
    )
    for t in range(60):
        action = int(batch.trajectories.actions[0, t])
        signal = int(batch.trajectories.signals[0, t])
        if has(indices, state):
            values = indices_of(state, t, 4)
            assert values[action] >= values.max() - 1e-12
        play(state, t, action)
        observe(state, t, action, signal)
        credit(state, t, action, signal, float(batch.trajectories.rewards[0, t]))


@pytest.mark.parametrize("name", ["oracle-ucb", "oracle-nsd", "oracle-ucb-nd", "oracle-nsd-nd"])
def test_without_changes_an_oracle_is_the_policy_it_restarts(name: str) -> None:
    base = {"u": "ucb", "n": "nsd-ucrl2"}[name[7]]
    delay = 0 if name.endswith("-nd") else 12
    recipe = ft.scenario("paper-stationary", delay=delay)
    batches = ft.simulate(recipe, [name, base], 120, runs=3, compiled=False)
    assert batches[name].regret.tobytes() == batches[base].regret.tobytes()


def test_an_oracle_drops_what_changed_and_oracle_nsd_keeps_theta() -> None:
    problem = ft.Problem(2, 2, horizon=20, changes=(4,))
    ucb, nsd = (start(ft.policy(name), problem) for name in ("oracle-ucb", "oracle-nsd"))
    for state in (ucb, nsd):
        for t in range(4):
            play(state, t, t % 2)
            observe(state, t, t % 2, 1)
            if t < 3:
                credit(state, t, t % 2, 1, 1.0)
    assert ucb.inner.rewards.counts.tolist() == [0, 0]
    assert nsd.inner.law.counts.tolist() == [[0, 0], [0, 0]]
    assert not nsd.inner.law.ever.any()
    assert nsd.inner.theta.counts.tolist() == [0, 3]
    for state in (ucb, nsd):
        credit(state, 3, 1, 1, 1.0)  # late, from the segment before
    assert ucb.inner.rewards.counts.tolist() == [0, 0]
    assert nsd.inner.theta.counts.tolist() == [0, 4]
    assert np.isinf(indices_of(ucb, 4, 2)).all()
    assert np.isinf(indices_of(nsd, 4, 2)).all()


@settings(max_examples=40)
@given(history=rounds)
def test_with_an_identity_law_and_no_radius_the_index_is_u_of_the_signal(
    history: list[tuple[int, int, float]],
) -> None:
    """Action a always shows signal a: at scale 0 its index is U = the mean reward of a."""
    identical = [(action, action, reward) for action, _, reward in history]
    state = start(ft.NsdUcrl2(scale=0.0), ft.Problem(ACTIONS, SIGNALS, horizon=50))
    for t, (action, signal, reward) in enumerate(identical):
        play(state, t, action)
        observe(state, t, action, signal)
        credit(state, t, action, signal, reward)
    values = indices_of(state, len(history), ACTIONS)
    for action in range(ACTIONS):
        rewards = [reward for played, _, reward in identical if played == action]
        expected = np.mean(rewards) if rewards else np.inf
        assert values[action] == pytest.approx(expected, abs=1e-12)


def test_with_no_radius_of_the_law_alone_the_index_is_u_of_the_signal() -> None:
    """U = min{1, mean + sqrt(2 ln(2 T S / delta) / N)}, Eq. (3)."""
    horizon, each = 5000, 1000
    state = start(ft.NsdUcrl2(delta=0.1), ft.Problem(ACTIONS, SIGNALS, horizon=horizon))
    state = state._replace(law_constant=1e-300)
    for t in range(ACTIONS * each):
        play(state, t, t % 3)
        observe(state, t, t % 3, t % 3)
        credit(state, t, t % 3, t % 3, (t % 3) / 4)
    radius = np.sqrt(2 * np.log(2 * horizon * SIGNALS / 0.1) / each)
    values = indices_of(state, ACTIONS * each, ACTIONS)
    np.testing.assert_allclose(values, np.array([0.0, 0.25, 0.5]) + radius, atol=1e-12)


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=15)
@given(history=rounds)
def test_uncredit_is_the_inverse_of_credit(
    name: str, history: list[tuple[int, int, float]]
) -> None:
    spec = with_window(name, 10)
    state = state_after(spec, history, [feedback // 2 for feedback in range(2 * len(history))])
    if not has(uncredit, state):
        return
    t = len(history)
    play(state, t, 1)
    observe(state, t, 1, 2)
    before = fingerprint(state)
    credit(state, t, 1, 2, 0.375)
    assert name == "uniform" or fingerprint(state) != before
    uncredit(state, t, 1, 2, 0.375)
    assert fingerprint(state) == before


@pytest.mark.parametrize("name", POLICIES)
def test_growth_keeps_what_is_known_and_explores_what_is_new(name: str) -> None:
    spec = with_window(name, 10)
    if ft.registered_policies()[name].lab_only:
        return
    state = start(spec, ft.Problem(ACTIONS, SIGNALS))
    rng = np.random.default_rng(0)
    for t in range(30):
        action, signal = int(rng.integers(ACTIONS)), int(rng.integers(SIGNALS))
        play(state, t, action)
        observe(state, t, action, signal)
        credit(state, t, action, signal, float(rng.integers(2)))
    grown = grow(spec, state, ACTIONS, ft.Problem(ACTIONS + 1, SIGNALS + 1))
    for (_, known), (_, now) in zip(leaves(state), leaves(grown), strict=True):
        if isinstance(known, np.ndarray):
            inside = tuple(slice(length) for length in known.shape)
            np.testing.assert_array_equal(now[inside], known)
    if has(indices, grown) and name != "uniform":
        values = indices_of(grown, 30, ACTIONS + 1)
        assert values[ACTIONS] >= values.max() - 1e-12
    only_new = np.arange(ACTIONS + 1) == ACTIONS
    assert choose(grown, 30, only_new, rng) == ACTIONS


def test_without_a_horizon_constants_grow_with_the_round() -> None:
    """T is replaced by t (t + 1), t counted from 1."""
    for t in (3, 40, 1000):
        anytime = start(ft.NsdUcrl2(window=50), ft.Problem(2, 3))
        fixed = start(ft.NsdUcrl2(window=50), ft.Problem(2, 3, horizon=(t + 1) * (t + 2)))
        for state in (anytime, fixed):
            for u in range(3):
                play(state, u, u % 2)
                observe(state, u, u % 2, u)
                credit(state, u, u % 2, u, 0.25)
        np.testing.assert_array_equal(indices_of(anytime, t, 2), indices_of(fixed, t, 2))


def test_a_play_without_its_signal_does_not_bias_the_law() -> None:
    """The law is estimated from the signals seen; its radius shrinks with the plays."""
    state = start(ft.NsdUcrl2(scale=0.0), ft.Problem(2, 2, horizon=100))
    for t in range(10):
        play(state, t, 0)
        if t < 4:
            observe(state, t, 0, t % 2)
            credit(state, t, 0, t % 2, float(t % 2))
    assert indices_of(state, 10, 2)[0] == pytest.approx(0.5)


def test_verbs_say_what_is_missing() -> None:
    with pytest.raises(TypeError, match="int has no verb 'choose'"):
        choose(5, 0, np.ones(2, np.bool_), np.random.default_rng(0))
    with pytest.raises(TypeError, match="has no verb 'indices'"):
        indices(start(ft.NsdPsrl(), ft.Problem(2, 2)), 0, np.zeros(2))
