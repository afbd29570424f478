"""Sweeps on a real cluster: the same bytes as here, whoever dies, and nobody who would differ."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import foretell as ft
from foretell.errors import ForetellError, InvalidInput
from foretell.imports import import_file
from foretell.policies import policy
from foretell.studies import cluster_workers
from foretell.studies.cells import Cell, CellStore, FinishedCell
from foretell.studies.cluster_worker import machine_provenance
from foretell.studies.runner import run_cells, sweep_cells
from tests.studies.dask_processes import (
    DaskProcesses,
    dask_processes,
    wait_until,
    without_foretell,
)

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.filterwarnings("default::ResourceWarning"),  # Dask's own, at its end
]

OWN = """
from dataclasses import dataclass
import numpy as np
import foretell as ft
from foretell.policies.uniform import UniformState
from foretell.policies.verbs import begin
from sent_helper import ACTIONS

@ft.register("sent-uniform")
@dataclass(frozen=True)
class SentUniform(ft.Spec):
    '''Play at random, from a file that a worker does not have.'''

@begin.register(SentUniform)
def _begin(spec, problem):
    assert problem.actions == ACTIONS
    return UniformState(np.zeros(problem.actions))
"""
GAUSSIAN = ft.Scenario(
    law=[[0.5, 0.5], [0.2, 0.8]], theta=[0.0, 1.0], rewards=ft.rewards.Gaussian(sigma=1.0)
)
SCENARIO = ft.scenario("paper-stationary", delay=20)


def cells_of(text: str, count: int, runs: int, horizon: int = 2000) -> list[Cell]:
    return [Cell(policy(text), SCENARIO, horizon, runs, seed) for seed in range(count)]


def bytes_of(finished: list[FinishedCell]) -> list[tuple[bytes, ...]]:
    batches = [one.batch for one in finished]
    return [(b.rounds.tobytes(), b.regret.tobytes(), b.actions.tobytes()) for b in batches]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskProcesses]:
    """Start a scheduler and two workers, with what they need compiled."""
    ft.simulate(SCENARIO, "uniform", 10, 1, progress=False)
    with dask_processes(tmp_path_factory.mktemp("cluster")) as processes:
        processes.start_worker("one")
        processes.start_worker("two")
        yield processes


def test_a_sweep_gives_the_bytes_of_one_machine_and_own_files_travel(
    cluster: DaskProcesses, tmp_path: Path, own_registry: None
) -> None:
    (tmp_path / "sent_helper.py").write_text(f"ACTIONS = {SCENARIO.actions}\n", "utf-8")
    (tmp_path / "sent_uniform.py").write_text(OWN, "utf-8")
    import_file(tmp_path / "sent_uniform.py")
    cells = [*cells_of("uniform", 3, 7), *cells_of("sent-uniform", 2, 3)]
    swept, here = CellStore(tmp_path / "swept"), CellStore(tmp_path / "here")
    sweep_cells(cells, swept, cluster.address, progress=False)
    assert all(swept.has(cell) for cell in cells)
    kept, run = run_cells(cells, swept), run_cells(cells, here)
    assert bytes_of(kept) == bytes_of(run)
    assert [one.batch.provenance for one in kept] == [one.batch.provenance for one in run]
    assert {"sent_uniform.py", "sent_helper.py"} <= set(kept[-1].batch.provenance)


def test_the_cells_of_a_killed_worker_are_done_again(
    cluster: DaskProcesses, tmp_path: Path
) -> None:
    cluster.start_worker("killed")
    wait_until(lambda: "Registered to" in cluster.log("killed"), "the start of a worker")
    cells = cells_of("uniform", 40, 4, horizon=200_000)
    swept = CellStore(tmp_path / "swept")
    failed: list[BaseException] = []

    def sweep() -> None:
        try:
            sweep_cells(cells, swept, cluster.address, progress=False)
        except BaseException as error:
            failed.append(error)
            raise

    sweeping = threading.Thread(target=sweep)
    sweeping.start()
    wait_until(lambda: any(map(swept.has, cells)) or failed, "the first cell")
    assert not all(map(swept.has, cells))
    cluster.kill("killed")
    sweeping.join()
    assert failed == []
    assert all(map(swept.has, cells))
    some = cells[::13]
    assert bytes_of(run_cells(some, swept)) == bytes_of(run_cells(some, CellStore(tmp_path)))


def test_an_interrupted_sweep_goes_on_where_it_stopped(
    cluster: DaskProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = cells_of("uniform", 6, 2)
    written: list[Cell] = []
    write = CellStore.write

    def interrupted(store: CellStore, cell: Cell, finished: FinishedCell) -> None:
        if len(written) == 3:
            raise KeyboardInterrupt
        written.append(cell)
        write(store, cell, finished)

    store = CellStore(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(CellStore, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            sweep_cells(cells, store, cluster.address, progress=False)
    assert [cell for cell in cells if store.has(cell)] == sorted(written, key=cells.index)

    def counted(store: CellStore, cell: Cell, finished: FinishedCell) -> None:
        written.append(cell)
        write(store, cell, finished)

    monkeypatch.setattr(CellStore, "write", counted)
    sweep_cells(cells, store, cluster.address, progress=False)
    assert sorted(written, key=cells.index) == cells


def test_a_worker_with_another_source_is_refused_by_name(
    cluster: DaskProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = machine_provenance() | {"numba": "0.1"}
    monkeypatch.setattr(cluster_workers, "machine_provenance", lambda: here)
    cells, store = cells_of("uniform", 1, 2), CellStore(tmp_path)
    with (
        pytest.warns(RuntimeWarning, match=r"worker .* at tcp://.* is refused, because it has"),
        pytest.raises(InvalidInput, match="no worker of the cluster can be used") as error,
    ):
        sweep_cells(cells, store, cluster.address, progress=False)
    assert "the worker one at tcp://" in str(error.value)
    assert "numba" in str(error.value)
    assert "and not 0.1" in str(error.value)
    assert not store.has(cells[0])


def test_a_worker_without_foretell_is_refused_and_the_others_go_on(
    cluster: DaskProcesses, tmp_path: Path
) -> None:
    cluster.start_worker("bare", PYTHONPATH=str(without_foretell(tmp_path)))
    wait_until(lambda: "Registered to" in cluster.log("bare"), "the start of a worker")
    cells, store = cells_of("uniform", 4, 2), CellStore(tmp_path)
    with pytest.warns(RuntimeWarning, match=r"the worker bare at .* is refused, .* cannot load"):
        sweep_cells(cells, store, cluster.address, progress=False)
    assert all(map(store.has, cells))
    cluster.kill("bare")


def test_an_error_of_a_policy_comes_back(cluster: DaskProcesses, tmp_path: Path) -> None:
    wrong = Cell(policy("bayes-ucb"), GAUSSIAN, 50, 2, 0)
    with pytest.raises(InvalidInput, match="bayes-ucb learns from bounded rewards only"):
        sweep_cells([wrong], CellStore(tmp_path), cluster.address, progress=False)


def test_a_scheduler_that_dies_ends_the_sweep_with_a_sentence(tmp_path: Path) -> None:
    cells, store = cells_of("uniform", 400, 2, horizon=200_000), CellStore(tmp_path)
    (tmp_path / "processes").mkdir()
    with dask_processes(tmp_path / "processes") as processes:
        processes.start_worker("only")

        def kill() -> None:
            wait_until(lambda: any(map(store.has, cells)), "the first cell")
            processes.kill("scheduler")

        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(ForetellError, match=r"is lost: .* what was finished is kept"):
            sweep_cells(cells, store, processes.address, progress=False)
        killer.join()
    assert any(map(store.has, cells))


def test_local_processes_need_no_cluster(tmp_path: Path) -> None:
    study = ft.Study("uniform", {"late": SCENARIO}, horizon=300, runs=4)
    swept = study.run(cache=tmp_path / "swept", cluster="local:1", progress=False)
    here = study.run(cache=tmp_path / "here", progress=False)
    one, other = (found.results["late"]["uniform"] for found in (swept, here))
    np.testing.assert_array_equal(one.regret, other.regret)


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("local:0", "named local:N with N processes, got 'local:0'"),
        ("local:many", "named local:N with N processes"),
        ("tcp://127.0.0.1:1", "there is no Dask scheduler at 'tcp://127.0.0.1:1'"),
        ("nowhere", "is written tcp://HOST:PORT, got 'nowhere'"),
        ("http://127.0.0.1:8786", "is written tcp://HOST:PORT, got 'http://"),
    ],
)
def test_a_wrong_address_is_named(
    tmp_path: Path, address: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from foretell.studies import cluster_connection

    monkeypatch.setattr(cluster_connection, "CONNECT_SECONDS", 1)
    with pytest.raises(InvalidInput) as error:
        sweep_cells(cells_of("uniform", 1, 2), CellStore(tmp_path), address)
    assert sentence in str(error.value)
