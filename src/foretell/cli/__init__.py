"""The command line: `foretell …`."""

from __future__ import annotations

import sys
import warnings

import click

from foretell.cli.commands import PROGRAM, LazyGroup
from foretell.errors import ForetellError


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="foretell", message="%(version)s")
def cli() -> None:
    """Decide now, on outcomes known only much later, in a world that keeps changing."""


def main() -> None:
    """Run the command line: one clear sentence and exit code 2 on bad input, 1 on a full disk."""
    warnings.showwarning = _show_warning
    try:
        cli.main(prog_name=PROGRAM, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except ForetellError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)
    except OSError as error:
        where = f" {error.filename!r}" if error.filename else ""
        click.echo(f"Error: cannot write or read{where}: {error.strerror or error}", err=True)
        sys.exit(1)
    except (KeyboardInterrupt, click.Abort):
        click.echo("\nStopped; what was finished is kept.", err=True)
        sys.exit(130)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Show a warning as one sentence, as errors are."""
    click.echo(f"Warning: {message}", err=True)
