"""The instance constant: sixteen cases, its laws, and the same by trying alternatives."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from foretell.errors import InvalidInput
from foretell.policies.parts.bernoulli_kl import bernoulli_kl
from foretell.theory import instance_constant
from foretell.theory.cheapest_alternative import Task, cheapest_alternative
from foretell.theory.instance_constants import packing_optimum
from foretell.theory.kinf import kinf
from foretell.types import Floats
from tests.reference.alternatives import (
    information,
    parts,
    raised_theta,
    slow_cheapest,
    slow_constant,
    slow_kinf,
)


class Case(NamedTuple):
    """A problem and its constants to six digits."""

    law: str
    theta: str
    known_theta: float
    value: float
    separate: float
    rewards_only: float
    plays: tuple[float, ...] = ()

    def problem(self) -> tuple[Floats, Floats]:
        rows = [[float(one) for one in row.split()] for row in self.law.split("/")]
        return np.array(rows), np.array([float(one) for one in self.theta.split()])


TABLE_1 = ".8 .1 .1/.1 .8 .1/.1 .1 .8/.1 .4 .5"
TWINS = ".8 .1 .05 .05/.1 .8 .04 .06/.1 .1 .5 .3/.1 .4 .25 .25"
OFF = ".6 .4 0/.2 .3 .5/.1 .5 .4"
TWO_OFF = ".7 .3 0 0/.2 .3 .3 .2/.1 .2 0 .7"
CASES = {
    "paper": Case(
        TABLE_1, ".8 .4 .2", 0.927882, 0.927882, 0.927882, 4.101941, (1.009425, 0.789704, 0.871021)
    ),
    "signal is reward": Case(".7 .3/.5 .5/.2 .8", "1 0", 3.230326, 3.230326, 3.230326, 3.230326),
    "noisy": Case(".7 .3/.5 .5/.2 .8", ".9 .1", 2.584261, 2.584261, 2.584261, 4.162253),
    "one off": Case(
        ".6 .4 0/.2 .3 .5", ".9 .3 .5", 0.787663, 2.303562, 2.303562, 3.369459, (16.454017,)
    ),
    "one off, shared": Case(
        OFF, ".9 .3 .5", 1.331812, 2.693035, 3.625927, 5.547021, (14.982760, 2.706583)
    ),
    "once for all": Case("1 0/.5 .5/.2 .8", ".7 .4", 0.0, 1.562158, 3.124317, 4.942076),
    "a signal each": Case("1 0 0/0 1 0/0 0 1", ".7 .5 .3", 0.0, 3.474414, 3.474414, 3.474414),
    "a mixture": Case(
        "1 0 0/0 1 0/0 .5 .5", ".7 .5 .3", 0.0, 2.906171, 3.856349, 3.856349, (9.941006, 3.059899)
    ),
    "the same row twice": Case("1 0/0 1/0 1", ".7 .5", 0.0, 2.294191, 4.588382, 4.588382),
    "unseen": Case(".5 .5 0/0 1 0", ".6 .2 0", 0.288539, 0.695212, 0.695212, 2.185405),
    "without the unseen": Case(".5 .5/0 1", ".6 .2", 0.288539, 0.288539, 0.288539, 2.185405),
    "best is certain": Case("1 0/.5 .5", "1 .5", 0.0, 0.0, 0.0, 0.0),
    "tie": Case(".6 .4 0/.6 .4 0/.2 .3 .5", ".9 .3 .5", 0.787663, 2.303562, 2.303562, 3.369459),
    "tie, none off": Case(
        ".6 .4 0/.1 0 .9/.2 .8 0", f".9 .3 {19 / 30}", 0.716856, 0.716856, 0.716856, 2.001099
    ),
    "twins": Case(TWINS, ".8 .4 .2 .2", 0.927882, 0.927882, 0.927882, 4.101941),
    "two off": Case(
        TWO_OFF, ".8 .4 .5 .3", 0.709381, 1.874244, 2.589697, 4.000916, (6.465629, 2.083142)
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_the_constants_of_sixteen_problems(case: Case) -> None:
    found = instance_constant(*case.problem())
    assert found.known_theta == pytest.approx(case.known_theta, abs=6e-7)
    assert found.value == pytest.approx(case.value, abs=6e-7)
    assert found.separate == pytest.approx(case.separate, abs=6e-7)
    assert found.rewards_only == pytest.approx(case.rewards_only, abs=6e-7)
    assert 0.0 <= found.upper - found.lower <= 1e-9 * found.upper
    if case.plays:
        finite = [one for one in found.plays if math.isfinite(one)]
        assert finite == pytest.approx(case.plays, rel=1e-4)


def test_three_constants_by_hand() -> None:
    assert instance_constant(*CASES["unseen"].problem()).value == pytest.approx(
        0.2 / math.log(4 / 3)
    )
    assert instance_constant(*CASES["without the unseen"].problem()).value == pytest.approx(
        0.2 / math.log(2)
    )
    once = instance_constant(*CASES["once for all"].problem())
    assert once.value == pytest.approx(0.3 / bernoulli_kl(0.4, 0.7))


@st.composite
def problems(draw: st.DrawFn) -> tuple[Floats, Floats]:
    """Draw laws with zeros and ties, and theta with its ends."""
    actions, signals = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    weights = st.lists(st.sampled_from([0, 0, 1, 2, 5]), min_size=signals, max_size=signals)
    rows = np.array([draw(weights.filter(any)) for _ in range(actions)], float)
    theta = [
        draw(st.sampled_from([0.0, 0.1, 0.25, 0.4, 0.5, 0.7, 0.9, 1.0])) for _ in range(signals)
    ]
    return rows / rows.sum(axis=1, keepdims=True), np.array(theta)


@settings(deadline=None, max_examples=40)
@given(problems())
def test_the_constants_are_in_order(problem: tuple[Floats, Floats]) -> None:
    found = instance_constant(*problem)
    ends = (found.known_theta, found.lower, found.upper, found.separate, found.rewards_only)
    assert all(low <= high * (1.0 + 1e-8) + 1e-15 for low, high in itertools.pairwise(ends))
    assert found.upper - found.lower <= 1e-8 * found.upper
    assert (found.ratio is None) == (found.value == 0.0)


@settings(deadline=None, max_examples=15)
@given(problems())
def test_names_do_not_matter(problem: tuple[Floats, Floats]) -> None:
    law, theta = problem
    actions = np.random.default_rng(1).permutation(len(law))
    signals = np.random.default_rng(2).permutation(theta.size)
    found = instance_constant(law, theta)
    renamed = instance_constant(law[actions][:, signals], theta[signals])
    assert renamed.value == pytest.approx(found.value, rel=1e-7)
    assert renamed.best == tuple(np.flatnonzero(np.isin(actions, found.best)).tolist())


@settings(deadline=None, max_examples=15)
@given(problems())
def test_a_clone_of_a_best_action_changes_nothing(problem: tuple[Floats, Floats]) -> None:
    law, theta = problem
    found = instance_constant(law, theta)
    cloned = instance_constant(np.vstack([law, law[found.best[0]]]), theta)
    assert cloned.value == pytest.approx(found.value, rel=1e-7)


@settings(deadline=None, max_examples=15)
@given(problems(), st.sampled_from([0.2, 0.5]))
def test_a_signal_split_into_twins_changes_nothing_where_none_is_off(
    problem: tuple[Floats, Floats], share: float
) -> None:
    law, theta = problem
    found = instance_constant(law, theta)
    twins = np.hstack([law[:, :1] * share, law[:, :1] * (1.0 - share), law[:, 1:]])
    split = instance_constant(twins, np.concatenate([theta[:1], theta]))
    if not found.off:
        assert split.value == pytest.approx(found.value, rel=1e-7)
    else:
        assert split.value >= found.value * (1.0 - 1e-7)  # twins that are off are learned apart


@settings(deadline=None, max_examples=40)
@given(problems(), st.integers(0, 10**6))
def test_no_alternative_contradicts_the_plays(problem: tuple[Floats, Floats], seed: int) -> None:
    law, theta = problem
    found = instance_constant(law, theta)
    rows, _, off, best = parts(law, theta)
    if found.value == 0.0:
        return
    plays = np.array([one for one in found.plays if math.isfinite(one)])
    rng = np.random.default_rng(seed)
    for row in range(len(rows)):
        for _ in range(5):
            rises = rng.beta(0.5, 0.5, int(off.sum())) * (rng.random(int(off.sum())) < 0.7)
            said = information(rows, row, theta, raised_theta(theta, off, rises), off, best)
            costs = plays[said > 0.0] @ said[said > 0.0]
            assert costs >= 1.0 - 1e-7


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_the_cheapest_alternative_is_that_of_a_solver(seed: int) -> None:
    rng = np.random.default_rng(seed)
    law = rng.dirichlet(np.ones(4), 4)
    law[0, 2:] = 0.0
    law[2, rng.integers(2, 4)] = 0.0
    law /= law.sum(axis=1, keepdims=True)
    theta = np.array([0.9, 0.6, *(0.6 * rng.random(2))])
    rows, _, off, best = parts(law, theta)
    plays = rng.dirichlet(np.full(len(rows), 0.5)) + 1e-4
    for row in range(len(rows)):
        fast = plays @ cheapest_alternative(Task(rows, row, theta, off, best, plays))
        slow = slow_cheapest(rows, row, theta, off, best, plays)
        assert fast <= slow * (1.0 + 1e-7)
        assert slow <= fast * 1.01


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one off, shared", "a mixture", "two off", "once for all"])
def test_the_constant_is_that_of_a_grid_of_alternatives(name: str) -> None:
    law, theta = CASES[name].problem()
    slow = slow_constant(law, theta, 30)
    found = instance_constant(law, theta)
    assert 0.99 * found.value <= slow <= found.value * (1.0 + 1e-7)


@settings(deadline=None, max_examples=60)
@given(problems(), st.floats(0.01, 0.99))
def test_kinf_is_that_of_a_search(problem: tuple[Floats, Floats], level: float) -> None:
    law, theta = problem
    slow = slow_kinf(law[0], theta, level)
    assert kinf(law[0], theta, level) == pytest.approx(slow, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_the_small_programme_is_solved_as_by_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = rng.random((4, 12)) * (rng.random((4, 12)) < 0.6)
    columns[rng.integers(4, size=12), np.arange(12)] += 0.1  # nothing comes for nothing
    room = rng.random(4) + 0.1
    value, prices = packing_optimum(columns, room)
    known = linprog(-np.ones(12), A_ub=columns, b_ub=room)
    assert value == pytest.approx(-known.fun, rel=1e-9)
    assert room @ prices == pytest.approx(value, rel=1e-9)


def test_small_gaps_show_the_share_of_the_variance_that_signals_explain() -> None:
    theta = np.array([0.8, 0.4, 0.2])
    law = np.array([[0.5, 0.3, 0.2], [0.499, 0.3, 0.201]])
    mean = float(law[0] @ theta)
    explained = float(law[0] @ theta**2) - mean**2
    found = instance_constant(law, theta)
    assert found.ratio == pytest.approx(mean * (1.0 - mean) / explained, rel=0.01)


def test_zeros_that_are_possible_are_on() -> None:
    law, theta = CASES["one off"].problem()
    possible = np.ones_like(law, np.bool_)
    nearly = law.copy()
    nearly[0] = [0.6, 0.4 - 1e-9, 1e-9]
    limit = instance_constant(law, theta, support=possible)
    assert limit.off == ()
    assert limit.value == pytest.approx(instance_constant(nearly, theta).value, rel=1e-6)
    assert limit.value < instance_constant(law, theta).value


@pytest.mark.parametrize(
    ("law", "theta"),
    [
        ([[0.5, 0.5]], [0.2, 0.9]),
        ([[0.5, 0.5], [0.1, 0.9]], [0.3, 0.3]),
        ([[0.3, 0.7], [0.3, 0.7]], [0.1, 0.9]),
        ([[1.0, 0.0], [0.5, 0.5]], [1.0, 0.0]),
        ([[0.3, 0.3, 0.4], [0.2, 0.7, 0.1]], [0.7, 0.7, 0.7]),
    ],
    ids=["one action", "theta equal", "all best", "best is certain", "rounding"],
)
def test_where_nothing_has_to_be_learned_every_constant_is_0(
    law: list[list[float]], theta: list[float]
) -> None:
    found = instance_constant(law, theta)
    assert (found.known_theta, found.lower, found.upper, found.rewards_only) == (0.0,) * 4
    assert found.ratio is None


@pytest.mark.parametrize(
    ("law", "theta", "support", "words"),
    [
        ([[0.5, 0.6]], [0.1, 0.2], None, "sum to 1"),
        ([[0.5, 0.5]], [0.1, 1.2], None, r"theta must lie in \[0, 1\]"),
        ([[0.5, float("nan")]], [0.1, 0.2], None, "sum to 1"),
        ([[0.5, 0.5]], [0.1], None, "one mean reward for each signal"),
        ([[[0.5, 0.5]], [[0.4, 0.6]]], [0.1, 0.2], None, "one law, got 2 segments"),
        (np.zeros((0, 2)), [0.1, 0.2], None, "at least one action"),
        ([[0.5, 0.5]], [0.1, 0.2], [[1, 1]], "support must be True or False"),
        ([[0.5, 0.5]], [0.1, 0.2], [[True, False]], "support says False"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(
    law: object, theta: object, support: object, words: str
) -> None:
    with pytest.raises(InvalidInput, match=words):
        instance_constant(law, theta, support)  # type: ignore[arg-type]


def test_signals_that_are_all_worth_the_best_value_are_not_lifted_by_rounding() -> None:
    theta = np.array([0.7, 0.7, 0.7, 0.2])
    rounded_down = 0
    for first, second in itertools.product(range(1, 9), range(1, 9)):
        best = [first / 20, second / 20, (20 - first - second) / 20, 0.0]
        law = np.array([best, [0.5, 0.0, 0.0, 0.5], [0.1, 0.1, 0.1, 0.7]])
        rounded_down += float((law / law.sum(axis=1, keepdims=True) @ theta).max()) < 0.7
        assert instance_constant(law, theta).known_theta == 0.0
    assert rounded_down > 0


@pytest.mark.parametrize("tiny", [1e-4, 1e-9, 1e-12, 1e-14, 1e-16])
def test_an_entry_that_vanishes_from_a_worse_action_leaves_a_free_signal(tiny: float) -> None:
    theta = [0.9, 0.1, 0.3]
    found = instance_constant(np.array([[1, 0, 0], [0, 1.0 - tiny, tiny], [0, 1, 0]]), theta)
    limit = instance_constant([[1, 0, 0], [0, 1, 0], [0, 1, 0]], theta)
    assert found.value == pytest.approx(limit.value, rel=0.02 + 3.0 * tiny)
    assert found.upper - found.lower <= 1e-8 * found.upper


@pytest.mark.parametrize("seed", range(6))
def test_values_near_1_keep_half_of_their_digits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    law = rng.dirichlet(np.ones(4), 3)
    law[0, 2:] = 0.0
    law /= law.sum(axis=1, keepdims=True)
    theta = 1.0 - 1e-6 * np.array([0.1, 0.3, 0.6, 0.9])
    found = instance_constant(law, theta)
    assert 0.0 <= found.upper - found.lower <= 1e-6 * found.upper
    assert found.known_theta <= found.upper * (1.0 + 1e-6)
    assert found.upper <= found.separate * (1.0 + 1e-6)


def test_a_value_with_hardly_any_mass_has_a_finite_distance() -> None:
    values = np.array([1.0, 0.5])
    without = kinf(np.array([0.0, 1.0]), values, 0.9)
    for mass in (1e-3, 1e-9, 1e-18, 1e-40):
        found = kinf(np.array([mass, 1.0 - mass]), values, 0.9)
        assert without * (1.0 - 10.0 * mass) - 40.0 * mass * abs(math.log(mass)) <= found <= without


OFF_LAST = np.array([False, False, True])


def cheapest_cost(
    rows: list[list[float]], row: int, theta: list[float], plays: list[float]
) -> float:
    """Return the cost of the cheapest alternative where the last signal is off and rho* is 0.8."""
    task = Task(np.array(rows), row, np.array(theta), OFF_LAST, 0.8, np.array(plays))
    return float(task.plays @ cheapest_alternative(task))


@pytest.mark.parametrize("row", [0, 1])
@pytest.mark.parametrize("plays", [[1.0, 1.0], [1.0, 1e-8], [1e-8, 1.0]])
@pytest.mark.parametrize("tiny", [8e-15, 1e-12])
def test_a_signal_that_is_hardly_ever_shown_is_as_good_as_free(
    row: int, plays: list[float], tiny: float
) -> None:
    theta = [0.9, 0.1, 0.3]
    seldom = cheapest_cost([[0.0, 1.0 - tiny, tiny], [0.0, 1.0, 0.0]], row, theta, plays)
    never = cheapest_cost([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]], row, theta, plays)
    assert seldom == pytest.approx(never, rel=1e-9, abs=100.0 * tiny)


def test_a_worthless_signal_that_one_action_alone_shows_can_be_raised() -> None:
    theta, rows = [0.9, 0.1, 0.0], [[0.0, 0.7, 0.3], [0.0, 1.0, 0.0]]
    fast = cheapest_cost(rows, 0, theta, [1.0, 1.0])
    slow = slow_cheapest(np.array(rows), 0, np.array(theta), OFF_LAST, 0.8, np.array([1.0, 1.0]))
    assert fast == pytest.approx(slow, rel=1e-6)


def test_the_search_may_pass_where_an_action_has_no_plays() -> None:
    law = [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]]
    found = instance_constant(law, [0.6, 0.5, 0.2])
    assert found.upper - found.lower <= 1e-8 * found.upper
