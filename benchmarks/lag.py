"""Regret against lag: what it costs that a decider plays on a state that is some rounds old.

A decider that takes over the state of another knows its own plays at once, and signals and rewards
later by the lag. So in the paper's scenario all feedback is late by so many rounds, and everything
else is the same: the worlds, the draws, the policy. `python -m benchmarks.lag` draws the curve.
"""

from __future__ import annotations

import statistics
import sys
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from foretell.kernel import kernel, reseed
from foretell.policies import policy, start
from foretell.policies.state import in_one_block, restore
from foretell.policies.verbs import choose, credit, observe, play
from foretell.sim.compile_cache import structure_of
from foretell.sim.compiled import CompiledFunction
from foretell.sim.draw_worlds import draw_from, draw_worlds
from foretell.sim.streams import NOISE_STREAM, POLICY_STREAM, new_generator, stream_words
from foretell.types import Bools, Floats, Ints
from foretell.worlds import scenario
from foretell.worlds.paper import HORIZON
from foretell.worlds.world import Now, World, answer, before_round_zero, begin_run, move_to

LAGS = (0, 1, 3, 10, 30, 100, 300, 1000)
POLICIES = ("nsd-adaptive", "nsd-ucrl2(window=800)", "nsd-psrl(window=800)")
DELAY = 500
RUNS = 400
PLOT = Path("docs/images/regret-lag.svg")


@kernel
def play_late(
    world: World,
    now: Now,
    state: Any,
    horizon: int,
    lag: int,
    delay: int,
    eligible: Bools,
    noise: np.random.Generator,
    rng: np.random.Generator,
    actions: Ints,
    signals: Ints,
    rewards: Floats,
) -> float:
    """Return the regret of a run with all feedback late by so many rounds."""
    regret, following = 0.0, 0
    for t in range(horizon):
        if t == following:
            following = move_to(world, now, t)
        action = choose(state, t, eligible, rng)
        play(state, t, action)
        signal, reward, _ = answer(world, now, action, noise)
        actions[t], signals[t], rewards[t] = action, signal, reward
        if t >= lag:
            seen = t - lag
            observe(state, seen, actions[seen], signals[seen])
        if t >= lag + delay:
            paid = t - lag - delay
            credit(state, paid, actions[paid], signals[paid], rewards[paid])
        regret += now.gaps[action]
    return regret


def regrets(text: str, lag: int, runs: int, horizon: int = HORIZON) -> list[float]:
    """Return the regret of each run."""
    world_of = scenario("paper", delay=DELAY)
    words = stream_words(0, np.arange(runs))
    world = draw_worlds(world_of, horizon, words, draw_from)
    now, noise, rng = before_round_zero(world), new_generator(), new_generator()
    eligible = np.ones(world_of.actions, np.bool_)
    state, block = in_one_block(start(policy(text), world_of.problem(horizon)))
    pristine = block.copy()
    player = CompiledFunction(play_late, structure_of(state))
    kept = np.zeros(horizon, np.int64), np.zeros(horizon, np.int64), np.zeros(horizon)
    found = []
    for run in range(runs):
        restore(block, pristine)
        reseed(noise, words[run, NOISE_STREAM])
        reseed(rng, words[run, POLICY_STREAM])
        begin_run(world, now, run)
        late = (horizon, lag, DELAY)
        found.append(float(player(world, now, state, *late, eligible, noise, rng, *kept)))
    return found


def curve(text: str, runs: int) -> list[tuple[int, float, float]]:
    """Return for each lag the mean regret, and half the width of its 95 % interval."""
    points = []
    for lag in LAGS:
        found = regrets(text, lag, runs)
        points.append((lag, statistics.mean(found), 1.96 * statistics.stdev(found) / sqrt(runs)))
        print(f"{text}, lag {lag}: {points[-1][1]:.1f} ± {points[-1][2]:.1f}", flush=True)
    return points


def draw(curves: dict[str, list[tuple[int, float, float]]]) -> None:
    """Draw the curves for the documentation."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    with mpl.rc_context({"svg.hashsalt": "foretell", "font.size": 9}):
        figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
        for (text, points), mark in zip(curves.items(), "os^", strict=True):
            lags, means, widths = zip(*points, strict=True)
            axes.errorbar(lags, means, widths, label=text, marker=mark, capsize=2)
        axes.set_xscale("symlog", linthresh=1)
        axes.set_xticks(LAGS, [f"{lag:,}" for lag in LAGS])
        axes.set_ylim(bottom=0)
        axes.set_xlabel("lag of the state, in rounds")
        axes.set_ylabel(f"regret after {HORIZON:,} rounds")
        axes.legend(frameon=False)
        figure.savefig(PLOT, metadata={"Date": None})


def main() -> None:
    """Play all lags, and draw the curves; an argument is the number of runs."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    draw({text: curve(text, runs) for text in POLICIES})


if __name__ == "__main__":
    main()
