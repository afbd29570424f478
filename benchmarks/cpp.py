"""Compiles the C++ loops and calls them in this process."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from foretell.worlds.paper import CHANGES, HORIZON, LAW, THETA

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretell.types import Floats

LOOPS = Path(__file__).with_name("loops.cpp")
BEYOND = Path(__file__).with_name("beyond.cpp")
FLAGS = ("-std=c++17", "-O3", "-march=native", "-fno-math-errno", "-shared", "-fPIC")
KINDS = {
    "ucb": 0,
    "nsd-ucrl2": 1,
    "ucb, sizes fixed": 2,
    "nsd-ucrl2, sizes fixed": 3,
    "nsd-psrl-cp": 4,
    "nsd-kl": 5,
    "nsd-kl-glr": 6,
    "nsd-adaptive": 7,
}
"""0 to 3 are in loops.cpp, the others in beyond.cpp."""


class _World(ctypes.Structure):
    _fields_ = (
        ("actions", ctypes.c_int),
        ("signals", ctypes.c_int),
        ("segments", ctypes.c_int),
        ("horizon", ctypes.c_int),
        ("delay", ctypes.c_int),
        ("rounds", ctypes.c_void_p),
        ("law", ctypes.c_void_p),
        ("theta", ctypes.c_void_p),
    )


def compiler() -> str | None:
    """Return the path of g++, installing it where that is possible; None where it is not."""
    found = shutil.which("g++")
    if found is None and shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        subprocess.run(["apt-get", "install", "-y", "-qq", "g++"], check=False)  # noqa: S607
        found = shutil.which("g++")
    return found


def compiled_loops(
    compiler: str, folder: Path, window: int, delay: int, source: Path = LOOPS
) -> Callable[[str, int, int], Floats]:
    """Return a function of (kind, runs, seed): the final regret of each run of a C++ loop."""
    library = folder / f"{source.stem}.so"
    subprocess.run([compiler, *FLAGS, "-o", str(library), str(source)], check=True)
    loop = ctypes.CDLL(str(library)).foretell_loop
    loop.restype = None
    rounds = np.array([0, *CHANGES, HORIZON], np.int32)
    law, theta = np.array(LAW), np.array(THETA)
    world = _World(
        len(law),
        len(theta),
        len(CHANGES) + 1,
        HORIZON,
        delay,
        rounds.ctypes.data,
        law.ctypes.data,
        theta.ctypes.data,
    )

    def play(kind: str, runs: int, seed: int) -> Floats:
        assert rounds.size + law.size + theta.size > 0  # they live as long as this function
        regret = np.zeros(runs)
        loop(
            ctypes.c_int(KINDS[kind]),
            ctypes.byref(world),
            ctypes.c_int(window),
            ctypes.c_double(0.1),
            ctypes.c_int(runs),
            ctypes.c_uint64(seed),
            ctypes.c_void_p(regret.ctypes.data),
        )
        return regret

    return play
