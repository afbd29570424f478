"""`foretell serve`: the decision service."""

from __future__ import annotations

import errno
import functools
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foretell.cli.target import serve_extra
from foretell.service.database_address import without_password
from foretell.service.setting_info import ENV_PREFIX, SettingInfo, known_settings
from foretell.service.settings import ADMIN_KEY, Settings
from foretell.service.settings_file import read_settings_file

if TYPE_CHECKING:
    from foretell.service.server import Started


def _checked(
    setting: SettingInfo, ctx: click.Context, _param: click.Parameter, value: object
) -> object:
    """Check the value of a setting; an error names where the value comes from."""
    source = ctx.get_parameter_source(setting.name)
    from_variable = source is click.core.ParameterSource.ENVIRONMENT
    return setting.read(value, setting.variable if from_variable else setting.flag, strict=False)


def _setting_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add a flag for each setting to a command."""
    for one in reversed(known_settings().values()):
        switch: dict[str, Any] = {"is_flag": True} if one.is_switch else {}
        command = click.option(
            one.flag,
            one.name,
            type=click.BOOL if one.is_switch else click.UNPROCESSED,
            callback=functools.partial(_checked, one),
            metavar=None if one.is_switch else one.form,
            default=one.default,
            **switch,
            show_default=True,
            show_envvar=True,
            help=one.description,
        )(command)
    return command


def _use_file(ctx: click.Context, _param: click.Parameter, path: str | None) -> str | None:
    """Let the settings in a file take the place of the defaults."""
    if path:
        ctx.default_map = read_settings_file(Path(path))
    return path


@click.command(
    context_settings={"auto_envvar_prefix": ENV_PREFIX},
    epilog=f"The environment variable {ADMIN_KEY} sets the first admin key, for automation; "
    "without it one is made and printed at the first start. How to go on: docs/live.md.",
)
@_setting_options
@click.option(
    "--config",
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_use_file,
    show_envvar=True,
    help="Settings as a TOML file, by their names.",
)
def serve(**values: Any) -> None:
    """Serve decisions over HTTP, from a database file or from PostgreSQL.

    Each setting comes from its flag, else from its environment variable, else from the TOML file.
    SIGTERM and Ctrl-C finish the requests in flight and stop; a second one stops at once, and
    loses nothing that was acknowledged.
    """
    settings = Settings(**values)
    with serve_extra():
        from foretell.service.server import serve as run
    key = os.environ.get(ADMIN_KEY) or None
    stopped_by = run(settings, key, lambda started: _print_started(settings, started))
    if stopped_by == signal.SIGINT:
        raise KeyboardInterrupt


def _print_started(settings: Settings, started: Started) -> None:
    """Print where the service is and, at the first start, its admin key."""
    db = without_password(settings.db)
    _print(f"foretell serves {db} at {started.url}")
    _print(f"Dashboard: {started.url}/ui   API: {started.url}/docs")
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
    """Print, or raise OSError; output that failed is not flushed again at exit."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    try:
        click.echo(words)
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        raise
