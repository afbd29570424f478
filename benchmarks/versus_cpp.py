"""The whole of `simulate` against hand-written C++ loops of the same algorithms.

K=4, S=3, T=8000, D=500, shifts at 2000, 4000 and 6000, fifty runs on one thread. The C++ is handed
its world; foretell draws worlds, seeds streams, begins states and collects results as well. A
loop by hand in numba shows that the C++ is no straw man.
"""

from __future__ import annotations

import math
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import foretell as ft
from benchmarks.cpp import BEYOND, LOOPS, compiled_loops, compiler
from benchmarks.measure import BenchmarkResult, in_turns, ratio
from benchmarks.numba_nsd_ucrl2 import nsd_ucrl2
from benchmarks.numba_ucb import ucb
from foretell.worlds.paper import CHANGES, HORIZON, LAW, THETA

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretell.types import Floats

DELAY, WINDOW, DELTA = 500, 800, 0.1
RUNS, SEED = 50, 1
TURN = 4
"""Calls of `simulate` in one turn, and as many runs of the loop."""
ALIKE_RUNS = 400
"""Runs for the comparison of mean regrets."""
TARGETS = {
    "ucb": 0.8,
    "nsd-ucrl2": 0.8,
    "nsd-psrl-cp": 0.8,
    "nsd-kl": 0.8,
    "nsd-kl-glr": 0.7,
    "nsd-adaptive": 0.7,
}
OPTIONS = {"nsd-ucrl2": f"(window={WINDOW}, delta={DELTA})"}
BY_HAND = ("ucb", "nsd-ucrl2")
TURNS = {"ucb": 15, "nsd-ucrl2": 15}
FEWER_TURNS = 5
MOST_FOR_A_THREAD = 1.1


def versus_cpp() -> BenchmarkResult:
    """Measure every policy that has a C++ loop."""
    result = BenchmarkResult("The whole of simulate against a C++ loop: T=8000, D=500, 50 runs")
    found = compiler()
    if found is None:
        result.must("C++ loop", "no g++", "g++", met=False)
        result.notes.append("There is no g++ and it cannot be installed here: install it.")
        return result
    with tempfile.TemporaryDirectory() as folder:
        paper = compiled_loops(found, Path(folder), WINDOW, DELAY, LOOPS)
        beyond = compiled_loops(found, Path(folder), 0, DELAY, BEYOND)
        for policy, target in TARGETS.items():
            _measure(result, policy, target, paper if policy in BY_HAND else beyond)
    _measure_threads(result)
    return result


def _measure(
    result: BenchmarkResult,
    policy: str,
    target: float,
    loops: Callable[[str, int, int], Floats],
) -> None:
    scenario = ft.scenario("paper", delay=DELAY)
    spec = policy + OPTIONS.get(policy, "")

    def simulated(runs: int, calls: int) -> Floats:
        for _ in range(calls):
            batch = ft.simulate(scenario, spec, HORIZON, runs, SEED, threads=1, progress=False)
        return batch.final

    contestants: dict[str, Callable[[], object]] = {
        "cpp": partial(loops, policy, RUNS * TURN, SEED),
        "simulate": partial(simulated, RUNS, TURN),
    }
    if policy in BY_HAND:
        contestants["numba"] = partial(_numba, policy, RUNS * TURN)
        contestants["fixed"] = partial(loops, f"{policy}, sizes fixed", RUNS * TURN, SEED)
    took = in_turns(
        {name: _ready(work) for name, work in contestants.items()},
        TURNS.get(policy, FEWER_TURNS),
    )
    result.at_least(f"{policy}, against C++", ratio(took["cpp"], took["simulate"]), target)
    for name, label in (("cpp", "C++"), ("simulate", "foretell")):
        speed = RUNS * TURN * HORIZON / min(took[name]) / 1e6
        result.add(f"{policy}, {label}, best turn", f"{speed:.2f} M rounds/s", speed)
    if policy in BY_HAND:
        result.at_least(
            f"{policy}, C++ against numba by hand", ratio(took["numba"], took["cpp"]), 1
        )
        alone = ratio(took["fixed"], took["simulate"])
        result.add(f"{policy}, against C++ for K=4, S=3 alone", f"{alone:.3g}x", alone)
    theirs = loops(policy, ALIKE_RUNS, SEED)
    _agree(result, f"{policy}, mean regret here and in C++", simulated(ALIKE_RUNS, 1), theirs)


def _measure_threads(result: BenchmarkResult) -> None:
    scenario = ft.scenario("paper", delay=DELAY)

    def simulated(threads: int) -> object:
        return ft.simulate(
            scenario, "nsd-adaptive", HORIZON, 4 * RUNS, SEED, threads=threads, progress=False
        )

    took = in_turns({str(threads): _ready(partial(simulated, threads)) for threads in (1, 2)}, 5)
    result.at_most(
        "nsd-adaptive, CPU of a run with two threads over one",
        ratio(took["2"], took["1"]),
        MOST_FOR_A_THREAD,
    )


def _ready(work: Callable[[], object]) -> Callable[[], Callable[[], object]]:
    """Return a contestant that has nothing to prepare."""
    return lambda: work


def _agree(result: BenchmarkResult, what: str, ours: Floats, theirs: Floats) -> None:
    """Check that two loops play the same game: their mean regrets within 4 standard errors."""
    error = math.sqrt(ours.var() / ours.size + theirs.var() / theirs.size)
    apart = abs(ours.mean() - theirs.mean()) / error
    result.must(
        what,
        f"{ours.mean():.1f} and {theirs.mean():.1f} ± {error:.1f}",
        "within 4 standard errors",
        met=bool(apart <= 4.0),
    )


def _numba(policy: str, runs: int) -> Floats:
    rounds = np.array([0, *CHANGES, HORIZON], np.int32)
    law, theta, final = np.array(LAW), np.array(THETA), np.zeros(runs)
    if policy == "ucb":
        ucb(law, theta, rounds, HORIZON, DELAY, runs, SEED, final)
    else:
        nsd_ucrl2(law, theta, rounds, HORIZON, DELAY, WINDOW, DELTA, runs, SEED, final)
    return final
