"""The benchmarks as `make` calls them: every part is there, and a run of all is kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import __main__ as benchmarks
from benchmarks import history
from benchmarks.measure import BenchmarkResult

ROOT = Path(__file__).parents[1]
CALLS = re.findall(r"-m benchmarks ?(.*)", (ROOT / "Makefile").read_text("utf-8"))


class Parts:
    """Stands for every module of a part, and notes which of them are run."""

    def __init__(self) -> None:
        self.run: list[str] = []

    def import_module(self, name: str) -> Parts:
        assert (ROOT / f"{name.replace('.', '/')}.py").is_file()
        return self

    def __getattr__(self, name: str) -> object:
        def part() -> BenchmarkResult:
            self.run.append(name)
            return BenchmarkResult(name)

        return part


class Kept:
    """Stands for a history."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def append(self, results: dict[str, BenchmarkResult], _: tuple[float, float]) -> None:
        self.names = list(results)

    def draw(self) -> None:
        pass


def test_make_calls_the_benchmarks() -> None:
    assert len(CALLS) == 3


@pytest.mark.parametrize("call", CALLS)
def test_every_part_of_a_call_is_run_once_and_whole_runs_are_kept(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts, lab, live = Parts(), Kept(), Kept()
    monkeypatch.setattr(benchmarks, "importlib", parts)
    monkeypatch.setattr(history, "LAB", lab)
    monkeypatch.setattr(history, "LIVE", live)
    names = [word for word in call.split() if not word.startswith(("-", "out/"))]
    done = CliRunner().invoke(benchmarks.main, [*names, "--out", str(tmp_path / "out.json")])
    assert done.exit_code == 0, done.output
    wanted = [part for one in names for part in (benchmarks.LIVE if one == "live" else [one])]
    assert parts.run == (wanted or list(benchmarks.NAMES))
    assert lab.names == ([] if names else parts.run)
    assert live.names == (parts.run if "live" in names else [])
