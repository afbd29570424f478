"""Pages: what is put into them is escaped, what is missing is an error, and they stand alone."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import resources

import pytest
from jinja2 import UndefinedError

from foretell.errors import MissingExtra
from foretell.pages import environment, render

STATIC = resources.files("foretell.pages") / "static"
BOARD = {"made": "today", "columns": [], "summary": [], "heat": "<svg></svg>", "cells": []}


def test_values_are_escaped_and_only_drawings_are_not() -> None:
    page = render("leaderboard.html", **BOARD | {"made": "<b>&"})
    assert "&lt;b&gt;&amp;" in page
    assert "<svg></svg>" in page


def test_a_value_that_is_missing_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="made"):
        render("leaderboard.html", **{key: BOARD[key] for key in BOARD if key != "made"})


def test_a_page_holds_its_style_and_its_script_as_they_are() -> None:
    page = render("leaderboard.html", **BOARD)
    for name in ("page.css", "tables.js"):
        assert STATIC.joinpath(name).read_text("utf-8") in page
    assert not re.search(r'(src|href)="(https?:)?//', page)


def test_the_licence_of_uplot_is_kept() -> None:
    assert "MIT" in STATIC.joinpath("uPlot.LICENSE").read_text("utf-8")
    assert "Leon Sorokin" in STATIC.joinpath("uPlot.LICENSE").read_text("utf-8")


def test_without_jinja2_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    environment._environment.cache_clear()
    with pytest.raises(MissingExtra, match=r"foretell\[lab\].*foretell\[serve\]"):
        render("leaderboard.html", **BOARD)


@pytest.mark.parametrize("what", ["foretell", "foretell.cli", "foretell.pages"])
def test_jinja2_is_loaded_with_the_first_page(what: str) -> None:
    script = f"import sys, {what}; print('jinja2' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
