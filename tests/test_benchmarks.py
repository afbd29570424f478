"""The benchmarks as `make` calls them: every part is there, and a run of all is kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import __main__ as benchmarks
from benchmarks import history
from benchmarks.measure import BenchmarkResult
from benchmarks.yardstick import EMPTY_HANDLER, speed_notes

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


def test_the_benchmarks_of_the_service_are_nothing_but_its_parts() -> None:
    assert "live --out out/bench-live.json" in CALLS


def slow_run() -> dict[str, BenchmarkResult]:
    decide, client = BenchmarkResult("Decisions"), BenchmarkResult("The client: CPU")
    decide.add(EMPTY_HANDLER, "130 µs", 130.0)
    decide.at_least("durable decide against the empty handler, CPU", 0.4, 0.55)
    decide.at_most("durable decide over a bare fdatasync, p50", 2.2, 1.1, " ms")
    client.at_most("decide", 200.0, 150, " µs")
    client.at_most("import foretell.client", 0.09, 0.1, " s")
    client.must("fallbacks", "1", "0", met=False)
    return {"live_decide": decide, "live_client": client}


def test_a_run_says_how_fast_the_machine_is_and_scales_missed_cpu_targets_alone() -> None:
    speed, scaled = speed_notes(slow_run())
    assert "takes 130 µs of CPU a request, 65 µs on the machine" in speed
    assert scaled.startswith("Scaled by 0.50, which is a guess and no verdict: ")
    assert "decide: 200 µs would be 100 µs (<= 150 µs)" in scaled
    assert not any(word in scaled for word in ("fdatasync", "import", "fallbacks", "handler"))
    assert speed_notes({"live_client": slow_run()["live_client"]}) == []


def test_a_kept_run_is_a_table(tmp_path: Path) -> None:
    kept = history.History(tmp_path / "history.jsonl", tmp_path / "plot.svg", "")
    kept.append(slow_run(), (1.0, 2.5))
    table = kept.markdown()
    assert "a load of 1.0 before and 2.5 after" in table
    assert "| live_client: decide | 200 µs | at most 150 µs | 0.75 | missed |" in table
    assert "| live_client: import foretell.client | 0.09 s | at most 0.1 s | 1.11 | met |" in table
    assert "| live_client: fallbacks | 1 | 0 |  | missed |" in table
    assert EMPTY_HANDLER not in table
