"""foretell's UCB against that of other libraries, on four Bernoulli arms without delay.

Each library is installed in an environment of its own, under the user's cache, with the versions
it still runs with, and is called as its own documentation calls it.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

import foretell as ft
from benchmarks.measure import BenchmarkResult, cpu_seconds
from foretell.sim.provenance import user_cache

MEANS = (0.68, 0.44, 0.28, 0.34)
HORIZON = 8000
RUNS, TURNS, ROUNDS_OF_TURNS = 400, 3, 3


@dataclass(frozen=True)
class LibraryRun:
    """What a library's script prints."""

    seconds: list[float]
    regret: float


@dataclass(frozen=True)
class Library:
    """A library, what to install for it, and how much faster foretell must be."""

    name: str
    script: str
    packages: tuple[str, ...]
    target: float
    runs: int


LIBRARIES = (
    Library(
        "SMPyBandits",
        "library_smpybandits.py",
        (
            "SMPyBandits==0.9.7",
            "numpy<1.24",  # it still uses names that later versions dropped
            "scipy<1.11",
            "matplotlib<3.7",
            "pandas<2.1",
            "seaborn<0.13",
            "scikit-learn<1.3",
            "scikit-optimize<0.11",
        ),
        100.0,
        2,
    ),
    Library("pymab", "library_pymab.py", ("pymab==2.0.1",), 15.0, 50),
)


def versus_libraries() -> BenchmarkResult:
    """Return rounds per CPU second of each library and of foretell, turn by turn."""
    result = BenchmarkResult("Against other libraries: UCB, 4 Bernoulli arms, T=8000, no delay")
    for library in LIBRARIES:
        try:
            python = _environment(library)
            _compare(result, library, python)
        except (subprocess.CalledProcessError, OSError) as error:
            result.must(f"{library.name}", "cannot be run", "runs", met=False)
            said = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
            result.notes.append(
                f"{library.name}: tried {' '.join(library.packages)} "
                f"with Python {sys.version_info.major}.{sys.version_info.minor}: "
                f"{said[-1] if said else error}"
            )
    return result


def _compare(result: BenchmarkResult, library: Library, python: Path) -> None:
    _ours()
    ratios, theirs_best, ours_best, regret = [], 0.0, 0.0, 0.0
    for _ in range(ROUNDS_OF_TURNS):
        library_run = _run(library, python)
        theirs = library.runs * HORIZON / min(library_run.seconds)
        mine = RUNS * HORIZON / min(cpu_seconds(_ours) for _ in range(TURNS))
        ratios.append(mine / theirs)
        theirs_best, ours_best = max(theirs_best, theirs), max(ours_best, mine)
        regret = library_run.regret
    result.at_least(f"foretell against {library.name}", statistics.median(ratios), library.target)
    result.add(f"{library.packages[0]}, best turn", f"{theirs_best:,.0f} rounds/s", theirs_best)
    result.add("foretell, best turn", f"{ours_best:,.0f} rounds/s", ours_best)
    result.add("mean regret, theirs and ours", f"{regret:.0f} and {_ours():.0f}")


def _ours() -> float:
    """Run foretell's UCB on the same arms: two signals, reward 0 and reward 1."""
    scenario = ft.Scenario(law=[[1.0 - m, m] for m in MEANS], theta=[0.0, 1.0], delay=0)
    batch = ft.simulate(scenario, "ucb", HORIZON, RUNS, threads=1, progress=False)
    return float(batch.final.mean())


def _environment(library: Library) -> Path:
    """Return the Python of the library's own environment, building it where there is none."""
    folder = user_cache() / "benchmarks" / library.name.lower()
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    stamp = folder / "installed.json"
    wanted = json.dumps([sys.version_info[:2], library.packages])
    if not (stamp.is_file() and stamp.read_text() == wanted):
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", *library.packages],
            check=True,
            capture_output=True,
            text=True,
        )
        stamp.write_text(wanted)
    return python


def _run(library: Library, python: Path) -> LibraryRun:
    script = Path(__file__).with_name(library.script)
    done = subprocess.run(
        [
            python,
            "-W",
            "ignore",
            str(script),
            json.dumps([MEANS, HORIZON, library.runs, TURNS]),
        ],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "MPLBACKEND": "agg", "PYTHONPATH": ""},
        cwd=script.parent,
    )
    return LibraryRun(**json.loads(done.stdout.strip().splitlines()[-1]))
