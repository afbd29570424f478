"""Printing tables and values: for people, or as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click
import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence


WIDE = 140
"""Characters a line where the output is no terminal."""
JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, as_json: bool
) -> None:
    """Print rows as a table, or as a JSON list of objects."""
    if as_json:
        click.echo(json.dumps([dict(zip(columns, row, strict=True)) for row in rows], indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for index, column in enumerate(columns):
        numbers = all(isinstance(row[index], (int, float)) for row in rows)
        table.add_column(column, justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(
            *(f"{cell:,}" if isinstance(cell, (int, float)) else str(cell) for cell in row)
        )
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDE)
    console.print(table)


def print_json(value: object) -> None:
    """Print a value of the service as JSON."""
    click.echo(json.dumps(msgspec.to_builtins(value), indent=2))
