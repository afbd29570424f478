"""Builds wheels, installs them into empty environments, and tries the smallest commands there.

Versions are those of requirements.lock. uv makes the environments; what it has downloaded once it
takes from its cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
FORETELL = ["bin/foretell"]
PYTHON = ["bin/python", "-c"]
SMALLEST = """
import foretell as ft
agent = ft.Agent("nsd-adaptive", actions=["a", "b"], signals=["none", "click"], seed=0)
agent.reward(agent.decide(), 1.0)
"""
SIMULATED = """
import foretell as ft
batch = ft.simulate(ft.scenario("paper-stationary"), "ucb", horizon=50, runs=2, compiled=False)
assert batch.final.shape == (2,)
"""
TRIED: dict[str, list[list[str]]] = {
    "": [
        [*FORETELL, "--version"],
        [*PYTHON, SMALLEST],
        [*PYTHON, SIMULATED],
        [*FORETELL, "policies", "nsd-kl"],
    ],
    "lab": [
        [*PYTHON, "import foretell.sim.compiled, foretell.studies.plots"],
        [*FORETELL, "reproduce", "--help"],
    ],
    "serve": [
        [*FORETELL, "serve", "--help"],
        [*PYTHON, "import foretell.service.server, foretell.service.http.app"],
        [*FORETELL, "verify", "--help"],
    ],
    "client": [[*PYTHON, "import foretell as ft; ft.Client('http://localhost:9').close()"]],
    "parquet": [[*PYTHON, "import duckdb, foretell.cli.parquet_file"]],
    "postgres": [[*PYTHON, "import asyncpg, foretell"]],
    "openfeature": [[*PYTHON, "from foretell.client.openfeature import ForetellProvider"]],
    "cluster": [[*PYTHON, "import distributed, foretell"]],
    "otel": [[*PYTHON, "import opentelemetry.sdk, foretell"]],
}
"""The smallest commands that prove an extra, by its name; the empty name is the core alone."""


def build(kind: str, source: Path, target: Path) -> Path:
    """Build a wheel or an sdist with the build backend that is installed here."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", kind, "-d", str(target)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, text=True)
    (built,) = target.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return built


def try_extra(wheel: Path, extra: str, folder: Path) -> None:
    """Install a wheel with one extra into an environment of its own, and run what proves it."""
    where = folder / (extra or "core")
    wanted = f"foretell[{extra}] @ {wheel.as_uri()}" if extra else str(wheel)
    constraints = str(ROOT / "requirements.lock")
    python = ["--python", str(where)]
    _run([*_uv(), "venv", "--quiet", "--python", sys.executable, str(where)])
    _run([*_uv(), "pip", "install", "--quiet", *python, "--constraints", constraints, wanted])
    for command in TRIED[extra]:
        _run([str(where / command[0]), *command[1:]], cwd=folder)


def _uv() -> list[str]:
    return [sys.executable, "-m", "uv"]


def _run(command: Sequence[str], cwd: Path | None = None) -> None:
    unset = {"PYTHONPATH", "VIRTUAL_ENV"}
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    ran = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=cwd, env=environment
    )
    if ran.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{ran.stdout}{ran.stderr}")
