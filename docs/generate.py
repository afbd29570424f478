"""Make the generated tables of the documentation again: `python docs/generate.py`.

A table stands between two marks, `<!-- name -->` and `<!-- /name -->`; the text around it is
written by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from foretell.cli import cli
from foretell.policies import policy_markdown
from foretell.service.http.routes import OPERATIONS
from foretell.service.settings import settings_markdown
from foretell.studies.leaderboard.board import load_leaderboard
from foretell.studies.leaderboard.report import leaderboard_markdown

DOCS = Path(__file__).parent


def tables() -> dict[str, tuple[Path, str]]:
    """Return every generated table by the name of its marks, with its page."""
    made = {
        "policies": (DOCS / "policies" / "index.md", policy_markdown()),
        "settings": (DOCS / "live.md", settings_markdown()),
        "commands": (DOCS / "reference" / "commands.md", commands_markdown()),
        "routes": (DOCS / "reference" / "api.md", routes_markdown()),
    }
    if (DOCS / "leaderboard.json").is_file():
        made["leaderboard"] = (
            DOCS / "leaderboard.md",
            leaderboard_markdown(load_leaderboard(DOCS)),
        )
    return made


def commands_markdown() -> str:
    """Return every command with its options."""
    return "\n".join(_command(name, command) for name, command in _commands("foretell", cli))


def _commands(prefix: str, group: click.Group) -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _commands(f"{prefix} {name}", command)
        else:
            yield f"{prefix} {name}", command


def _command(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=name)
    usage = " ".join([name, *(one.make_metavar(context) for one in _arguments(command))])
    rows = [one.get_help_record(context) for one in command.params if isinstance(one, click.Option)]
    options = [
        f"| `{flag.replace('|', chr(92) + '|')}` | {' '.join(words.split())} |"
        for flag, words in filter(None, rows)
    ]
    table = ["| option | what it does |", "|---|---|", *options, ""] if options else []
    summary = (command.help or "").partition("\n\n")[0].replace("\n", " ").strip()
    return "\n".join([f"## `{usage}`", "", summary, "", *table])


def _arguments(command: click.Command) -> list[click.Argument]:
    return [one for one in command.params if isinstance(one, click.Argument)]


def routes_markdown() -> str:
    """Return every operation of the service as a table."""
    rows = ["| operation | scope | what it does |", "|---|---|---|"]
    rows += [
        f"| `{one.method} {one.path.replace(':path}', '}')}` "
        f"| {one.scope or 'no key'} | {one.summary} |"
        for one in OPERATIONS
    ]
    return "\n".join(rows) + "\n"


def replaced(text: str, name: str, table: str) -> str:
    """Put the table between its marks."""
    first, last = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    if first not in text or last not in text:
        raise SystemExit(f"the page has no marks {first.strip()} and {last}: put them in")
    before, after = text.split(first, maxsplit=1)[0], text.split(last)[1]
    return f"{before}{first}\n{table}\n{last}{after}"


def main() -> None:
    """Write every page whose table has changed."""
    for name, (page, table) in tables().items():
        text = page.read_text(encoding="utf-8")
        fresh = replaced(text, name, table)
        if fresh != text:
            page.write_text(fresh, encoding="utf-8")
            print(f"made {page.name} again")


if __name__ == "__main__":
    sys.exit(main())
