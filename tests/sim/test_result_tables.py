"""Tables hold what batches hold, in pandas, in polars and in Parquet files."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import foretell as ft
from foretell.errors import InvalidInput, MissingExtra
from foretell.sim import result_tables
from foretell.sim.result_tables import columns_of

RECIPE = ft.scenario("paper", delay=20, changes=ft.shifts(at=[30]))
ROUNDS = ["policy", "run", "round", "action", "signal", "reward", "delay", "gap", "best_action"]
ROUNDS += ["change", "alarms"]


@pytest.fixture(scope="module")
def batches() -> ft.Batches:
    return ft.simulate(
        RECIPE, ["ucb", "nsd-kl-glr"], 60, 3, checkpoints=7, trajectories=True, compiled=False
    )


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_has_a_row_for_every_checkpoint_or_every_round(
    batches: ft.Batches, library: Any
) -> None:
    frame = batches.to_frame(library=library)
    assert type(frame).__module__.startswith(library)
    assert list(frame.columns) == ["policy", "run", "round", "regret"]
    assert frame.shape == (2 * 3 * 7, 4)
    assert list(frame["policy"])[::21] == list(batches)
    for number, batch in enumerate(batches.values()):
        regret = np.array(frame["regret"])[21 * number : 21 * (number + 1)]
        np.testing.assert_array_equal(regret.reshape(3, 7), batch.regret)
    rounds = batches.to_frame(trajectories=True, library=library)
    assert list(rounds.columns) == ROUNDS
    assert rounds.shape == (2 * 3 * 60, 11)
    np.testing.assert_array_equal(np.array(rounds["round"]), np.tile(np.arange(60), 6))
    traced = batches["ucb"].traced
    np.testing.assert_array_equal(np.array(rounds["gap"])[:180], traced.gaps.ravel())
    np.testing.assert_array_equal(np.array(rounds["change"])[:180], traced.changes.ravel())
    assert not np.array(rounds["alarms"])[:180].any()
    alone = batches["ucb"].to_frame(trajectories=True, library=library)
    assert alone.shape == (180, 11)


def test_runs_keep_their_number() -> None:
    part = ft.simulate(RECIPE, "ucb", 60, 2, first_run=5, checkpoints=1, compiled=False)
    assert list(part.to_frame()["run"]) == [5, 6]


@pytest.mark.parametrize("trajectories", [True, False])
def test_a_parquet_file_has_the_same_columns_to_the_last_digit(
    batches: ft.Batches, trajectories: bool, tmp_path: Path
) -> None:
    path = tmp_path / "it's.parquet"
    batches.to_parquet(path, trajectories=trajectories)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    read = duckdb.read_parquet(str(path)).fetchnumpy()
    columns = columns_of(batches, trajectories=trajectories)
    assert list(read) == list(columns)
    for name, values in columns.items():
        np.testing.assert_array_equal(read[name], values)
    batches["ucb"].to_parquet(tmp_path / "one.parquet")
    assert len(duckdb.read_parquet(str(tmp_path / "one.parquet"))) == 21


def test_what_is_missing_is_named(
    batches: ft.Batches, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match="'pandas' or 'polars', got 'numpy'"):
        batches.to_frame(library="numpy")  # type: ignore[arg-type]
    short = ft.simulate(RECIPE, "ucb", 20, 1, compiled=False)
    with pytest.raises(InvalidInput, match="with trajectories=True"):
        short.to_frame(trajectories=True)
    monkeypatch.setattr(result_tables, "find_spec", lambda _: None)
    with pytest.raises(InvalidInput, match="needs pandas or polars, got none"):
        batches.to_frame()
    with pytest.raises(InvalidInput, match="needs polars, got none"):
        batches.to_frame(library="polars")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtra, match=r"pip install 'foretell\[parquet\]'"):
        batches.to_parquet(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def test_polars_is_taken_where_pandas_is_not(
    batches: ft.Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = find_spec
    monkeypatch.setattr(
        result_tables, "find_spec", lambda name: None if name == "pandas" else installed(name)
    )
    assert type(batches.to_frame()).__module__.startswith("polars")
