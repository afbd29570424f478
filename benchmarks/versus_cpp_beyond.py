"""foretell's own policies against C++ loops of the same algorithms, as `versus_cpp` does it.

K=4, S=3, T=8000, D=500, the options that the policies have by default. Loop against loop, and
next to it all that `simulate` does on one thread.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import foretell as ft
from benchmarks.cpp import BEYOND, compiled_loops, compiler
from benchmarks.measure import BenchmarkResult, in_turns, ratio
from benchmarks.versus_cpp import DELAY, RUNS, SEED, agree, prepared_runs
from foretell.worlds.paper import HORIZON

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretell.types import Floats

POLICIES = ("nsd-psrl-cp", "nsd-kl", "nsd-kl-glr")
TARGET, TURNS = 0.4, 5


def versus_cpp_beyond() -> BenchmarkResult:
    """Measure the policies that are not in the paper against C++."""
    result = BenchmarkResult(
        "Beyond the paper, against a C++ loop: K=4, S=3, T=8000, D=500, one core"
    )
    found = compiler()
    if found is None:
        result.must("C++ loop", "no g++", "g++", met=False)
        return result
    with tempfile.TemporaryDirectory() as folder:
        loops = compiled_loops(found, Path(folder), 0, DELAY, BEYOND)
        for policy in POLICIES:
            _measure(result, policy, loops)
    return result


def _measure(
    result: BenchmarkResult, policy: str, loops: Callable[[str, int, int], Floats]
) -> None:
    scenario = ft.scenario("paper", delay=DELAY)
    cpp = partial(loops, policy, RUNS, SEED)

    def simulated() -> Floats:
        return ft.simulate(scenario, policy, HORIZON, RUNS, SEED, threads=1, progress=False).final

    took = in_turns(
        {
            "cpp": lambda: cpp,
            "foretell": lambda: prepared_runs(scenario, ft.policy(policy)),
            "simulate": lambda: simulated,
        },
        TURNS,
    )
    result.at_least(f"{policy}: foretell", ratio(took["cpp"], took["foretell"]), TARGET)
    whole = ratio(took["cpp"], took["simulate"])
    result.add(f"{policy}: the whole of simulate", f"{whole:.3g}x", whole)
    for name, label in (("cpp", "C++"), ("foretell", "foretell")):
        speed = RUNS * HORIZON / min(took[name]) / 1e6
        result.add(f"{policy}: {label}, best turn", f"{speed:.2f} M rounds/s", speed)
    agree(result, f"{policy}: mean regret, foretell and C++", simulated(), cpp())
