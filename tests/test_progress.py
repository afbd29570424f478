"""A bar is shown on a terminal, in a notebook, and wherever it was asked for; nowhere else."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

import foretell as ft
from foretell.progress import progress_bar
from foretell.sim.prepare import _announcement


class ZMQInteractiveShell:
    """The name of the shell that runs notebooks."""


class Cell:
    """What stands below a cell: IPython's `display`, as far as a bar uses it."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def HTML(self, text: str) -> str:  # noqa: N802  as IPython calls it
        return text

    def display(self, text: str, *, display_id: bool) -> Cell:
        assert display_id
        self.shown.append(text)
        return self

    def update(self, shown: str | dict[str, str], *, raw: bool = False) -> None:
        assert raw == isinstance(shown, dict)
        self.shown.append(shown["text/html"] if isinstance(shown, dict) else shown)


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Cell:
    """Pretend to be in a notebook."""
    below = Cell()
    module: Any = SimpleNamespace(get_ipython=ZMQInteractiveShell)
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", below)
    monkeypatch.setattr("foretell.progress.SECONDS_BETWEEN", 0.0)
    return below


def moved(shown: bool | None) -> None:
    with progress_bar("a < b", 40, shown=shown) as advance:
        for _ in range(4):
            advance(10)


def test_without_a_terminal_nothing_is_shown_unless_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    moved(None)
    moved(shown=False)
    assert capsys.readouterr() == ("", "")
    moved(shown=True)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[0] == "a < b: 0 %"
    assert lines[-1].startswith("a < b: 100 %")
    assert len(lines) == 5


def test_many_steps_are_few_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("steps", 1000, shown=True) as advance:
        for _ in range(1000):
            advance(1)
    assert len(capsys.readouterr().err.splitlines()) == 11


@pytest.mark.parametrize("shown", [None, True])
def test_a_notebook_has_a_bar_that_goes_away(
    shown: bool | None, cell: Cell, capsys: pytest.CaptureFixture[str]
) -> None:
    moved(shown)
    assert '<progress max="40" value="0"></progress> a &lt; b: 0 %' in cell.shown[0]
    assert 'value="30"' in cell.shown[3]
    assert cell.shown[-1] == ""
    assert capsys.readouterr() == ("", "")


def test_a_notebook_shows_nothing_where_that_was_said(cell: Cell) -> None:
    moved(shown=False)
    assert cell.shown == []


def test_a_simulation_in_a_notebook_has_a_bar(cell: Cell) -> None:
    ft.simulate(ft.scenario("paper"), "ucb", 50, 4, compiled=False, threads=1)
    assert "1 × 4 runs: 0 %" in cell.shown[0]


def test_what_is_compiled_is_announced_with_its_time() -> None:
    one = [ft.policy("nsd-adaptive")]
    assert _announcement(one, 1) == "compiling nsd-adaptive: about 10 s the first time"
    three = [ft.policy(name) for name in ("ucb", "sw-ucb", "ts")]
    assert _announcement(three, 2) == "compiling sw-ucb, ts, ucb: about 20 s the first time"
