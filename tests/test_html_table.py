"""Tables for notebooks hold text alone, and colours of the page."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import foretell as ft
from foretell.html_table import html_table
from foretell.studies.leaderboard.board import load_leaderboard
from foretell.studies.tables import ReportTable

NASTY = "<script>alert('a & b')</script>"


def test_everything_is_escaped_and_the_table_is_whole() -> None:
    made = html_table(NASTY, [NASTY, "number"], [[NASTY, 1.5], ["b", 12_345]])
    assert "<script" not in made
    table = ET.fromstring(made)  # noqa: S314  our own
    cells = [[cell.text for cell in row] for row in table.iter("tr")]
    assert cells == [[NASTY, "number"], [NASTY, "1.5"], ["b", "12,345"]]


def test_no_colour_but_grey_is_set() -> None:
    made = html_table("caption", ["a"], [[1]])
    colours = set(re.findall(r"(?:color|background|solid)[: ]([^;\"]+)", made))
    assert colours == {"inherit", "transparent", "rgba(128,128,128,0.5)"}


def test_tables_of_the_lab_show_themselves() -> None:
    policies = ft.policy_table()
    assert policies._repr_html_().count("<tr>") == len(policies) + 1
    table = ReportTable("name", "A & B", ("policy", "regret"), (("ucb", 1.5),))
    assert "A &amp; B" in table._repr_html_()
    board = load_leaderboard(Path(__file__).parents[1] / "docs")
    assert board._repr_html_().count("<tr>") == len(board.scores["summary"]) + 1
