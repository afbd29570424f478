"""Only conversions are reported: what arrives when, what is learned from it, and how much it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import foretell as ft
from benchmarks.censored import corrected_spec, replayed, theta_ratios
from foretell.policies.registry import policy, start
from foretell.policies.state import fingerprint
from foretell.policies.verbs import CLOSED, OPEN, SILENT, credit, elapse, unwait, wait
from foretell.sim.draw_worlds import draw_worlds
from foretell.sim.run import new_trace, play_runs, run_all
from foretell.sim.streams import stream_words
from foretell.worlds.censored import CENSORED_WORLDS
from foretell.worlds.delays import Delay

LAW = [[0.6, 0.2, 0.2], [0.7, 0.2, 0.1], [0.3, 0.3, 0.4]]
SLOW: list[Delay | int] = [
    ft.delays.GeometricDelay(20.0),
    ft.delays.GammaDelay(30.0, 2),
    ft.delays.GeometricDelay(90.0),
]
CENSORED = ft.Scenario(
    law=LAW, theta=[0.05, 0.3, 0.7], delay=SLOW, censored=True, reward_window=150
)
CORRECTED = (
    "nsd-psrl(censored=True, typical_delay=30.0)",
    "nsd-psrl-cp(censored=True, typical_delay=(20.0, 30.0, 90.0))",
    "nsd-adaptive(ordered=True, censored=True, typical_delay=30.0)",
    "oracle-psrl(censored=True, typical_delay=30.0)",
)


@pytest.mark.parametrize("spec", [*CORRECTED, "nsd-psrl", "ucb"])
def test_a_round_is_credited_once_when_its_window_closes(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, float]] = []

    def watched(state: Any, t: int, action: int, signal: int, reward: float) -> None:
        seen.append((t, reward))
        credit(state, t, action, signal, reward)

    monkeypatch.setattr("foretell.sim.censored.credit", watched)
    batch = ft.simulate(CENSORED, spec, 500, 1, seed=3, trajectories=True, compiled=False)
    assert batch.trajectories is not None
    rewards, delays = batch.trajectories.rewards[0], batch.trajectories.delays[0]
    in_time = (rewards > 0) & (delays >= 0) & (delays < 150)
    assert seen == [(t, float(in_time[t])) for t in range(500 - 150)]


@pytest.mark.parametrize("spec", CORRECTED[:3])
def test_a_replay_of_the_rounds_gives_the_same_state(spec: str) -> None:
    words = stream_words(7, np.arange(1))
    world = draw_worlds(CENSORED, 400, words)
    trace = new_trace(np.array([399]), 1, 3, 400)
    state = start(policy(spec), CENSORED.problem(400))
    kept: list[object] = []

    def player(*arguments: Any) -> None:
        kept.append(arguments[2])
        play_runs(*arguments)

    run_all(world, state, 400, words, trace, player=player)
    batch = ft.simulate(CENSORED, spec, 400, 1, seed=7, trajectories=True, compiled=False)
    assert fingerprint(replayed(spec, CENSORED, batch.trajectories)) == fingerprint(kept[-1])


def test_early_conversions_teach_before_any_window_closes() -> None:
    regret = {
        spec: ft.simulate(CENSORED, spec, 149, 8, seed=1, compiled=False).final.mean()
        for spec in ("nsd-psrl", CORRECTED[0])
    }
    assert regret[CORRECTED[0]] < 0.8 * regret["nsd-psrl"]


@pytest.mark.compiled
@pytest.mark.parametrize("spec", CORRECTED)
def test_compiled_and_plain_runs_are_equal(spec: str) -> None:
    runs = [
        ft.simulate(CENSORED, spec, 500, 2, seed=2, compiled=compiled) for compiled in (True, False)
    ]
    assert runs[0].regret.tobytes() == runs[1].regret.tobytes()


@pytest.mark.parametrize("name", ["censored", "censored-slow", "censored-gamma"])
def test_theta_of_the_slow_signal_is_found_early(name: str) -> None:
    world = CENSORED_WORLDS[name]
    spec = corrected_spec("oracle-psrl", world, 1.0)
    ratios = [theta_ratios(world, spec, seed, look=2500, player="uniform") for seed in (0, 1)]
    assert 0.7 < np.mean(ratios, axis=0)[2] < 1.4


def test_uncorrected_policies_ignore_what_is_waited_for() -> None:
    state = start(policy("nsd-psrl"), CENSORED.problem())
    before = fingerprint(state)
    elapse(state, 5)
    wait(state, 5, 1, SILENT, 0.0, OPEN)
    unwait(state, 5, 1, 3, 1.0, CLOSED)
    assert fingerprint(state) == before


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ft.policy("nsd-psrl(censored=True)"), "need a typical_delay"),
        (lambda: ft.policy("nsd-adaptive(typical_delay=5.0)"), "add censored=True"),
        (lambda: ft.NsdPsrl(censored=True, typical_delay=0.0), "above 0, or a tuple"),
        (
            lambda: ft.simulate(CENSORED, "nsd-psrl(censored=True, typical_delay=(1.0, 2.0))", 9),
            "one for each of the 3 signals, got 2",
        ),
        (lambda: ft.Scenario(law=LAW, theta=[0, 0, 1], censored=True), "needs a reward_window"),
        (lambda: ft.delays.GammaDelay(5.0, 0), "from 1 to 100, got 0"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(make: object, said: str) -> None:
    with pytest.raises(ft.ForetellError, match=said):
        make()  # type: ignore[operator]
