"""How a sweep is cut: about half a second each, the longest first, every run exactly once."""

from __future__ import annotations

import pytest

import foretell as ft
from foretell.policies import policy
from foretell.studies.cells import Cell
from foretell.studies.chunks import CHUNK_SECONDS, ChunkQueue, Piece

SCENARIO = ft.scenario("paper-stationary")


def cell(text: str, horizon: int, runs: int) -> Cell:
    return Cell(policy(text), SCENARIO, horizon, runs, 0)


def played(cells: list[Cell], rates: dict[str, float]) -> list[list[Piece]]:
    """Play a sweep in which a round of a policy takes so many seconds."""
    queue = ChunkQueue(cells)
    chunks = []
    while queue:
        chunk = queue.take()
        chunks.append(chunk)
        for piece in chunk:
            queue.learn(piece, seconds(cells, piece, rates))
    return [chunk for chunk in chunks if chunk]


def seconds(cells: list[Cell], piece: Piece, rates: dict[str, float]) -> float:
    one = cells[piece.cell]
    return rates[one.spec.name] * one.horizon * (piece.end - piece.first)


@pytest.mark.parametrize("rate", [1e-9, 1e-6, 1e-4])
def test_every_run_is_played_once(rate: float) -> None:
    cells = [cell("ucb", 1000, 7), cell("uniform", 500, 100), cell("ucb", 10, 1)]
    runs = [
        (piece.cell, run)
        for chunk in played(cells, {"ucb": rate, "uniform": 2 * rate})
        for piece in chunk
        for run in range(piece.first, piece.end)
    ]
    assert sorted(runs) == [(n, run) for n, one in enumerate(cells) for run in range(one.runs)]


def test_chunks_take_half_a_second_whatever_a_cell_takes() -> None:
    cells = [cell("ucb", 1000, 5) for _ in range(1000)] + [cell("uniform", 8000, 1000)]
    rates = {"ucb": 1e-6, "uniform": 1e-5}  # cells of 5 ms, and one of 80 s
    chunks = played(cells, rates)
    took = [sum(seconds(cells, piece, rates) for piece in chunk) for chunk in chunks]
    whole = took[2:-1]  # each policy has a probe, and the last chunk is what is left
    assert all(0.5 * CHUNK_SECONDS < one < 1.5 * CHUNK_SECONDS for one in whole)
    assert max(map(len, chunks)) > 50


def test_the_longest_cell_comes_first_once_policies_are_known() -> None:
    cells = [cell("ucb", 1000, 10), cell("uniform", 1000, 10), cell("ucb", 3000, 10)]
    rates = {"ucb": 1e-4, "uniform": 1e-3}
    chunks = played(cells, rates)
    assert [chunk[0].cell for chunk in chunks[:2]] == [2, 1]
    assert all(chunk[0].end == 1 for chunk in chunks[:2])
    order = list(dict.fromkeys(piece.cell for chunk in chunks[2:] for piece in chunk))
    assert order == [1, 2, 0]


def test_a_chunk_that_was_lost_is_taken_again() -> None:
    queue = ChunkQueue([cell("ucb", 10, 3)])
    lost = queue.take()
    queue.put_back(lost)
    assert queue
    assert queue.take() == lost
