"""The command line: `foretell …`."""

from __future__ import annotations

import sys
import warnings

import click

from foretell.cli.archive import archive
from foretell.cli.backup import backup, restore
from foretell.cli.bounds import bounds
from foretell.cli.completion import PROGRAM, completion
from foretell.cli.copy import copy
from foretell.cli.demo_live import demo_live
from foretell.cli.evaluate import evaluate
from foretell.cli.feedback import feedback
from foretell.cli.import_history import import_history
from foretell.cli.keys import keys
from foretell.cli.leaderboard import leaderboard
from foretell.cli.lists import list_policies, list_scenarios, version
from foretell.cli.reproduce import reproduce, run_study
from foretell.cli.serve import serve
from foretell.cli.traffic import simulate_traffic
from foretell.cli.verify import verify
from foretell.errors import ForetellError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="foretell", message="%(version)s")
def cli() -> None:
    """Decide now, on outcomes known only much later, in a world that keeps changing."""


for command in (
    reproduce,
    run_study,
    leaderboard,
    bounds,
    evaluate,
    import_history,
    feedback,
    list_policies,
    list_scenarios,
    serve,
    keys,
    verify,
    backup,
    restore,
    copy,
    archive,
    simulate_traffic,
    demo_live,
    completion,
    version,
):
    cli.add_command(command)


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
