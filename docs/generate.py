"""Make the generated tables of the documentation again: `python docs/generate.py`.

A table stands between two marks, `<!-- name -->` and `<!-- /name -->`; the text around it is
written by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from foretell.cli import cli
from foretell.policies import policy_markdown
from foretell.service.http.metric_catalogue import metrics_markdown
from foretell.service.http.routes import OPERATIONS
from foretell.service.log.chain import Chain
from foretell.service.log.record import stored_row
from foretell.service.model.events import Decided, stamp
from foretell.service.setting_info import settings_markdown
from foretell.studies.leaderboard.board import load_leaderboard
from foretell.studies.leaderboard.report import leaderboard_markdown

DOCS = Path(__file__).parent
EXAMPLE_SEQ = stamp(1_794_867_099_797_951)
EXAMPLE = Decided(
    config=1,
    action=2,
    propensity=0.25,
    mode_index=0,
    eligible=4,
    nonce=0x0123456789ABCDEF,
    state=stamp(1_794_867_099_797_166),
    key="visit-7f3a",
    request=bytes.fromhex("8badf00d8badf00d"),
)
"""The decision that the page on the format of the log shows."""
HEAT_MAP = (
    "![Regret by that of the best fixed window, policy by scenario](images/leaderboard-heat.svg)"
)


def tables() -> dict[str, tuple[Path, str]]:
    """Return every generated table by the name of its marks, with its page."""
    made = {
        "policies": (DOCS / "policies" / "index.md", policy_markdown()),
        "settings": (DOCS / "live.md", settings_markdown()),
        "commands": (DOCS / "reference" / "commands.md", commands_markdown()),
        "metrics": (DOCS / "reference" / "metrics.md", metrics_markdown()),
        "routes": (DOCS / "reference" / "api.md", routes_markdown()),
        "record": (DOCS / "explanation" / "log-format.md", record_markdown()),
    }
    made["leaderboard"] = (DOCS / "leaderboard.md", _leaderboard())
    return made


def _leaderboard() -> str:
    """Return the tables of the leaderboard, or that they are still to be made."""
    if (DOCS / "leaderboard.json").is_file():
        return f"{HEAT_MAP}\n\n{leaderboard_markdown(load_leaderboard(DOCS))}"
    return "No numbers yet for this set of policies and scenarios: `make leaderboard` makes them.\n"


def commands_markdown() -> str:
    """Return every command with its options."""
    return "\n".join(_command(name, command) for name, command in _commands("foretell", cli))


def _commands(prefix: str, group: click.Group) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None  # noqa: S101  (the group lists it)
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
        f"| `{one.method} {one.path.replace(':unit}', '}')}` "
        f"| {one.scope or 'no key'} | {one.summary} |"
        for one in OPERATIONS
    ]
    return "\n".join(rows) + "\n"


def record_markdown() -> str:
    """Return a decision of campaign 7 as it is stored: its body in hex, and the row around it."""
    row = stored_row(EXAMPLE_SEQ, 7, 0, EXAMPLE)
    fields = [("tag", Decided.__struct_config__.tag)]
    fields += [(name, getattr(EXAMPLE, name)) for name in Decided.__struct_fields__]
    pieces = [(name, value, msgspec.msgpack.encode(value)) for name, value in fields]
    head = bytes([0x90 + len(pieces)])
    if head + b"".join(piece for _, _, piece in pieces) != row.body:
        raise SystemExit("the body is not its fields in order: describe the format again")
    lines = ["| bytes of the body | field | value |", "|---|---|---|"]
    lines.append(f"| `{head.hex()}` | | an array of {len(pieces)} |")
    lines += [
        f"| `{piece.hex(' ')}` | `{name}` | {_shown(value)} |" for name, value, piece in pieces
    ]
    lines += ["", f"Together {len(row.body)} bytes. The row in SQLite:", ""]
    lines += ["| column | value |", "|---|---|", f"| `seq` | {row.seq} |"]
    lines += [
        f"| `campaign` | {row.campaign} |",
        "| `decision` | NULL: a decision is about itself |",
    ]
    lines += [f"| `body` | `{row.body.hex()}` |", f"| `checksum` | {row.checksum} |", ""]
    chain = Chain()
    chain.add(row)
    lines.append(f"Its link, if it is the first of its stream: `{chain.link.hex()}`")
    return "\n".join(lines) + "\n"


def _shown(value: object) -> str:
    return f"`{value.hex()}` in hex" if isinstance(value, bytes) and value else f"`{value!r}`"


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
