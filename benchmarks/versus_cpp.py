"""foretell against hand-written loops of the same algorithms, in the paper's scenario.

K=4, S=3, T=8000, D=500, shifts at 2000, 4000 and 6000. Loop against loop: foretell's compiled
runs, each handed its world, its random streams and a new state, as the hand-written loops are
handed theirs. Next to it is all that `simulate` does on one thread: drawing worlds and streams
and collecting the results, too.
"""

from __future__ import annotations

import math
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import foretell as ft
from benchmarks.cpp import compiled_loops, compiler
from benchmarks.measure import BenchmarkResult, in_turns, ratio
from benchmarks.numba_nsd_ucrl2 import nsd_ucrl2
from benchmarks.numba_ucb import ucb
from foretell.policies import start
from foretell.sim.compiled import compiled_player
from foretell.sim.run import new_run_trace, run
from foretell.sim.streams import random_stream
from foretell.worlds.paper import CHANGES, HORIZON, LAW, THETA

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretell.types import Floats

DELAY, WINDOW, DELTA = 500, 800, 0.1
RUNS, TURNS, SEED = 400, 9, 1
CHECKPOINTS = np.arange(1, 1001) * HORIZON // 1000 - 1
TARGETS = {"ucb": 0.5, "nsd-ucrl2": 0.4}
SPECS = {"ucb": "ucb", "nsd-ucrl2": f"nsd-ucrl2(window={WINDOW}, delta={DELTA})"}


def versus_cpp() -> BenchmarkResult:
    """Measure both policies against C++ and numba."""
    result = BenchmarkResult("Against a C++ loop: K=4, S=3, T=8000, D=500, one core")
    found = compiler()
    if found is None:
        result.must("C++ loop", "no g++", "g++", met=False)
        result.notes.append("There is no g++ and it cannot be installed here: install it.")
        return result
    with tempfile.TemporaryDirectory() as folder:
        loops = compiled_loops(found, Path(folder), WINDOW, DELAY)
        for policy, spec in SPECS.items():
            _measure(result, policy, spec, loops)
    return result


def _measure(
    result: BenchmarkResult, policy: str, spec: str, loops: Callable[[str, int, int], Floats]
) -> None:
    scenario = ft.scenario("paper", delay=DELAY)
    cpp = partial(loops, policy, RUNS, SEED)
    fixed = partial(loops, f"{policy}, sizes fixed", RUNS, SEED)
    by_hand = partial(_numba, policy)

    def simulated() -> Floats:
        return ft.simulate(scenario, spec, HORIZON, RUNS, SEED, threads=1, progress=False).final

    took = in_turns(
        {
            "cpp": lambda: cpp,
            "foretell": lambda: prepared_runs(scenario, ft.policy(spec)),
            "simulate": lambda: simulated,
            "numba": lambda: by_hand,
            "fixed": lambda: fixed,
        },
        TURNS,
    )
    result.at_least(f"{policy}: foretell", ratio(took["cpp"], took["foretell"]), TARGETS[policy])
    whole = ratio(took["cpp"], took["simulate"])
    result.add(f"{policy}: the whole of simulate", f"{whole:.3g}x", whole)
    for name, label in (
        ("cpp", "C++"),
        ("fixed", "C++ compiled for K=4, S=3 alone"),
        ("numba", "numba by hand"),
        ("foretell", "foretell"),
        ("simulate", "the whole of simulate"),
    ):
        speed = RUNS * HORIZON / min(took[name]) / 1e6
        result.add(f"{policy}: {label}, best turn", f"{speed:.1f} M rounds/s", speed)
    result.at_least(
        f"{policy}: the C++ loop against numba by hand", ratio(took["numba"], took["cpp"]), 1.0
    )
    ratio_fixed = ratio(took["fixed"], took["foretell"])
    result.add(f"{policy}: foretell against fixed sizes", f"{ratio_fixed:.3g}x", ratio_fixed)
    for label, theirs in (("C++", cpp()), ("numba", by_hand())):
        agree(result, f"{policy}: mean regret, foretell and {label}", simulated(), theirs)


def prepared_runs(scenario: ft.Scenario, spec: ft.Spec) -> Callable[[], None]:
    """Draw worlds, streams and states, and return the work that is left: the runs themselves."""
    runs = []
    for number in range(RUNS):
        world = scenario.draw(HORIZON, random_stream(SEED, number, 0))
        state = start(spec, scenario.problem(HORIZON, world.changes))
        trace = new_run_trace(CHECKPOINTS, scenario.actions, 0)
        runs.append(
            (world, state, trace, random_stream(SEED, number, 1), random_stream(SEED, number, 2))
        )
    player = compiled_player(type(runs[0][1]))

    def work() -> None:
        for world, state, trace, noise, rng in runs:
            run(world, state, HORIZON, trace, noise=noise, rng=rng, player=player)

    return work


def agree(result: BenchmarkResult, what: str, ours: Floats, theirs: Floats) -> None:
    """Check that two loops play the same game: their mean regrets within 4 standard errors."""
    error = math.sqrt(ours.var() / ours.size + theirs.var() / theirs.size)
    apart = abs(ours.mean() - theirs.mean()) / error
    result.must(
        what,
        f"{ours.mean():.1f} and {theirs.mean():.1f} ± {error:.1f}",
        "within 4 standard errors",
        met=bool(apart <= 4.0),
    )


def _numba(policy: str) -> Floats:
    rounds = np.array([0, *CHANGES, HORIZON], np.int32)
    law, theta, final = np.array(LAW), np.array(THETA), np.zeros(RUNS)
    if policy == "ucb":
        ucb(law, theta, rounds, HORIZON, DELAY, RUNS, SEED, final)
    else:
        nsd_ucrl2(law, theta, rounds, HORIZON, DELAY, WINDOW, DELTA, RUNS, SEED, final)
    return final
