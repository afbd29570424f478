"""`foretell completion SHELL`: commands and options, completed by the shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from foretell.cli.commands import PROGRAM

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_FORETELL_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that lets a shell complete foretell's commands and options.

    \b
    bash: add to ~/.bashrc                     eval "$(foretell completion bash)"
    zsh:  add to ~/.zshrc, after compinit      eval "$(foretell completion zsh)"
    fish: foretell completion fish > ~/.config/fish/completions/foretell.fish
    """  # noqa: D301  click reads the backslash: these lines stay lines
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"there is no completion for {shell}: use one of {SHELLS}")
    click.echo(kind(context.find_root().command, {}, PROGRAM, VARIABLE).source())
