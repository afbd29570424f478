"""The commands of `foretell`, each imported when it is asked for: so a list of them is quick."""

from __future__ import annotations

import importlib
from typing import NamedTuple

import click

PROGRAM = "foretell"


class _Command(NamedTuple):
    """Where a command is, and how its help begins."""

    module: str
    name: str
    begins: str


COMMANDS = {
    "reproduce": _Command(
        "reproduce",
        "reproduce",
        "Reproduce the paper: all figures and claims, or the FIGURES named.",
    ),
    "run": _Command(
        "reproduce", "run_study", "Run your own study from a TOML FILE and write its report."
    ),
    "leaderboard": _Command(
        "leaderboard",
        "leaderboard",
        "Compare every policy on the suite of scenarios and write a report.",
    ),
    "bounds": _Command(
        "bounds",
        "bounds",
        "Print what the theorems promise for a problem's sizes, and what no policy can avoid.",
    ),
    "evaluate": _Command(
        "evaluate",
        "evaluate",
        "Estimate what another policy would have earned on EXPORT, a campaign's exported log.",
    ),
    "import": _Command(
        "import_history", "import_history", "Warm-start a campaign from FILE, an earlier log."
    ),
    "feedback": _Command(
        "feedback", "feedback", "Send the signals and rewards in FILE to a service."
    ),
    "policies": _Command(
        "lists",
        "list_policies",
        "List the policies: what each needs to know, what it costs, and when to use it.",
    ),
    "scenarios": _Command("lists", "list_scenarios", "List the named scenarios."),
    "serve": _Command(
        "serve", "serve", "Serve decisions over HTTP, from a database file or from PostgreSQL."
    ),
    "keys": _Command(
        "keys", "keys", "List, make and revoke keys, and change the secrets that sign decision ids."
    ),
    "verify": _Command(
        "verify", "verify", "Check a database, or a copy of one, whole; a server may be using it."
    ),
    "backup": _Command(
        "backup", "backup", "Write a consistent copy of a database to the new file OUT."
    ),
    "restore": _Command(
        "backup", "restore", "Put a COPY in place of a database, once it is checked."
    ),
    "copy": _Command(
        "copy", "copy", "Move the log of SOURCE to the empty database TARGET, and seal SOURCE."
    ),
    "archive": _Command(
        "archive",
        "archive",
        "Write old months of a log in PostgreSQL to Parquet files, and detach them from the log.",
    ),
    "simulate-traffic": _Command(
        "traffic",
        "simulate_traffic",
        "Play a scenario against a running server, and compare its regret with the lab's.",
    ),
    "demo-live": _Command(
        "demo_live",
        "demo_live",
        "Start the service on a test database with four simulated campaigns, until Ctrl-C.",
    ),
    "completion": _Command(
        "completion",
        "completion",
        "Print the script that lets a shell complete foretell's commands and options.",
    ),
    "version": _Command("lists", "version", "Print the version."),
}


class LazyGroup(click.Group):
    """A group whose commands are those of `COMMANDS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  (click passes it)
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command, imported now; None where there is none of that name."""
        known = COMMANDS.get(cmd_name)
        if known is None:
            return None
        module = importlib.import_module(f"foretell.cli.{known.module}")
        found: click.Command = getattr(module, known.name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write what each command does, without importing it."""
        room = formatter.width - 6 - max(map(len, COMMANDS))
        listed = [click.Command(name, help=one.begins) for name, one in sorted(COMMANDS.items())]
        with formatter.section("Commands"):
            formatter.write_dl([(str(one.name), one.get_short_help_str(room)) for one in listed])
