"""A call that is interrupted or killed loses only the cells that were not finished."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import foretell as ft
from foretell.policies import policy
from foretell.studies import runner
from foretell.studies.cells import Cell, CellStore, FinishedCell
from foretell.studies.runner import run_cells

pytestmark = pytest.mark.compiled

CELLS = [
    Cell(policy(text), ft.scenario("paper-stationary"), 200, 2, seed)
    for text in ("uniform", "ucb")
    for seed in (0, 1)
]


def finals(finished: list[FinishedCell]) -> list[list[float]]:
    return [one.batch.final.tolist() for one in finished]


def test_cells_come_in_order_and_equal_simulate(tmp_path: Path) -> None:
    steps: list[int] = []
    finished = run_cells(CELLS, CellStore(tmp_path), advance=steps.append)
    assert steps == [cell.work for cell in CELLS]
    for cell, one in zip(CELLS, finished, strict=True):
        plain = ft.simulate(cell.scenario, cell.spec, 200, 2, cell.seed)
        np.testing.assert_array_equal(one.batch.regret, plain.regret)


def test_what_is_kept_is_run_again_only_where_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = CellStore(tmp_path)
    first = finals(run_cells(CELLS, store))
    ran: list[Cell] = []
    plain = runner._run_cell

    def counted(cell: Cell, threads: int | None) -> FinishedCell:
        ran.append(cell)
        return plain(cell, threads)

    monkeypatch.setattr(runner, "_run_cell", counted)
    assert finals(run_cells(CELLS, store)) == first
    assert ran == []
    assert finals(run_cells(CELLS, store, fresh=True, warm=True, threads=1)) == first
    assert len(ran) == len(CELLS)


def test_an_interrupted_call_keeps_what_is_finished(tmp_path: Path) -> None:
    store = CellStore(tmp_path)

    def interrupt(steps: int) -> None:
        if len(list(tmp_path.rglob("*.cell"))) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_cells(CELLS, store, advance=interrupt)
    assert [store.read(cell) is not None for cell in CELLS] == [True, True, False, False]


KILLED = """
import os, signal, sys
sys.path.insert(0, {folder!r})
from pathlib import Path
from foretell.studies import cells
from foretell.studies.runner import run_cells
from test_runner import CELLS
write, written = cells.CellStore.write, []
def deadly(store, cell, finished):
    if len(written) == 2:
        Path.replace = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
    written.append(cell)
    write(store, cell, finished)
cells.CellStore.write = deadly
run_cells(CELLS, cells.CellStore(Path({cache!r})))
"""


def test_a_call_that_is_killed_while_it_writes_keeps_what_is_finished(tmp_path: Path) -> None:
    script = KILLED.format(folder=str(Path(__file__).parent), cache=str(tmp_path / "killed"))
    killed = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
    assert killed.returncode < 0
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "killed").rglob("*.cell")}
    assert len(kept) == 2
    resumed = run_cells(CELLS, CellStore(tmp_path / "killed"))
    assert finals(resumed) == finals(run_cells(CELLS, CellStore(tmp_path / "whole")))
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
