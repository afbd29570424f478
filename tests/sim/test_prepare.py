"""What is not compiled yet is compiled before the first run, and said to be."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.compiled

FIRST = """
import sys
from contextlib import contextmanager
import foretell as ft
from foretell.sim import prepare

@contextmanager
def bar(what, total, *, shown):
    steps = []
    yield steps.append
    print(what, total, sum(steps), shown, file=sys.stderr)

prepare.progress_bar = bar
ft.simulate(ft.scenario("paper", delay=5), {specs}, 7000, 1, threads=1)
"""
QUIET = """
import foretell as ft
ft.simulate(ft.scenario("paper", delay=5), "uniform", 7000, 1, threads=1)
"""
SECOND = """
from unittest.mock import patch
import foretell as ft
from foretell.sim import compiled, prepare
specs = {specs}
with patch.object(prepare, "progress_bar", side_effect=AssertionError("compiles again")):
    scenario = ft.scenario("paper", delay=5)
    program = prepare.compiled_program(list(map(ft.policy, specs)), scenario, 7000, shown=None)
assert not any(player.ready for player in program.play)
ft.simulate(scenario, specs, 7000, 1, threads=1)
assert all(player.ready for player in program.play)
for player in program.play:
    assert player._dispatcher.stats.cache_hits and not player._dispatcher.stats.cache_misses
"""


def python(program: str, cache: Path) -> str:
    """Run a program with a cache of its own, and return what it says to the user."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "XDG_CACHE_HOME": str(cache), "LOCALAPPDATA": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr


@pytest.mark.skipif(sys.platform == "darwin", reason="caches cannot be moved there")
def test_several_policies_compile_side_by_side_and_are_found_by_the_next_process(
    tmp_path: Path,
) -> None:
    specs = ["ucb", "uniform", "ts", "oracle-ucb"]
    said = python(FIRST.format(specs=specs), tmp_path)
    announced = r"compiling oracle-ucb, ts, ucb, uniform: about [1-4]0 s the first time 4 4 None\n"
    assert re.fullmatch(announced, said)
    assert len(list(tmp_path.rglob("*play_runs*.nbi"))) == len(specs)
    python(SECOND.format(specs=specs), tmp_path)


def test_nothing_is_said_where_nobody_looks(tmp_path: Path) -> None:
    assert python(QUIET, tmp_path) == ""
