"""Cells are kept by all that their numbers depend on, whole or not at all."""

from __future__ import annotations

import dataclasses
import importlib.util
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import foretell as ft
from foretell.policies import Spec, policy, registry
from foretell.studies.cells import Cell, CellStore, FinishedCell

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "epsilon_greedy.py"
CELL = Cell(policy("ucb"), ft.scenario("paper-stationary", delay=5), 40, 3, 0, (9, 39))


def finished(cell: Cell) -> FinishedCell:
    batch = ft.simulate(
        cell.scenario,
        cell.spec,
        cell.horizon,
        cell.runs,
        cell.seed,
        checkpoints=cell.checkpoints,
        compiled=False,
    )
    return FinishedCell(batch, 0.1 + 0.2)


def test_a_cell_is_read_as_it_was_written(tmp_path: Path) -> None:
    store = CellStore(tmp_path)
    assert store.read(CELL) is None
    made = finished(CELL)
    store.write(CELL, made)
    kept = store.read(CELL)
    assert kept is not None
    assert kept.seconds == made.seconds
    assert str(kept.batch.spec) == "ucb"
    np.testing.assert_array_equal(kept.batch.regret, made.batch.regret)
    np.testing.assert_array_equal(kept.batch.rounds, [9, 39])


@pytest.mark.parametrize(
    "change",
    [
        {"spec": policy("uniform")},
        {"scenario": ft.scenario("paper-stationary", delay=6)},
        {"horizon": 41},
        {"runs": 4},
        {"seed": 1},
        {"checkpoints": (39,)},
        {"checkpoints": None},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_changes_the_numbers_changes_the_file(
    tmp_path: Path, change: dict[str, object]
) -> None:
    store = CellStore(tmp_path)
    assert store.path(dataclasses.replace(CELL, **change)) != store.path(CELL)  # type: ignore[arg-type]


def test_the_source_of_a_policy_of_ones_own_is_part_of_the_name(
    tmp_path: Path, own_registry: None
) -> None:
    store = CellStore(tmp_path)
    source = tmp_path / "epsilon_greedy.py"
    shutil.copy(EXAMPLE, source)
    own = dataclasses.replace(CELL, spec=loaded(source))
    before = store.path(own), store.path(CELL)
    source.write_text(source.read_text("utf-8") + "\n# edited\n", "utf-8")
    assert store.path(own) != before[0]
    assert store.path(CELL) == before[1]


@pytest.mark.parametrize("keep", [0, 1, 100, -1])
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, keep: int) -> None:
    store = CellStore(tmp_path)
    store.write(CELL, finished(CELL))
    path = store.path(CELL)
    path.write_bytes(path.read_bytes()[:keep])
    assert store.read(CELL) is None


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    store = CellStore(tmp_path)
    monkeypatch.setattr(Path, "replace", full)  # by which the file gets its name
    with pytest.raises(OSError, match="No space left"):
        store.write(CELL, finished(CELL))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def loaded(source: Path) -> Spec:
    """Load a policy from a file, in a registry of one's own."""
    registry._entries.pop("epsilon-greedy", None)
    spec = importlib.util.spec_from_file_location("edited_epsilon_greedy", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return policy("epsilon-greedy")
