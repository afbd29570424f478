"""The notebooks run from top to bottom, with few runs, and what is stored of them is small."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LARGEST = 400_000
"""Bytes of a notebook: its pictures have few points."""


def name(path: Path) -> str:
    return path.stem


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # jupyter's own, none of ours
@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORETELL_NOTEBOOK_RUNS", "3")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()
    pictures = [
        output
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if "image/svg+xml" in output.get("data", {})
    ]
    assert pictures


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_a_notebook_is_stored_as_it_ran(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert path.stat().st_size < LARGEST
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert any(cell.outputs for cell in cells)
    for cell in cells:
        assert not any(
            output.output_type == "error" or output.get("name") == "stderr"
            for output in cell.outputs
        )
