"""How long a user waits before the first result, and how much memory a long run takes.

CPU seconds of a fresh process, the start of the interpreter and its children included.
"""

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
{used}
print(json.dumps([time.process_time(), sorted({{name.partition(".")[0] for name in sys.modules}})]))
"""
_USED = {
    "import foretell": "",
    "import foretell, and name simulate and Agent": "foretell.simulate, foretell.Agent",
}
_SIMULATE = """
import foretell, os
scenario = foretell.scenario("paper", delay=500)
foretell.simulate(scenario, {specs}, horizon=8000, runs=1, threads=1, progress=False)
took = os.times()
print(took.user + took.system + took.children_user + took.children_system)
"""
_LONG = """
import foretell, resource
scenario = foretell.scenario("paper", delay=100_000)
foretell.simulate(scenario, "nsd-ucrl2(window=800)", 10**7, 1, threads=1, progress=False)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
_SPECS = ("ucb", "nsd-ucrl2(window=800, delta=0.1)", "nsd-adaptive")
_ALL = "sorted(foretell.registered_policies())"


def startup() -> BenchmarkResult:
    """Time `import foretell`, compilation, and the first simulation of a second process."""
    result = BenchmarkResult("Start-up: CPU seconds of a fresh process; memory")
    for what, used in _USED.items():
        imports = [json.loads(_python(_IMPORT.format(used=used))) for _ in range(TURNS)]
        seconds = statistics.median(took for took, _ in imports)
        if used:
            result.add(what, f"{seconds:.3g} s", seconds)
        else:
            result.at_most(what, seconds, 0.25, " s")
    heavy = [name for name in ("numba", "scipy", "matplotlib") if name in imports[0][1]]
    result.must(
        "what it does not import", ", ".join(heavy) or "none of them", "no numba", met=not heavy
    )
    for spec in _SPECS:
        with tempfile.TemporaryDirectory() as cache:
            program = _SIMULATE.format(specs=repr(spec))
            first = float(_python(program, cache))
            later = statistics.median(float(_python(program, cache)) for _ in range(3))
        if spec == "nsd-adaptive":
            result.at_most(f"first process, {spec}: compiles", first, 19.0, " s")
        else:
            result.add(f"first process, {spec}: compiles", f"{first:.3g} s", first)
        result.at_most(f"second process, {spec}: finds it compiled", later, 1.0, " s")
    with tempfile.TemporaryDirectory() as cache:
        everything = float(_python(_SIMULATE.format(specs=_ALL), cache))
    result.at_most("first process, every policy: compiles", everything, 75.0, " s")
    result.at_most("memory, T = 10^7, D = 10^5", float(_python(_LONG)), 256.0, " MiB")
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
