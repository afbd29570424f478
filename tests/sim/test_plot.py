"""One line gives a figure: the lines are the means, the marks the changes that all runs share."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

import foretell as ft
from foretell.errors import MissingExtra
from foretell.sim.plot import shared_changes

RECIPE = ft.scenario("paper", delay=20, changes=ft.shifts(at=[30, 45]))


@pytest.fixture(autouse=True)
def unseen() -> Iterator[None]:
    """Draw for no screen, and close what was opened."""
    before = mpl.get_backend()
    plt.switch_backend("agg")
    yield
    plt.close("all")
    plt.switch_backend(before)


@pytest.fixture(scope="module")
def batches() -> ft.Batches:
    return ft.simulate(RECIPE, ["ucb", "sw-ucb(window=9)"], 60, 4, compiled=False)


def test_a_figure_shows_means_bands_and_changes(batches: ft.Batches) -> None:
    axes = batches.plot()
    assert isinstance(axes, Axes)
    lines = {line.get_label(): line for line in axes.get_lines()}
    for name, label in (("ucb", "ucb"), ("sw-ucb(window=9)", "sw-ucb")):
        np.testing.assert_array_equal(lines[label].get_ydata(), batches[name].mean())
        np.testing.assert_array_equal(lines[label].get_xdata(), np.arange(1, 61))
    drawn = [np.asarray(line.get_xdata()).tolist() for line in axes.get_lines()]
    assert [xs for xs in drawn if len(xs) == 2] == [[30.0, 30.0], [45.0, 45.0]]
    assert len(axes.collections) == 2
    assert [text.get_text() for text in axes.figure.legends[0].get_texts()] == ["ucb", "sw-ucb"]
    axes.figure.canvas.draw()


def test_given_axes_are_drawn_on_and_returned(batches: ft.Batches) -> None:
    _, axes = plt.subplots()
    assert batches["ucb"].plot(axes, level=0.5) is axes
    assert axes.get_legend() is not None
    assert len(plt.get_fignums()) == 1


def test_the_style_of_the_user_stays_as_it_was(batches: ft.Batches) -> None:
    before = dict(mpl.rcParams)
    batches.plot()
    assert dict(mpl.rcParams) == before


def test_changes_are_marked_where_all_runs_share_them_and_they_are_few() -> None:
    for changes, shown in (
        (ft.shifts(at=[30]), [30]),
        (ft.shifts(hazard=0.1), []),
        (ft.shifts(every=2), []),
    ):
        recipe = ft.scenario("paper", changes=changes)
        assert shared_changes(ft.simulate(recipe, ["ucb"], 60, 3, compiled=False)) == shown


def test_matplotlib_is_named_where_it_is_missing(
    batches: ft.Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"pip install 'foretell\[lab\]'"):
        batches.plot()
