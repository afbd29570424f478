"""The failure events of the proof, and its terms on runs of a small NSD-UCRL2."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest

from foretell.errors import InvalidInput
from foretell.theory import (
    Setting,
    law_radius_constant,
    paid_regret,
    paid_widths,
    switching_bound,
    theta_radius_constant,
)

Array = npt.NDArray[Any]

LAW = np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
THETA = np.array([0.9, 0.5, 0.1])


def law_fails(setting: Setting, window: int, shrink: float, rng: np.random.Generator) -> bool:
    """Play at random and say whether E_1 occurs, with C_W divided by `shrink`."""
    actions = rng.integers(setting.actions, size=setting.horizon)
    uniforms = rng.random(setting.horizon)
    signals = (uniforms[:, None] > LAW[actions].cumsum(axis=1)[:, :2]).sum(axis=1)
    constant = law_radius_constant(setting, window) / shrink
    seen = np.zeros((setting.horizon + 1, setting.actions, setting.signals))
    seen[np.arange(1, setting.horizon + 1), actions, signals] = 1.0
    seen = seen.cumsum(axis=0)
    counts = seen.copy()
    counts[window:] -= seen[:-window]
    plays = counts.sum(axis=2)
    error = np.abs(counts / np.maximum(1.0, plays)[:, :, None] - LAW).sum(axis=2)
    return bool(np.any((error > np.sqrt(constant / np.maximum(1.0, plays))) & (plays > 0)))


def theta_fails(setting: Setting, shrink: float, rng: np.random.Generator) -> bool:
    """Draw the rewards of each signal and say whether E_2 occurs, with C_T divided by `shrink`."""
    rewards = rng.random((setting.horizon, setting.signals)) < THETA
    counts = np.arange(1, setting.horizon + 1)[:, None]
    error = np.abs(rewards.cumsum(axis=0) / counts - THETA)
    return bool(np.any(error > np.sqrt(theta_radius_constant(setting) / shrink / counts)))


@pytest.mark.parametrize("constants", ["literal", "tight"])
def test_the_failure_events_are_as_rare_as_promised(constants: Literal["literal", "tight"]) -> None:
    setting = Setting(horizon=200, actions=3, signals=3, delta=0.3, constants=constants)
    rng = np.random.default_rng(7)
    runs = 300
    assert sum(law_fails(setting, 40, 1.0, rng) for _ in range(runs)) <= setting.delta * runs
    assert sum(theta_fails(setting, 1.0, rng) for _ in range(runs)) <= setting.delta * runs


def test_much_smaller_constants_would_fail_more_often_than_promised() -> None:
    setting = Setting(horizon=200, actions=3, signals=3, delta=0.3, constants="tight")
    rng = np.random.default_rng(8)
    runs = 100
    assert sum(law_fails(setting, 40, 6.0, rng) for _ in range(runs)) > setting.delta * runs
    assert sum(theta_fails(setting, 4.0, rng) for _ in range(runs)) > setting.delta * runs


@dataclass
class Run:
    """All that `paid_widths` and `paid_regret` ask for, and the regret."""

    actions: Array
    signals: Array
    index: Array
    upper: Array
    law: Array
    regret: float


def optimistic(estimate: Array, radius: float, upper: Array) -> float:
    """Return the largest q·U within an L1 ball, as in Algorithm 2 of the paper."""
    order = np.argsort(-upper)
    q = estimate.copy()
    q[order[0]] = min(1.0, q[order[0]] + radius / 2.0)
    for worst in order[:0:-1]:
        q[worst] = max(0.0, q[worst] - max(0.0, q.sum() - 1.0))
    return float(q @ upper)


def play(setting: Setting, window: int, changes: list[int], rng: np.random.Generator) -> Run:
    """Run NSD-UCRL2 as written in the paper, slowly."""
    rounds = setting.horizon
    actions, signals = np.zeros(rounds, int), np.zeros(rounds, int)
    rewards = np.zeros(rounds)
    run = Run(actions, signals, np.zeros(rounds), np.zeros((rounds, 3)), np.zeros((rounds, 3)), 0.0)
    law_radius = law_radius_constant(setting, window)
    theta_radius = theta_radius_constant(setting)
    table = LAW
    for t in range(rounds):
        if t in changes:
            table = np.roll(table, 1, axis=0)
        known = slice(0, max(0, t - setting.delay))
        recent = slice(max(0, t - window), t)
        for signal in range(3):
            mine = signals[known] == signal
            n = max(1, int(mine.sum()))
            mean = float(rewards[known][mine].sum()) / n
            run.upper[t, signal] = min(1.0, mean + math.sqrt(theta_radius / n))
        indices = []
        for action in range(3):
            mine = actions[recent] == action
            n = int(mine.sum())
            if n == 0:
                indices.append(float(run.upper[t].max()))
                continue
            estimate = np.bincount(signals[recent][mine], minlength=3) / n
            indices.append(optimistic(estimate, math.sqrt(law_radius / n), run.upper[t]))
        best = np.flatnonzero(np.array(indices) >= max(indices) - 1e-12)
        actions[t] = t if t < 3 else rng.choice(best)
        run.index[t] = indices[actions[t]]
        assert run.index[t] >= max(indices) - 1e-9
        run.law[t] = table[actions[t]]
        signals[t] = rng.choice(3, p=run.law[t])
        rewards[t] = float(rng.random() < THETA[signals[t]])
        run.regret += float((table @ THETA).max() - run.law[t] @ THETA)
    return run


@pytest.mark.parametrize("constants", ["literal", "tight"])
@pytest.mark.parametrize(("delay", "changes"), [(0, []), (40, [250, 450])])
def test_regret_is_at_most_its_terms_and_each_term_at_most_its_bound(
    delay: int, changes: list[int], constants: Literal["literal", "tight"]
) -> None:
    setting = Setting(
        horizon=700,
        actions=3,
        signals=3,
        switches=len(changes),
        delay=delay,
        constants=constants,
    )
    window = 100
    run = play(setting, window, changes, np.random.default_rng(3))
    bound = switching_bound(setting, window).by_name()
    widths = paid_widths(setting, window, run.actions, run.signals, changes).by_name()
    paid = paid_regret(
        setting,
        window,
        index=run.index,
        upper=run.upper,
        law=run.law,
        theta=THETA,
        signals=run.signals,
        changes=changes,
    )
    assert run.regret <= paid.total
    for name in ("switching", "law", "theta", "delay"):
        assert 0.0 <= paid.by_name()[name] <= widths[name] + 1e-9
        assert widths[name] <= bound[name]
    assert paid.azuma <= bound["azuma"]
    if not changes:
        assert paid.total == pytest.approx(float((run.index - run.law @ THETA).sum()))


def test_measured_runs_must_fit_the_setting() -> None:
    setting = Setting(horizon=4, actions=2, signals=2)
    good = [0, 1, 0, 1]
    with pytest.raises(InvalidInput, match=r"^actions must be 4 whole numbers, one a round"):
        paid_widths(setting, 4, [0, 1], good)
    with pytest.raises(InvalidInput, match=r"^signals must be numbers from 0 to 1, got 0 to 2"):
        paid_widths(setting, 4, good, [0, 1, 2, 0])
    with pytest.raises(InvalidInput, match=r"^a change must come after round 0 and before"):
        paid_widths(setting, 4, good, good, changes=[4])
    with pytest.raises(InvalidInput, match=r"^upper must have shape \(4, 2\), got \(2,\)"):
        paid_regret(
            setting, 4, index=good, upper=[1, 1], law=[[1, 0]] * 4, theta=[0, 1], signals=good
        )


def test_a_longer_delay_moves_sights_from_theta_to_delay() -> None:
    setting = Setting(horizon=300, actions=2, signals=3, constants="tight")
    rng = np.random.default_rng(5)
    actions, signals = rng.integers(2, size=300), rng.integers(3, size=300)
    paid = [
        paid_widths(replace(setting, delay=delay), 300, actions, signals) for delay in (0, 20, 400)
    ]
    assert paid[0].delay < paid[1].delay < paid[2].delay
    assert paid[2].theta == 0.0
    assert paid[0].theta + paid[0].delay < paid[1].theta + paid[1].delay
