"""`foretell version`."""

from __future__ import annotations

import importlib.metadata

import click


@click.command("version")
def version() -> None:
    """Print the version."""
    click.echo(importlib.metadata.version("foretell"))
