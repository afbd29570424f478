"""`foretell serve`: the decision service."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from foretell.cli.extra import serve_extra
from foretell.service.settings import ADMIN_KEY, PREFIX, Settings, known_settings, read_settings

if TYPE_CHECKING:
    from foretell.service.server import Started


def _setting_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command a flag for each setting; what it must be is checked with the others."""
    for one in reversed(known_settings().values()):
        words = f"{one.words}  [{one.variable}; default: {one.shown}]"
        command = click.option(one.flag, one.name, metavar=one.form, help=words)(command)
    return command


@click.command(
    epilog=f"The environment variable {ADMIN_KEY} sets the first admin key, for automation; "
    "without it one is made and printed at the first start. How to go on: docs/live.md."
)
@_setting_options
@click.option(
    "--config", metavar="FILE", help=f"Settings as a TOML file, by their names.  [{PREFIX}CONFIG]"
)
def serve(config: str | None, **flags: Any) -> None:
    """Serve decisions over HTTP, from one database file.

    Each setting comes from its flag, else from its environment variable, else from the TOML file.
    SIGTERM and Ctrl-C finish the requests in flight and stop; a second one stops at once, and
    loses nothing that was acknowledged.
    """
    settings = read_settings(flags, os.environ, config)
    with serve_extra():
        from foretell.service.server import serve as run
    stopped_by = run(settings, os.environ.get(ADMIN_KEY) or None, lambda s: _tell(settings, s))
    if stopped_by == signal.SIGINT:
        raise KeyboardInterrupt


def _tell(settings: Settings, started: Started) -> None:
    """Say where the service is and, at the first start, with which key."""
    _print(f"foretell serves {settings.db} at {started.url} (read {started.url}/docs)")
    if started.first_key is None:
        return
    _print(
        f"\nThis is the first start. Your admin key, which is shown only this once:\n\n"
        f"  {started.first_key}\n\n"
        f"Keep it, and go on with\n\n"
        f"  export KEY={started.first_key}\n"
        f'  curl {started.url}/v1/campaigns -H "Authorization: Bearer $KEY"\n'
    )


def _print(words: str) -> None:
    """Print, or raise OSError; what could not be printed is not tried again at the end."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    try:
        click.echo(words)
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        raise
