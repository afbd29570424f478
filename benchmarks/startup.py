"""How long a user waits before the first result, in CPU seconds of a fresh process."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile

from benchmarks.measure import BenchmarkResult

TURNS = 7

_IMPORT = """
import foretell, json, sys, time
print(json.dumps([time.process_time(), sorted({name.partition(".")[0] for name in sys.modules})]))
"""
_SIMULATE = """
import foretell, time
foretell.simulate(
    foretell.scenario("paper", delay=500), "{spec}", horizon=8000, runs=1, threads=1
)
print(time.process_time())
"""
_SPECS = ("ucb", "nsd-ucrl2(window=800, delta=0.1)")


def startup() -> BenchmarkResult:
    """Time `import foretell`, and the first simulation of a second process.

    The clock starts with the process, so the interpreter's own start is included.
    """
    result = BenchmarkResult("Start-up: CPU seconds of a fresh process, interpreter included")
    imports = [json.loads(_python(_IMPORT)) for _ in range(TURNS)]
    seconds = statistics.median(took for took, _ in imports)
    result.at_most("import foretell", seconds, 0.3, " s")
    heavy = [name for name in ("numba", "scipy", "matplotlib") if name in imports[0][1]]
    result.must(
        "what it does not import", ", ".join(heavy) or "none of them", "no numba", met=not heavy
    )
    for spec in _SPECS:
        with tempfile.TemporaryDirectory() as cache:
            program = _SIMULATE.format(spec=spec)
            first = float(_python(program, cache))
            later = statistics.median(float(_python(program, cache)) for _ in range(3))
        result.add(f"first process, {spec}: compiles", f"{first:.3g} s", first)
        result.at_most(f"second process, {spec}: finds it compiled", later, 1.5, " s")
    return result


def _python(program: str, cache: str | None = None) -> str:
    environment = dict(os.environ)
    if cache is not None:
        environment |= {"XDG_CACHE_HOME": cache, "LOCALAPPDATA": cache}
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    return done.stdout
