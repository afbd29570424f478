"""Small tables in HTML, for notebooks: readable on light and on dark pages."""

from __future__ import annotations

import itertools
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_CELL = "padding:0.15em 0.7em;border:0;white-space:nowrap;background:transparent;color:inherit"
_LINE = "border-bottom:1px solid rgba(128,128,128,0.5)"
"""Grey that is seen on white and on black; all other colours are the page's own."""


def html_table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with a caption; everything in it is text, and escaped.

    Numbers stand at the right of their cell, floats with four digits.

    >>> html_table("a < b", ["x"], [[1.5]]).count("&lt;")
    1
    """
    listed = [list(row) for row in rows]
    sides = [_side(value) for value in listed[0]] if listed else []
    head = "".join(
        f'<th scope="col" style="{_CELL};{_LINE};text-align:{side}">{escape(one)}</th>'
        for one, side in itertools.zip_longest(columns, sides, fillvalue="left")
    )
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in listed)
    title = f'<caption style="text-align:left;color:inherit">{escape(caption)}</caption>'
    return (
        f'<table style="border-collapse:collapse;color:inherit;font-variant-numeric:tabular-nums">'
        f"{title * bool(caption)}{f'<thead><tr>{head}</tr></thead>' * bool(columns)}"
        f"<tbody>{body}</tbody></table>"
    )


def _side(value: object) -> str:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return "right" if number else "left"


def _cell(value: object) -> str:
    style = f"{_CELL};text-align:{_side(value)}"
    return f'<td style="{style}">{escape(cell_text(value))}</td>'


def cell_text(value: object) -> str:
    """Return what a cell shows: floats with four digits, truth as yes and no.

    >>> cell_text(1234.56), cell_text(12), cell_text(True), cell_text(float("nan"))
    ('1,235', '12', 'yes', '–')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if value != value:  # noqa: PLR0124  what is not a number is not itself
            return "–"
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
